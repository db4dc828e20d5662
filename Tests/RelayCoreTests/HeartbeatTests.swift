// Heartbeats of the head unit that an app does not answer, as dialogues on paper.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("relayd answers heartbeats in the place of an app that stands still")
struct HeartbeatTests {
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
}
