// Any rules under any traffic, and proof that the books notice when something is wrong.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Any rules, any frames: order, whole frames, and every byte accounted for")
struct FaultStormTests {
    @Test(
        "every frame passes once, is dropped once, or is replaced; what passes is in order and whole",
        arguments: 1...40)
    func storm(seed: UInt64) throws {
        var storm = FaultStorm(seed: seed)
        #expect(try storm.run(steps: 500) == [], "seed \(seed)")
    }

    @Test("the storm meets faults of the link, owners gone in the middle, and everything rules do")
    func reaches() throws {
        var sums = FaultLedger.Sums()
        var happened: [String: Int] = [:]
        var disconnects = 0
        for seed in 1...60 as ClosedRange<UInt64> {
            var storm = FaultStorm(seed: seed)
            #expect(try storm.run(steps: 500) == [], "seed \(seed)")
            happened.merge(storm.happened, uniquingKeysWith: +)
            disconnects += storm.ledger.disconnects
            let found = storm.ledger.sums
            sums.passed += found.passed
            sums.dropped += found.dropped
            sums.replaced += found.replaced
            sums.repeated += found.repeated
            sums.changed += found.changed
            sums.relayd += found.relayd
        }
        for count in [
            sums.passed, sums.dropped, sums.replaced, sums.repeated, sums.changed, sums.relayd,
        ] {
            #expect(count > 0, "\(sums)")
        }
        #expect(disconnects > 0)
        for thing in [
            "fault of the link", "gone while held", "session over", "link closed", "another limit",
        ] {
            #expect(happened[thing, default: 0] > 0, "\(thing)")
        }
    }

    @Test(
        "in the hub: what apps and head unit said and got is what the tap tells, frame by frame",
        arguments: 1...20)
    func hub(seed: UInt64) throws {
        var storm = try FaultHubStorm(seed: seed)
        #expect(try storm.run(steps: 300) == [], "seed \(seed)")
        #expect(storm.faulted > 0, "seed \(seed)")
    }

    @Test("the books notice a lost frame, one too many, a wrong order, a part, and changed bytes")
    func notices() {
        let show = Frame.rpc(session: 1, message: 1)
        let alert = Frame.rpc(session: 1, message: 2, .request, .alert)
        let file = Frame.faultFile(session: 1, message: 3, frames: 2)
        func problems(_ change: (inout FaultLedger) -> Void) -> String {
            var ledger = FaultLedger()
            for frame in [show, alert] + file { ledger.says(frame, .fromApp, "radio") }
            change(&ledger)
            return ledger.close().joined(separator: "\n")
        }
        func pass(_ ledger: inout FaultLedger, _ frames: [Frame]) {
            for frame in frames { ledger.passes(frame, .fromApp, "radio", .forwarded) }
        }
        #expect(problems { pass(&$0, [show, alert] + file) } == "")
        #expect(problems { pass(&$0, [show] + file) }.contains("ended 0 times"))
        #expect(problems { pass(&$0, [show, show, alert] + file) }.contains("ended 2 times"))
        #expect(problems { pass(&$0, [alert, show] + file) }.contains("out of order"))
        #expect(
            problems {
                pass(&$0, [show, alert, file[0]])
                for frame in file.dropFirst() { $0.dropped(frame, .fromApp, "radio") }
            }.contains("a part"))
        let other = Frame.rpc(session: 1, message: 2, .request, .speak)
        #expect(problems { pass(&$0, [show, other] + file) }.contains("other bytes"))
        #expect(
            problems { pass(&$0, [show, alert] + file + [.rpc(session: 1, message: 9)]) }
                .contains("made up"))
        #expect(
            problems {
                $0.relaydSays(show)
                pass(&$0, [show, alert] + file)
            }.contains("relayd's words"))
    }
}
