// Apps that leave, and sessions and links that end, while a fault rule holds their frames.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What a fault rule holds goes nowhere it does not belong")
struct FaultEndTests {
    private let show = Frame.rpc(session: 1, message: 1)
    private let alert = Frame.rpc(session: 1, message: 2, .request, .alert)

    @Test("an app that leaves has said what a delay holds, and not what a hold has")
    func leaves() throws {
        let bench = try FaultBench(("rpc:Show", "delay 5s"), ("app:maps rpc:Alert", "hold"))
        #expect(bench.app("radio", says: [show, alert]) == [])
        let others = [
            Frame.rpc(session: 2, message: 1), Frame.rpc(session: 2, message: 2, .request, .alert),
            Frame.rpc(session: 2, message: 3, .request, .speak),
        ]
        #expect(bench.app("maps", says: others) == [])
        bench.stage.hungUp("radio", at: bench.now)
        #expect(bench.due() == [.unit(show, from: "radio"), .unit(alert, from: "radio")])
        bench.stage.hungUp("maps", at: bench.now)
        #expect(
            bench.due()
                == [
                    .dropped(others[1], .fault(2)), .dropped(others[2], .fault(2)),
                    .unit(others[0], from: "maps"),
                ])
        for app in ["radio", "maps"] { bench.stage.forget(app) }
        #expect(bench.stage.heldBytes == 0)
        #expect(bench.stage.lanes.isEmpty)
        #expect(bench.stage.facts.isEmpty)
    }

    @Test("a hold whose rule was removed keeps nothing back when the app leaves")
    func leavesAfterRemoval() throws {
        let bench = try FaultBench(("rpc:Show", "delay 5s"), ("rpc:Alert", "hold"))
        #expect(bench.app("radio", says: [show, alert]) == [])
        bench.stage.remove(2, at: bench.now)
        bench.stage.hungUp("radio", at: bench.now)
        #expect(bench.due() == [.unit(show, from: "radio"), .unit(alert, from: "radio")])
    }

    @Test("a hold that is over keeps nothing back when the app leaves")
    func leavesAfterHold() throws {
        let bench = try FaultBench(("rpc:Show", "delay 5s"), ("rpc:Alert", "hold 1s"))
        #expect(bench.app("radio", says: [show, alert]) == [])
        bench.now = bench.now + .seconds(2)
        bench.stage.hungUp("radio", at: bench.now)
        #expect(bench.due() == [.unit(show, from: "radio"), .unit(alert, from: "radio")])
    }

    @Test("a message that a held one has overtaken follows it as soon as the hold is removed")
    func overtakenByHeld() throws {
        let bench = try FaultBench(("rpc:Show", "reorder"), ("rpc:Alert", "hold"))
        #expect(bench.app("radio", says: [show, alert]) == [])
        #expect(bench.remove(2))
        #expect(bench.due() == [.unit(alert, from: "radio"), .unit(show, from: "radio")])
    }

    @Test("what waits for an app that leaves is dropped, and counted")
    func receiverLeaves() throws {
        let bench = try FaultBench(("from:unit app:radio", "delay 5s"))
        let answer = Frame.rpc(session: 1, .response, .show)
        #expect(bench.unit(says: answer, to: "radio") == [])
        #expect(bench.stage.heldBytes(to: "radio") == answer.wire.readableBytes)
        bench.stage.hungUp("radio", at: bench.now)
        #expect(bench.due() == [.dropped(answer, .fault(1))])
        #expect(bench.stage.heldBytes(to: "radio") == 0)
    }

    @Test(
        "a session that is over takes what is held of it with it; its number's next owner is heard")
    func sessionEnds() throws {
        let bench = try FaultBench(("app:radio rpc:Show", "hold"), ("rpc:PutFile", "drop"))
        let file = Frame.faultFile(session: 1, message: 7, frames: 3)
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.app("radio", says: Array(file[...1])).allSatisfy { $0.passed == nil })
        bench.stage.sessionIsOver(1)
        #expect(bench.due() == [.dropped(show, .sessionOver(1))])
        // Granted again, to the same app: a message begun in the old session does not go on.
        #expect(bench.app("radio", says: alert) == [.unit(alert, from: "radio")])
        let next = Frame.faultFile(session: 1, message: 7, frames: 3, json: "{}")
        #expect(bench.app("radio", says: next[2]) == [.unit(next[2], from: "radio")])
        let others = Frame.rpc(session: 1, message: 5)
        #expect(bench.app("maps", says: others) == [.unit(others, from: "maps")])
    }

    @Test(
        "what apps have said is dropped with the link, and apps still hear what was held for them")
    func linkCloses() throws {
        let bench = try FaultBench(("rpc:Show", "delay 5s"), ("from:unit", "delay 5s"))
        let answer = Frame.rpc(session: 1, .response, .alert)
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.unit(says: answer, to: "radio") == [])
        bench.stage.linkClosed()
        #expect(bench.due() == [.dropped(show, .noLink)])
        #expect(bench.pass(.seconds(5)) == [.app(answer, to: "radio")])
    }

    @Test("an app that is sent away is not heard any more, and leaves nothing behind")
    func sentAway() throws {
        let bench = try FaultBench(("rpc:Show", "delay 5s"), ("rpc:PutFile", "drop"))
        let file = Frame.faultFile(session: 1, message: 7, frames: 3)
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.app("radio", says: Array(file[...1])).allSatisfy { $0.passed == nil })
        bench.stage.forget("radio")
        #expect(bench.due() == [.dropped(show, .fault(1))])
        #expect(bench.stage.messages.isEmpty)
        #expect(bench.stage.heldBytes == 0)
    }

    @Test("all of what is held for an app passes when as much waits as may")
    func givesUp() throws {
        let bench = try FaultBench(("from:unit app:radio", "hold"))
        let answers = (1...3).map { Frame.rpc(session: 1, message: $0, .response, .show) }
        for answer in answers { #expect(bench.unit(says: answer, to: "radio") == []) }
        bench.stage.giveUp(for: "radio", at: bench.now)
        #expect(bench.due().compactMap(\.passed) == answers)
    }

    @Test("messages that begin and never end are followed up to a limit")
    func endlessMessages() throws {
        let bench = try FaultBench(("service:bulk", "drop"))
        for number in 1...UInt32(FaultLimits.messages + 10) {
            let file = Frame.faultFile(session: 1, message: number, frames: 2)
            _ = bench.app("radio", says: file[0])
        }
        #expect(bench.stage.messages.count <= FaultLimits.messages)
    }

    @Test("what is remembered of kinds of messages is bounded, whatever functions there are")
    func remembered() throws {
        let bench = try FaultBench(("app:radio", "delay 1s"))
        for number in 0..<UInt32(3 * FaultLimits.remembered) {
            let odd = Frame.rpc(
                version: 5, sessionID: 1, messageID: 1, type: .request,
                functionID: number & 0x0FFF_FFFF, correlationID: 1)
            _ = bench.app("maps", says: odd)
        }
        #expect(bench.stage.candidates.count <= FaultLimits.remembered)
    }
}
