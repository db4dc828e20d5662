// How soon the built relayd is back at a head unit on this machine that listens again.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd returns to a head unit", .serialized)
struct LinkReturnTests {
    /// How long the head unit stays away, in milliseconds: from at once to long past the longest
    /// wait between attempts.
    static let absences = [0, 30, 120, 400, 900, 1300, 1700, 2300]

    /// The bench on which nothing else runs is the `return` benchmark's; here other tests run, so
    /// this only tells waits of 50 ms from waits that have grown.
    @Test("a head unit on this machine is called within a moment, however long it was away")
    func returns() async throws {
        try await UnusedPort.run { port in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)") { relayd in
                var waits: [Duration] = []
                for absence in Self.absences {
                    try await relayd.until("waiting") { $0.accessory.state == .waiting }
                    try await Task.sleep(for: .milliseconds(absence))
                    let start = ContinuousClock.now
                    var headUnit: FramePeer?
                    try await FakeAccessory.run(port: port) { accessory in
                        headUnit = try await accessory.nextLink()
                        waits.append(ContinuousClock.now - start)
                        try await relayd.until("open") { $0.accessory.state == .open }
                    }
                    // Nobody listens any more: relayd must not be back before it has been away.
                    await headUnit?.close()
                }
                let median = waits.sorted()[waits.count / 2]
                #expect(median <= .milliseconds(400), "\(waits)")
            }
        }
    }

    @Test("an absent head unit on this machine is tried at most 27 times a second")
    func doesNotHammer() async throws {
        try await UnusedPort.run { port in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)") { relayd in
                let first = try await relayd.until("refused") { $0.accessory.attempts > 0 }
                let start = ContinuousClock.now
                let later = try await relayd.until("many attempts") {
                    $0.accessory.attempts >= first.accessory.attempts + 40
                }
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                let attempts = later.accessory.attempts - first.accessory.attempts
                // 50 ms less a quarter; the status counts with up to a second's delay.
                #expect(Double(attempts) <= (seconds + 1) * 27)
                #expect(later.accessory.reason?.code == "refused")
            }
        }
    }
}
