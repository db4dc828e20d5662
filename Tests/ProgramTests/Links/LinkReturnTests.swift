// The built relayd reconnects to a head unit on this machine that listens again, however often it is
// restarted. The `return` benchmark measures how soon; `HeadUnitReturnTests` play it.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd returns to a head unit", .serialized)
struct LinkReturnTests {
    /// How many calls the head unit misses before it listens again; 0 is a restart that relayd may
    /// not notice.
    static let missedCalls = [0, 0, 0, 0, 0, 0, 1, 3, 30, 0]

    @Test("a head unit on this machine is called again, however long it was away")
    func returns() async throws {
        try await UnusedPort.run { port in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)") { relayd in
                var attempts = try await relayd.until("waiting") { $0.accessory.state == .waiting }
                    .accessory.attempts
                for missed in Self.missedCalls {
                    let wanted = attempts + missed
                    try await relayd.until("called in vain") { $0.accessory.attempts >= wanted }
                    var headUnit: FramePeer?
                    try await FakeAccessory.run(port: port) { accessory in
                        headUnit = try await accessory.nextLink()
                        try await relayd.until("open") { $0.accessory.state == .open }
                    }
                    // Nothing listens any more: relayd must not be back before the link was lost.
                    await headUnit?.close()
                    attempts = try await relayd.until("lost") { $0.accessory.state == .waiting }
                        .accessory.attempts
                }
            }
        }
    }

    @Test("an absent head unit on this machine is tried at most 27 times a second")
    func doesNotHammer() async throws {
        try await UnusedPort.run { port in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)") { relayd in
                let start = ContinuousClock.now
                let first = try await relayd.until("refused") { $0.accessory.attempts > 0 }
                let later = try await relayd.until("many attempts") {
                    $0.accessory.attempts >= first.accessory.attempts + 40
                }
                // Both ends of the measured time lie outside the attempts, so only a relayd that tries
                // too often can fail this.
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                let attempts = later.accessory.attempts - first.accessory.attempts
                // 50 ms minus a quarter; the status counts with up to a second's delay.
                #expect(Double(attempts) <= (seconds + 1) * 27)
                #expect(later.accessory.reason?.code == "refused")
            }
        }
    }
}
