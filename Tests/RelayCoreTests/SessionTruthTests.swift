// The hub and the followers of its tap, side by side: which sessions run is decided in one place.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLAdvice
import SDLProtocol
import Testing

@testable import RelayCore
@testable import SDLTraffic

@Suite("Facts and advice know the sessions that the router knows")
struct SessionTruthTests: GoodbyeWords {
    @Test("an app ends its session")
    func endedByApp() throws {
        let bench = try Bench()
        let app = try bench.hub.app(session: 1)
        #expect(bench.sessions() == [[1]])
        try app.says(end(1))
        #expect(bench.sessions() == [[1]], "not before the head unit has answered")
        try bench.hub.link.says(.control(.endServiceACK, session: 1))
        #expect(bench.sessions() == [[]])
    }

    @Test("an end that the head unit refuses")
    func refused() throws {
        let bench = try Bench()
        let app = try bench.hub.app(session: 1)
        try app.says(end(1))
        try bench.hub.link.says(.control(.endServiceNAK, session: 1))
        #expect(bench.sessions() == [[1]])
        try app.says(end(1, message: 2))
        try bench.hub.link.says(.control(.endServiceACK, session: 1))
        #expect(bench.sessions() == [[]])
    }

    @Test("an app ends its session while it is granted the next, with the same number")
    func endedBeforeAGrant() throws {
        let bench = try Bench()
        let app = try bench.hub.app(session: 1)
        try app.says(.startService())
        try app.says(end(1))
        try bench.hub.link.says(.control(.endServiceACK, session: 1))
        #expect(bench.sessions() == [[]])
        try bench.hub.link.says(.startServiceACK(session: 1))
        #expect(bench.sessions() == [[1]])
        try bench.hub.link.says(.control(.endServiceACK, session: 1))
        #expect(bench.sessions() == [[1]], "a late word about the one before")
    }

    @Test(
        "the head unit ends a session, and relayd says for the app that it knows",
        arguments: [ControlFrameType.endServiceACK, .endServiceNAK])
    func endedByHeadUnit(answer: ControlFrameType) throws {
        let bench = try Bench()
        let app = try bench.hub.app(session: 1)
        try bench.hub.link.says(.control(.endService, session: 1))
        bench.hub.loop.advanceTime(by: .seconds(1))
        #expect(bench.sessions() == [[1]])
        // No app gets this answer.
        try bench.hub.link.says(.control(answer, session: 1))
        #expect(bench.sessions() == [[]])
        #expect(app.isActive)
    }

    @Test("the head unit ends a session and answers nothing any more")
    func neverAnswered() throws {
        let bench = try Bench()
        _ = try bench.hub.app(session: 1)
        try bench.hub.link.says(.control(.endService, session: 1))
        bench.hub.loop.advanceTime(by: .seconds(12))
        #expect(bench.sessions() == [[]])
        _ = try bench.hub.heard()
        // The number is granted again; then the answer comes, which may belong to either session.
        _ = try bench.hub.app(session: 1)
        #expect(bench.sessions() == [[], [1]])
        try bench.hub.link.says(.control(.endServiceACK, session: 1))
        #expect(bench.sessions() == [[], []])
    }

    @Test("an app answers the head unit's end with the hash, and nobody answers that")
    func acknowledged() throws {
        let bench = try Bench()
        let app = try bench.hub.app(session: 1)
        try bench.hub.link.says(.control(.endService, session: 1))
        let hash: BSONDocument = [ControlKey.hashID: .int32(0x1_0005)]
        try app.says(.control(.endServiceACK, session: 1, payload: hash.bytes))
        #expect(bench.sessions() == [[]])
    }

    @Test("the number of a running session is granted to another app")
    func grantedAgain() throws {
        let bench = try Bench()
        _ = try bench.hub.app(session: 1)
        _ = try bench.hub.app(session: 1)
        #expect(bench.sessions() == [[], [1]])
    }

    @Test("the number of a running session is granted to an app that has left")
    func grantedToNobody() throws {
        let bench = try Bench()
        _ = try bench.hub.app(session: 1)
        let gone = try bench.hub.app()
        try gone.says(.startService())
        gone.close(promise: nil)
        bench.hub.loop.run()
        try bench.hub.link.says(.startServiceACK(session: 1))
        #expect(bench.sessions() == [[]])
    }

