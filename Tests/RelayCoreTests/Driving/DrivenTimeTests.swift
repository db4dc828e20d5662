// Where answers to driven requests go when they are late or doubled, or never come. On paper.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("When nobody answers a driven request")
struct DrivenTimeTests {
    @Test("who asked is told at its deadline, and a late answer reaches nobody, once")
    func late() throws {
        let bench = RouterBench.withRadio()
        let id = try bench.sends(patience: .seconds(2))
        let correlation = try bench.heardCorrelation()
        #expect(bench.router.nextDeadline == bench.now + .seconds(2))
        bench.pass(.seconds(2))
        _ = bench.actions()
        #expect(bench.answers.map(\.answer) == [.tooLate] && bench.answers.map(\.id) == [id])
        #expect(bench.router.nextDeadline == nil)
        bench.pass(.seconds(300))
        let late = drivenAnswer(.show, correlation)[0]
        #expect(bench.accessory(says: late) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.count == 1)
        #expect(
            bench.events.contains(.lateAnswer("radio", session: 1, .show)), "\(bench.events)")
        // A head unit that answers twice: the app has asked nothing of the kind.
        #expect(bench.accessory(says: late) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.count == 1)
    }

    @Test("who asked does not wait any longer: the place is free, and the answer reaches nobody")
    func givenUp() throws {
        let bench = RouterBench.withRadio()
        var ids: [OwnRequestID] = []
        var correlations: [Int32] = []
        for _ in 0..<OwnRequests.limitPerSession {
            ids.append(try bench.sends())
            correlations.append(try bench.heardCorrelation())
        }
        #expect(throws: DriveRefusal.tooMany(limit: OwnRequests.limitPerSession)) {
            try bench.sends()
        }
        bench.router.giveUp(ids[3])
        _ = try bench.sends()
        #expect(
            bench.accessory(says: drivenAnswer(.show, correlations[3])[0]) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.isEmpty)
        #expect(bench.events.contains(.lateAnswer("radio", session: 1, .show)))
        bench.pass(.seconds(10))
        _ = bench.actions()
        #expect(bench.answers.count == OwnRequests.limitPerSession)
        #expect(!bench.answers.map(\.id).contains(ids[3]))
    }

    @Test("a second answer reaches nobody, until the app itself asks with that ID")
    func twice() throws {
        let bench = RouterBench.withRadio()
        let (_, correlation) = try bench.asks()
        let frame = drivenAnswer(.show, correlation)[0]
        #expect(bench.accessory(says: frame) == .drop(.answersRelay))
        #expect(bench.accessory(says: frame) == .drop(.answersRelay))
        let request = Frame.rpc(session: 1, message: 9, .request, .show, correlation: correlation)
        #expect(bench.app("radio", says: request) == .handled)
        let other = try bench.heardCorrelation()
        #expect(other != correlation)
        // A third one is still no answer to the app's request.
        #expect(bench.accessory(says: frame) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.accessory(says: drivenAnswer(.show, other)[0]) == .handled)
        #expect(bench.actions() == [.pass(frame, to: "radio")])
        #expect(bench.answers.count == 1)
    }

    @Test("a second answer in several frames reaches nobody either, also behind a single one")
    func twiceInFrames() throws {
        let bench = RouterBench.withRadio()
        let (_, correlation) = try bench.asks()
        #expect(bench.accessory(says: drivenAnswer(.show, correlation)[0]) == .drop(.answersRelay))
        let parts = drivenAnswer(.show, correlation, message: 6, limit: 20)
        #expect(parts.count > 3)
        #expect(bench.accessory(says: parts[0]) == .handled)
        #expect(bench.accessory(says: parts[1]) == .handled)
        #expect(
            bench.actions() == [
                .dropped(parts[0], .answersRelay), .dropped(parts[1], .answersRelay),
            ])
        for part in parts.dropFirst(2) {
            #expect(bench.accessory(says: part) == .drop(.answersRelay))
        }
        #expect(bench.answers.count == 1)
        // The next message with the same number is for the app, and whole.
        let own = drivenAnswer(.show, 3, message: 6, limit: 20)
        #expect(bench.accessory(says: own[0]) == .handled)
        #expect(bench.accessory(says: own[1]) == .handled)
        #expect(bench.actions() == [.pass(own[0], to: "radio"), .pass(own[1], to: "radio")])
        for part in own.dropFirst(2) {
            #expect(bench.accessory(says: part) == .toApp("radio"))
        }
    }

    @Test("the app leaves in the middle: an answer before the end of the session is still told")
    func ownerGone() throws {
        let bench = RouterBench.withRadio()
        let (id, correlation) = try bench.asks()
        bench.router.disconnect("radio", at: bench.now)
        #expect(bench.heard().map(\.controlType) == [.endService])
        #expect(bench.accessory(says: drivenAnswer(.show, correlation)[0]) == .drop(.answersRelay))
        _ = bench.heard()
        #expect(bench.answers.map(\.id) == [id])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        _ = bench.heard()
        #expect(bench.answers.count == 1)
    }

    @Test("an answer that comes behind the end of its session does not reach the next app")
    func nextApp() throws {
        let bench = RouterBench.withRadio()
        let id = try bench.sends(DrivenRPC(.listFiles))
        let correlation = try bench.heardCorrelation()
        bench.router.disconnect("radio", at: bench.now)
        _ = bench.heard()
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        _ = bench.heard()
        #expect(bench.answers.map(\.id) == [id])
        #expect(bench.answers.first?.answer == .sessionOver)
        bench.open("maps", session: 1)
        // Its own message IDs, so that nothing else tells it from the new session's.
        let parts = drivenAnswer(.listFiles, correlation, message: 3, limit: 15)
        for part in parts {
            let decision = bench.accessory(says: part)
            #expect(decision == .drop(.answersRelay) || decision == .handled)
        }
        #expect(bench.actions() == parts.prefix(2).map { .dropped($0, .answersRelay) })
        #expect(bench.events.contains(.lateAnswer("maps", session: 1, .listFiles)))
    }

    @Test("two who ask at once each get their own answer, in whatever order they come")
    func two() throws {
        let bench = RouterBench.withRadio()
        let (first, one) = try bench.asks()
        let (second, other) = try bench.asks()
        #expect(one != other)
        let refusal = drivenAnswer(
            .show, other, json: #"{"success":false,"resultCode":"REJECTED"}"#)[0]
        #expect(bench.accessory(says: refusal) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [second])
        #expect(bench.accessory(says: drivenAnswer(.show, one)[0]) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [second, first])
    }

    @Test("the link breaks in the middle: who asked is told once, and the next link owes nothing")
    func linkBreaks() throws {
        let bench = RouterBench.withRadio()
        let (id, correlation) = try bench.asks()
        let half = try bench.sends(DrivenRPC(.listFiles))
        let parts = drivenAnswer(.listFiles, try bench.heardCorrelation(), limit: 15)
        for part in parts.prefix(3) { _ = bench.accessory(says: part) }
        bench.router.linkClosed(reason: "cut", at: bench.now)
        _ = bench.actions()
        #expect(Set(bench.answers.map(\.id)) == [id, half] && bench.answers.count == 2)
        #expect(bench.answers.allSatisfy { $0.answer == .sessionOver })
        bench.router.linkOpened(at: bench.now)
        bench.open("maps", session: 1)
        // A request of the next app is its own, whatever its correlation ID.
        let own = Frame.rpc(session: 1, .request, .show, correlation: correlation)
        #expect(bench.app("maps", says: own) == .toLink)
        #expect(bench.accessory(says: drivenAnswer(.show, correlation)[0]) == .toApp("maps"))
        bench.pass(.seconds(60))
        _ = bench.actions()
        #expect(bench.answers.count == 2)
    }

    @Test("a refusal that names no function is an answer; one that names no request is none")
    func genericResponse() throws {
        let bench = RouterBench.withRadio()
        let id = try bench.sends(patience: .seconds(2))
        let correlation = try bench.heardCorrelation()
        let refused = #"{"success":false,"resultCode":"INVALID_DATA"}"#
        let nameless = drivenAnswer(.genericResponse, 0, json: refused)[0]
        #expect(bench.accessory(says: nameless) == .toApp("radio"))
        let generic = drivenAnswer(.genericResponse, correlation, json: refused)[0]
        #expect(bench.accessory(says: generic) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [id])
    }

    @Test("what cannot be said is refused at once, with the reason")
    func refused() throws {
        let bench = RouterBench { $0.messageBytes = 100_000 }
        #expect(throws: DriveRefusal.noSession) { try bench.sends() }
        bench.router.connect("old")
        _ = bench.app("old", says: .startService())
        _ = bench.actions()
        let grant = Frame(
            version: 1, type: .control, service: .rpc,
            info: ControlFrameType.startServiceACK.rawValue, sessionID: 1)
        _ = bench.accessory(says: grant)
        _ = bench.heard()
        #expect(throws: DriveRefusal.oldProtocol(session: 1)) { try bench.sends() }
        #expect(throws: DriveRefusal.oldProtocol(session: 1)) {
            try bench.router.inject(
                DrivenRPC(.onHMIStatus, .notification), in: 1, patience: .seconds(1),
                at: bench.now)
        }
        bench.open("radio", session: 2)
        let large = DrivenRPC(
            .putFile, .request, "{}", bulk: ByteBuffer(repeating: 0, count: 100_000))
        #expect(throws: DriveRefusal.tooLarge(bytes: 100_014, limit: 100_000)) {
            try bench.sends(large, session: 2)
        }
        for _ in 0..<OwnRequests.limitPerSession { _ = try bench.sends(session: 2) }
        #expect(throws: DriveRefusal.tooMany(limit: OwnRequests.limitPerSession)) {
            try bench.sends(session: 2)
        }
        bench.router.linkClosed(reason: "cut", at: bench.now)
        #expect(throws: DriveRefusal.noLink) { try bench.sends(session: 2) }
        #expect(bench.router.nextDeadline == nil)
    }
}
