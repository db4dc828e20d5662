// How a relay says goodbye when it stops or disconnects an app, as dialogues on paper.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("A stop says all Unregisters, waits for all answers, then says all EndServices")
struct StopTests: GoodbyeWords {
    private typealias Bench = RouterBench
    private typealias Router = RouterBench.Router

    @Test("a stop: all Unregisters, all answers, then all EndServices")
    func stop() {
        let bench = Bench()
        for session in UInt8(1)...3 { bench.open("app \(session)", session: session) }
        bench.router.endAllSessions(at: bench.now)
        let toApps = bench.actions().compactMap { action -> String? in
            if case .toApp(let frame, let app) = action, frame.controlType == .endService {
                app
            } else {
                nil
            }
        }
        #expect(toApps == ["app 1", "app 2", "app 3"])
        #expect(bench.heard() == (1...3).map { unregister($0, message: 1) })
        for session in UInt8(1)...2 {
            #expect(bench.accessory(says: unregistered(session)) == .drop(.farewell(session)))
        }
        #expect(bench.heard() == [])
        _ = bench.accessory(says: unregistered(3))
        #expect(bench.heard() == (1...3).map { end($0, message: 2) })
        for session in UInt8(1)...3 {
            #expect(!bench.router.hasSaidAllGoodbyes)
            _ = bench.accessory(says: .control(.endServiceACK, session: session))
        }
        #expect(bench.router.hasSaidAllGoodbyes)
    }

    @Test("a stop waits for the answers half of its time, also for frames that wait for the link")
    func stopIsBounded() {
        let bench = Bench { $0.farewellTimeout = .seconds(1) }
        bench.open("quick", session: 1)
        bench.open("slow", session: 2)
        bench.begin("slow", session: 2, frames: 1)
        bench.waiting = [2]
        bench.router.endAllSessions(at: bench.now)
        #expect(bench.heard() == [unregister(1, message: 1)])
        _ = bench.accessory(says: unregistered(1))
        #expect(bench.heard() == [])
        #expect(bench.router.nextDeadline == bench.now + .milliseconds(500))
        bench.pass(.milliseconds(500))
        let said = bench.heard()
        #expect(bench.purgedSessions() == [2])
        #expect(said.map(\.sessionID) == [2, 1, 2])
        #expect(said.map(\.controlType) == [nil, .endService, .endService])
    }

    /// Makes an app say Unregister, which is answered or not.
    private func unregistersItself(_ result: String?, message: UInt32 = 8) -> Bench {
        let bench = Bench()
        bench.open("music", session: 1)
        let own = Frame.rpc(
            session: 1, message: message, .request, .unregisterAppInterface, correlation: 65_530)
        #expect(bench.app("music", says: own) == .toLink)
        _ = bench.heard()
        if let result {
            let answer = Frame.rpc(
                session: 1, .response, .unregisterAppInterface, correlation: 65_530, json: result)
            #expect(bench.accessory(says: answer) == .toApp("music"))
        }
        return bench
    }

    @Test("an app that has unregistered itself is not unregistered again, at a stop or sent away")
    func unregisteredItself() {
        let success = #"{"success":true,"resultCode":"SUCCESS"}"#
        let bench = unregistersItself(success)
        bench.router.endAllSessions(at: bench.now)
        #expect(bench.heard() == [end(1, message: 9)])
        let other = unregistersItself(success)
        other.router.endSessions(of: "music", at: other.now)
        #expect(other.heard() == [end(1, message: 9)])
    }

    @Test("the answer to an app's own Unregister is waited for, and no other one said")
    func unregistersItselfAtTheStop() {
        let bench = unregistersItself(nil)
        bench.router.endAllSessions(at: bench.now)
        #expect(bench.heard() == [])
        let answer = Frame.rpc(
            session: 1, .response, .unregisterAppInterface, correlation: 65_530)
        #expect(bench.accessory(says: answer) == .drop(.farewell(1)))
        #expect(bench.heard() == [end(1, message: 9)])
    }