    @Test("a session that becomes protected stays the one it was")
    func protected() throws {
        let bench = try Bench()
        let app = try bench.hub.app(session: 1)
        func start(_ type: ControlFrameType) -> Frame {
            Frame(
                version: 5, isEncrypted: true, type: .control, service: .rpc, info: type.rawValue,
                sessionID: 1)
        }
        try app.says(start(.startService))
        try bench.hub.link.says(start(.startServiceACK))
        #expect(bench.sessions() == [[1]])
        #expect(bench.facts().first?.protocolVersion == "5.4.0", "of the grant")
        #expect(bench.facts().first?.services.map(\.isProtected) == [true])
        // Nobody asked for this one.
        try bench.hub.link.says(.startServiceACK(session: 1))
        #expect(bench.facts().first?.services.map(\.isProtected) == [true])
    }

    @Test("the advice tells of a wrong hash, and not of the right one")
    func hashes() throws {
        let bench = try Bench()
        let app = try bench.hub.app(session: 1)
        try app.says(.endService(version: 5, sessionID: 1, hashID: 9))
        try bench.hub.link.says(.control(.endServiceNAK, session: 1))
        #expect(bench.advice() == [.endWrongHash])
        try app.says(.control(.endService, session: 1, messageID: 2))
        try bench.hub.link.says(.control(.endServiceNAK, session: 1))
        #expect(bench.advice() == [.endWrongHash, .endWithoutHash])
        try app.says(end(1, message: 3))
        try bench.hub.link.says(.control(.endServiceACK, session: 1))
        #expect(bench.advice() == [.endWrongHash, .endWithoutHash])
        #expect(bench.sessions() == [[]])
    }

    @Test("the advice tells of an offered transport, and not when there is none any more")
    func transports() throws {
        let bench = try Bench()
        let app = try bench.hub.app(session: 1)
        func update(_ address: String) -> Frame {
            let document: BSONDocument = [ControlKey.tcpIPAddress: .string(address)]
            return .control(
                .transportEventUpdate, service: .control, session: 1, payload: document.bytes)
        }
        try bench.hub.link.says(update(""))
        #expect(bench.advice() == [])
        try bench.hub.link.says(update("192.168.1.20"))
        #expect(bench.advice() == [.secondaryTransport])
        #expect(app.isActive)
    }

    @Test("what was not seen because the queue was full is told afterwards")
    func missed() throws {
        let bench = try Bench()
        _ = try bench.hub.app(session: 1)
        try bench.hub.link.says(.control(.endService, session: 1))
        _ = bench.sessions()
        bench.fillQueue()
        bench.hub.loop.advanceTime(by: .seconds(12))
        #expect(bench.sessions() == [[]])
    }

    @Test("the same of a number that another app has had meanwhile, and lost as well")
    func missedTwice() throws {
        let bench = try Bench()
        _ = try bench.hub.app(session: 1)
        let next = try bench.hub.app()
        #expect(bench.sessions() == [[1], []])
        bench.fillQueue()
        try next.says(.startService())
        try bench.hub.link.says(.startServiceACK(session: 1))
        try next.says(end(1))
        try bench.hub.link.says(.control(.endServiceACK, session: 1))
        #expect(bench.sessions() == [[], []])
    }
}

/// A hub, and what its observers conclude from its tap.
private final class Bench {
    let hub: EmbeddedHub
    private var decoder = TrafficDecoder()
    private var table = FactsTable()
    private var rules = AdviceRules()
    private var advised: [AdviceCode] = []

    init() throws {
        hub = try EmbeddedHub()
    }

    /// Fills the queue, so that nothing more is seen until it is read.
    func fillQueue() {
        while hub.tapQueue.missedBatches == 0 {
            hub.switchboard.reporter.notice(.paced(framesPerSecond: 1), nil, at: .now())
        }
    }

    /// Sessions of each connected app, on which all must agree; the router's where they do not.
    func sessions(_ location: SourceLocation = #_sourceLocation) -> [[UInt8]] {
        follow()
        let apps = hub.switchboard.snapshot(missedBatches: 0).apps
        let known = apps.map { $0.sessions.map(\.sessionID).sorted() }
        #expect(facts().map(\.sessions) == known, "facts", sourceLocation: location)
        let notes = apps.map { app in
            rules.sessions.filter { $0.value.app == app.id }.keys.sorted()
        }
        #expect(notes == known, "advice", sourceLocation: location)
        return known
    }

    /// The advice given so far.
    func advice() -> [AdviceCode] {
        follow()
        return advised
    }

    func facts() -> [AppFacts] {
        follow()
        return table.apps.sorted { $0.key < $1.key }.map(\.value)
    }

    private func follow() {
        hub.switchboard.tap.emit()
        var entries: [TrafficEntry] = []
        for item in hub.tapQueue.takeAll() { decoder.receive(item, into: &entries) }
        for entry in entries {
            rules.consider(entry, table)
            for case .new(let advice) in rules.take() { advised.append(advice.code) }
            table.apply(entry)
        }
    }
}
