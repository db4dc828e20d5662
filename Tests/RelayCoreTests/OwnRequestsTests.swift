// How long answers to requests that relayd waits for are kept from the apps.

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