    @Test("a stop ends a session at once that waited for the answer to another's StartService")
    func stopWhileStarting() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        _ = bench.heard()
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.pass(.seconds(1))
        #expect(bench.heard() == [])
        bench.router.endAllSessions(at: bench.now)
        #expect(bench.heard() == [end(1, message: 1)])
    }

    @Test("an app that unregisters itself twice is not unregistered a third time")
    func unregistersItselfTwice() {
        let bench = unregistersItself(nil)
        func answer(_ correlation: Int32, _ json: String) -> Frame {
            .rpc(
                session: 1, .response, .unregisterAppInterface, correlation: correlation, json: json
            )
        }
        _ = bench.app(
            "music",
            says: .rpc(
                session: 1, message: 9, .request, .unregisterAppInterface, correlation: 65_531))
        _ = bench.accessory(says: answer(65_530, #"{"success":true,"resultCode":"SUCCESS"}"#))
        _ = bench.accessory(says: answer(65_531, #"{"success":false}"#))
        _ = bench.heard()
        bench.router.endAllSessions(at: bench.now)
        #expect(bench.heard() == [end(1, message: 10)])
    }

    @Test("an app that says Unregister and registers again behind it is unregistered")
    func registersBehindItsUnregister() {
        let bench = unregistersItself(nil)
        _ = bench.app("music", says: .rpc(session: 1, message: 9, .request, .registerAppInterface))
        _ = bench.heard()
        bench.router.endAllSessions(at: bench.now)
        #expect(bench.heard() == [unregister(1, message: 10)])
    }

    @Test("an app that was refused, or has registered again, is unregistered")
    func registeredAgain() {
        let refused = unregistersItself(#"{"success":false,"resultCode":"IGNORED"}"#)
        refused.router.endAllSessions(at: refused.now)
        #expect(refused.heard() == [unregister(1, message: 9)])
        let bench = unregistersItself(#"{"success":true,"resultCode":"SUCCESS"}"#)
        let again = Frame.rpc(
            session: 1, message: 9, .request, .registerAppInterface,
            json: #"{"appName":""# + String(repeating: "a", count: 900) + #""}"#)
        #expect(bench.app("music", says: again) == .toLink)
        _ = bench.heard()
        bench.router.endAllSessions(at: bench.now)
        #expect(bench.heard() == [unregister(1, message: 10)])
    }

    @Test("during a stop no session begins")
    func noStartsDuringAStop() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.endAllSessions(at: bench.now)
        _ = bench.heard()
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        #expect(bench.heard() == [])
    }

    @Test("a stop in mid-file leaves the answer to Unregister its time, if the file's end has none")
    func stopInMidFile() {
        let bench = Bench { $0.farewellTimeout = .seconds(1) }
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 1)
        bench.router.endAllSessions(at: bench.now)
        #expect(bench.heard().map(\.type) == [.consecutive])
        bench.pass(.milliseconds(250))
        #expect(bench.heard() == [unregister(1, message: 78)])
        // Never Unregister and EndService in one go.
        bench.pass(.milliseconds(249))
        #expect(bench.heard() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.heard() == [end(1, message: 79)])
    }

    @Test("an app sent away is unregistered, and ended when the head unit has answered")
    func sentAway() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.open("maps", session: 2)
        bench.router.endSessions(of: "maps", at: bench.now)
        #expect(bench.heard() == [unregister(2, message: 1)])
        bench.router.disconnect("maps", at: bench.now)
        #expect(bench.heard() == [])
        #expect(bench.accessory(says: unregistered(2)) == .drop(.farewell(2)))
        #expect(bench.heard() == [end(2, message: 2)])
        #expect(bench.app("music", says: .rpc(session: 1)) == .toLink)
    }

    @Test("an unanswered Unregister delays EndService, and its late answer reaches nobody")
    func unregisterUnanswered() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.endSessions(of: "music", at: bench.now)
        _ = bench.heard()
        bench.pass(.seconds(1))
        #expect(bench.heard() == [end(1, message: 2)])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        bench.pass(.seconds(60))
        #expect(bench.accessory(says: .rpc(session: 1, .response)) == .toApp("maps"))
        #expect(bench.accessory(says: unregistered(1)) == .drop(.farewell(1)))
        // Only that answer: answers to an app's own requests are forwarded.
        #expect(bench.accessory(says: unregistered(1)) == .toApp("maps"))
    }

    @Test("an app sent away while nobody answers its own EndService keeps the number no longer")
    func unansweredOwnEnd() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: end(1, message: 9))
        #expect(bench.heard() == [end(1, message: 9)])
        // The app may wait for the answer as long as it likes.
        bench.pass(bench.router.configuration.endServiceTimeout)
        #expect(bench.router.farewells.count == 1)
        bench.router.endSessions(of: "music", at: bench.now)
        bench.router.disconnect("music", at: bench.now)
        bench.pass(bench.router.configuration.endServiceTimeout)
        #expect(bench.router.farewells.isEmpty)
        #expect(bench.router.nextDeadline == nil)
    }
}
