import ControlAPI
import Synchronization
import Testing

@testable import relayctl

@Suite("What is said while there is no head unit")
struct HeadUnitWatchTests {
    private struct Ended: Error {}

    private func accessory(
        _ state: AccessoryState, _ reason: String? = nil
    ) -> AccessoryStatus {
        AccessoryStatus(
            kind: "serial", address: "serial:/dev/ttyUSB9", state: state, since: Samples.start,
            reason: reason.map {
                AccessoryReason(code: "absent", message: $0, remedy: "plug it in")
            }, attempts: 1)
    }

    /// The lines printed when relayd gives these answers in turn; nil is no answer.
    private func said(_ answers: [AccessoryStatus?]) async -> [String] {
        let rest = Mutex(answers)
        let lines = Mutex<[String]>([])
        var watch = HeadUnitWatch(
            ask: { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } },
            say: { line in lines.withLock { $0.append(line) } })
        watch.pause = { if rest.withLock({ $0.isEmpty }) { throw Ended() } }
        await watch.run()
        return lines.withLock { $0 }
    }

    @Test("each reason once, until the head unit is open") func reasons() async {
        let absent = accessory(.waiting, "/dev/ttyUSB9 does not exist")
        let denied = accessory(.waiting, "/dev/ttyUSB9 may not be opened")
        let open = accessory(.open)
        #expect(
            await said([absent, absent, denied, open, absent]) == [
                "waiting: relayd has no head unit yet (/dev/ttyUSB9 does not exist)",
                "waiting: relayd has no head unit yet (/dev/ttyUSB9 may not be opened)",
            ])
    }

    @Test("nothing, where it is open, relayd is gone, or it is just being opened")
    func nothing() async {
        #expect(await said([accessory(.open)]).isEmpty)
        #expect(await said([nil, accessory(.waiting, "x")]).isEmpty)
        #expect(await said([accessory(.opening), accessory(.open)]).isEmpty)
    }

    @Test("an attempt that takes its time is told") func slow() async {
        let opening = accessory(.opening)
        #expect(
            await said([opening, opening])
                == ["waiting: relayd has no head unit yet (\(AccessoryState.opening.words))"])
    }

    @Test("an address on this machine is nearer than the one a phone uses") func nearest() {
        func nearest(_ endpoints: String...) -> String? {
            ServerStatus(state: .listening, endpoints: endpoints).nearestEndpoint
        }
        #expect(
            nearest("192.168.1.20:2776", "[fd00::2]:2776", "127.0.0.1:2776") == "127.0.0.1:2776")
        #expect(nearest("192.168.1.20:2776") == "192.168.1.20:2776")
        #expect(nearest() == nil)
    }
}
