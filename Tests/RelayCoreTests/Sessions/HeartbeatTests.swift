// Heartbeats of the head unit that an app does not answer, as dialogues on paper.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("relayd answers heartbeats in the place of an app that stands still")
struct HeartbeatTests: GoodbyeWords {
    private typealias Bench = RouterBench

    private func heartbeat(_ type: ControlFrameType, message: UInt32 = 0) -> Frame {
        .control(type, service: .control, session: 1, messageID: message)
    }

    @Test("a heartbeat is the app's to answer; relayd answers for one that stands still")
    func heartbeats() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.accessory(says: heartbeat(.heartbeat, message: 5)) == .toApp("music"))
        #expect(bench.app("music", says: heartbeat(.heartbeatACK)) == .toLink)
        _ = bench.heard()
        bench.pass(.seconds(7))
        #expect(bench.heard() == [])
        _ = bench.accessory(says: heartbeat(.heartbeat, message: 6))
        bench.pass(bench.router.configuration.heartbeatPatience)
        #expect(bench.heard() == [heartbeat(.heartbeatACK, message: 6)])
        #expect(bench.events.last == .heartbeatAnswered("music", session: 1))
    }

    @Test("status tells what relayd did in an app's place, and the log does once")
    func told() throws {
        let hub = try EmbeddedHub()
        _ = try hub.app(session: 1)
        try hub.link.says(heartbeat(.heartbeat))
        hub.loop.advanceTime(by: .milliseconds(2499))
        #expect(hub.switchboard.snapshot(missedBatches: 0).apps.map(\.lastProblem) == [nil])
        hub.loop.advanceTime(by: .milliseconds(1))
        let told = try #require(hub.switchboard.snapshot(missedBatches: 0).apps.first?.lastProblem)
        #expect(told.contains("did not answer the head unit's heartbeat for 2.5 s"), "\(told)")
        #expect(told.contains("(sessions.heartbeats)"), "\(told)")
        #expect(hub.notices() == [.heartbeatAnswered(seconds: 2.5)])
    }

    @Test("when so configured nobody answers in an app's place")
    func heartbeatsPass() {
        let bench = Bench { $0.heartbeats = .pass }
        bench.open("music", session: 1)
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .toApp("music"))
        #expect(bench.router.nextDeadline == nil)
    }

    @Test("a session that is being ended is not left without an answer")
    func heartbeatOfADepartedApp() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.waiting = [1]
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .drop(.farewell(1)))
        #expect(bench.heard() == [heartbeat(.heartbeatACK)])
    }

    @Test("EndService is lost: the head unit's heartbeats do not keep the session, nor do answers")
    func endIsLost() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [end(1)])
        bench.pass(.seconds(7))
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .drop(.farewell(1)))
        // If answered, the head unit would never end a session that it does not know to be over.
        #expect(bench.heard() == [])
        bench.pass(.seconds(3))
        #expect(bench.router.farewellSessions == 0)
        bench.pass(.seconds(4))
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .drop(.noSuchSession(1)))
        #expect(bench.heard() == [])
    }

    @Test("an answered heartbeat does not start the time of an Unregister that still waits")
    func overtakenUnregister() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.holdsRPCs = true
        bench.router.endSessions(of: "music", at: bench.now)
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .drop(.farewell(1)))
        #expect(bench.heard() == [heartbeat(.heartbeatACK)])
        bench.pass(bench.router.configuration.unregisterTimeout)
        _ = bench.actions()
        bench.holdsRPCs = false
        #expect(bench.heard() == [unregister(1, message: 1)])
        // After its answer, and not together with the request.
        #expect(bench.accessory(says: unregistered(1)) == .drop(.farewell(1)))
        #expect(bench.heard() == [end(1, message: 2)])
    }

    @Test("an app that says EndService has answered no more: relayd does, and not when all is over")
    func endsMeanwhile() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .toApp("music"))
        bench.pass(.milliseconds(100))
        #expect(bench.app("music", says: end(1, message: 9)) == .handled)
        #expect(bench.heard() == [heartbeat(.heartbeatACK), end(1, message: 9)])
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .toApp("music"))
        #expect(bench.router.nextDeadline == nil)
        bench.pass(bench.router.configuration.heartbeatPatience)
        #expect(bench.heard() == [])
        #expect(!bench.events.contains(.heartbeatAnswered("music", session: 1)))
    }

    @Test("a heartbeat before the head unit's own EndService is not answered in the ended session")
    func endedMeanwhile() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .toApp("music"))
        #expect(bench.accessory(says: .control(.endService, session: 1)) == .toApp("music"))
        _ = bench.app("music", says: acknowledgement(1))
        #expect(bench.heard() == [acknowledgement(1)])
        bench.pass(bench.router.configuration.heartbeatPatience)
        #expect(bench.heard() == [])
        #expect(!bench.events.contains(.heartbeatAnswered("music", session: 1)))
    }

    @Test("an app leaves with a heartbeat unanswered: its session lives until it is ended")
    func leavesMeanwhile() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .toApp("music"))
        bench.waiting = [1]
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [heartbeat(.heartbeatACK)])
        bench.drained(1)
        #expect(bench.heard() == [end(1)])
    }

    @Test("an app that has said EndService cannot answer: relayd does until EndService has gone")
    func heartbeatBehindEnd() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.waiting = [1]
        #expect(bench.app("music", says: end(1, message: 9)) == .handled)
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .drop(.farewell(1)))
        #expect(bench.heard() == [heartbeat(.heartbeatACK)])
        bench.drained(1)
        #expect(bench.heard() == [end(1, message: 9)])
        #expect(bench.accessory(says: heartbeat(.heartbeat)) == .drop(.farewell(1)))
        #expect(bench.heard() == [])
    }
}
