// How long answers to relayd's own requests are kept from the apps.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("An answer that relayd waits for in vain costs no later app its own")
struct OwnRequestsTests {
    @Test(
        "an app's own Unregister is never answered: the next app hears the answer to its own",
        arguments: [true, false])
    func unansweredUnregister(isEndAnswered: Bool) {
        let bench = RouterBench()
        bench.open("music", session: 1)
        // Libraries give their last request the same correlation ID every time.
        let unregister = Frame.rpc(
            session: 1, .request, .unregisterAppInterface, correlation: 65_530)
        _ = bench.app("music", says: unregister)
        bench.router.endSessions(of: "music", at: bench.now)
        #expect(bench.heard() == [unregister])
        bench.pass(bench.router.configuration.unregisterTimeout)
        #expect(bench.heard().map(\.controlType) == [.endService])
        if isEndAnswered {
            _ = bench.accessory(says: .control(.endServiceACK, session: 1))
            bench.open("maps", session: 1)
            bench.pass(bench.router.configuration.lateWordsWindow)
        } else {
            bench.pass(bench.router.configuration.endServiceTimeout)
            bench.open("maps", session: 1)
            bench.pass(OwnRequests.patience)
        }
        _ = bench.app("maps", says: unregister)
        let answer = Frame.rpc(
            session: 1, .response, .unregisterAppInterface, correlation: 65_530,
            json: #"{"success":true,"resultCode":"SUCCESS"}"#)
        #expect(bench.accessory(says: answer) == .toApp("maps"))
    }

    @Test("a late answer to relayd's own Unregister reaches nobody, however late it is")
    func lateAnswer() {
        let bench = RouterBench()
        bench.open("music", session: 1)
        bench.router.endSessions(of: "music", at: bench.now)
        _ = bench.heard()
        bench.pass(bench.router.configuration.unregisterTimeout)
        #expect(bench.heard().map(\.controlType) == [.endService])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        bench.pass(.seconds(61))
        let answer = Frame.rpc(
            session: 1, .response, .unregisterAppInterface,
            correlation: RouterBench.Router.farewellCorrelationID)
        #expect(bench.accessory(says: answer) == .drop(.farewell(1)))
    }
}

extension RouterBench {
    fileprivate func asks(_ function: FunctionID) -> OwnRequestID? {
        router.ask(function, in: 1, at: now)
    }
}

@Suite("A request of relayd's own in an app's session")
struct AskTests {
    private func response(_ request: Frame, to correlation: Int32? = nil) throws -> Frame {
        let header = try #require(RPCHeader(request.payload))
        let function = FunctionID(rawValue: header.functionID)
        return .rpc(
            session: request.sessionID, .response, function,
            correlation: correlation ?? header.correlationID,
            json: #"{"success":true,"resultCode":"SUCCESS"}"#)
    }

    @Test("its answer is told to who asked, and reaches no app; the app's own does")
    func answered() throws {
        let bench = RouterBench()
        bench.open("music", session: 1)
        let id = try #require(bench.asks(.getVehicleData))
        let request = try #require(bench.heard().first)
        let own = Frame.rpc(session: 1, .request, .getVehicleData, correlation: 1)
        #expect(bench.app("music", says: own) == .toLink)
        // In the other order, as a head unit that is busy may answer.
        #expect(try bench.accessory(says: response(own, to: 1)) == .toApp("music"))
        #expect(try bench.accessory(says: response(request)) == .drop(.answersRelay))
        _ = bench.heard()
        #expect(bench.answers.map(\.id) == [id])
        #expect(
            try bench.answers.first?.answer == .response(Message(single: response(request))))
        // A second answer does not reach the app, which has not asked.
        #expect(try bench.accessory(says: response(request)) == .drop(.answersRelay))
    }

    @Test("no two have the same IDs, and none has one that an app gives")
    func ids() throws {
        let bench = RouterBench()
        bench.open("music", session: 1)
        for _ in 0..<OwnRequests.limitPerSession {
            _ = try #require(bench.asks(.show))
        }
        #expect(bench.asks(.show) == nil, "as many as may wait")
        let sent = bench.heard()
        let headers = sent.compactMap { RPCHeader($0.payload) }
        #expect(Set(headers.map(\.correlationID)).count == OwnRequests.limitPerSession)
        #expect(headers.allSatisfy { OwnRequests.correlationIDs.contains($0.correlationID) })
        #expect(Set(sent.compactMap(\.messageID)).count == OwnRequests.limitPerSession)
        #expect(sent.allSatisfy { OwnRequests.messageIDs.contains($0.messageID ?? 0) })
    }

    @Test("the goodbye's answers are not taken for its own, and the other way round")
    func besideGoodbye() throws {
        let bench = RouterBench()
        bench.open("music", session: 1)
        _ = try #require(bench.asks(.unregisterAppInterface))
        let request = try #require(bench.heard().first)
        bench.router.endSessions(of: "music", at: bench.now)
        let goodbye = try #require(bench.heard().first)
        #expect(try bench.accessory(says: response(goodbye)) == .drop(.farewell(1)))
        #expect(bench.heard().map(\.controlType) == [.endService])
        #expect(try bench.accessory(says: response(request)) == .drop(.answersRelay))
        _ = bench.heard()
        #expect(bench.answers.count == 1)
    }

    @Test(
        "whoever asked hears that no answer comes: the session ends, or the link",
        arguments: [true, false])
    func neverAnswered(isLinkLost: Bool) throws {
        let bench = RouterBench()
        bench.open("music", session: 1)
        let id = try #require(bench.asks(.show))
        _ = bench.heard()
        if isLinkLost {
            bench.router.linkClosed(reason: "cut", at: bench.now)
        } else {
            let ack = bench.router.grants[1]?.hashID
            #expect(ack != nil)
            _ = bench.app(
                "music",
                says: .endService(
                    version: 5, sessionID: 1, hashID: ack ?? 0, messageID: 9))
            _ = bench.heard()
            _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        }
        _ = bench.heard()
        #expect(bench.answers.map(\.id) == [id])
        #expect(bench.answers.allSatisfy { $0.answer == .sessionOver })
        #expect(bench.asks(.show) == nil)
    }

    @Test("through the hub: the app hears nothing of it, the observers see both")
    func hub() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app(session: 1)
        var answer: DrivenAnswer?
        let id = try #require(hub.switchboard.apps.keys.first)
        try hub.switchboard.sdl.drive(
            DrivenRPC(.getVehicleData, .request, #"{"speed":true}"#), .fromApp, app: id,
            session: 1, patience: .seconds(10)
        ) { answer = $0 }
        let request = try #require(try hub.link.hears())
        try hub.link.says(response(request))
        #expect(try answer == .response(Message(single: response(request))))
        #expect(try app.hears() == nil)
        hub.switchboard.tap.emit()
        let fates = hub.tapQueue.takeAll().flatMap { item -> [FrameFate] in
            if case .frames(let frames) = item { frames.map(\.fate) } else { [] }
        }
        #expect(fates.suffix(2) == [.byRelay, .dropped(.answersRelay)])
    }
}
