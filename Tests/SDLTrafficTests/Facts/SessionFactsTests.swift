import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import SDLTraffic

@Suite struct SessionFactsTests {
    private let first = AppID(rawValue: 1)

    private func facts(_ talk: Dialogue) -> SessionFacts {
        let facts = SessionFacts()
        facts.consume(talk.entries)
        return facts
    }

    @Test("a registered app is known by name, versions, session and HMI level")
    func registered() throws {
        var talk = Dialogue()
        talk.opens()
        #expect(facts(talk).facts()[first]?.sessions == [1])
        #expect(facts(talk).facts()[first]?.isRegistered == false)
        talk.registers()
        talk.notification(
            .onHMIStatus,
            #"{"hmiLevel":"FULL","audioStreamingState":"AUDIBLE","systemContext":"MAIN"}"#)
        talk.notification(.onHMIStatus, #"{"hmiLevel":"NONE","windowID":3}"#)
        let app = try #require(facts(talk).facts()[first])
        #expect(app.name == "Relay Test")
        #expect(app.appID == "relay-test")
        #expect(app.isRegistered)
        #expect(app.hmiLevel == .full)
        #expect(app.audioStreamingState == "AUDIBLE")
        #expect(app.systemContext == "MAIN")
        #expect(app.protocolVersion == "5.4.0")
        #expect(app.rpcVersion == SDLVersion(7, 1, 0))
        #expect(app.lastFailure == nil)
    }

    @Test(
        "who waits for the screen is woken by what is decoded, and not before",
        .timeLimit(.minutes(1)))
    func waiting() async {
        let facts = SessionFacts()
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        facts.consume(talk.entries)
        let (looks, looked) = AsyncStream.makeStream(of: Bool.self)
        let waiting = Task {
            let waiter = Waiter()
            let isThere = {
                let isThere = facts.facts(of: AppID(rawValue: 1))?.isInNone == false
                looked.yield(isThere)
                return isThere
            }
            while facts.facts(of: AppID(rawValue: 1))?.isInNone != false {
                await facts.wait(waiter, unless: isThere)
            }
        }
        var iterator = looks.makeAsyncIterator()
        #expect(await iterator.next() == false)
        let known = talk.entries.count
        talk.notification(.onHMIStatus, #"{"hmiLevel":"FULL"}"#)
        facts.consume(Array(talk.entries.dropFirst(known)))
        await waiting.value
        #expect(facts.facts(of: first)?.hmiLevel == .full)
    }

    @Test("the head unit is known from ACK and registration, until the link closes")
    func headUnit() {
        var talk = Dialogue()
        talk.opens()
        #expect(facts(talk).headUnit().make == "Bench")
        talk.registers()
        let headUnit = facts(talk).headUnit()
        #expect(headUnit.make == "Ford")
        #expect(headUnit.model == "Focus")
        #expect(headUnit.modelYear == "2019")
        #expect(headUnit.trim == "SE")
        #expect(headUnit.sdlVersion == "8.2.0")
        #expect(headUnit.protocolVersion == "5.4.0")
        talk.receive(.linkClosed(reason: "cut", time: talk.time))
        #expect(facts(talk).headUnit() == HeadUnitFacts())
        #expect(facts(talk).facts()[first]?.sessions == [])
        #expect(facts(talk).facts()[first]?.isRegistered == false)
    }

    @Test("what is known of a head unit is told of no other link")
    func otherLink() {
        var talk = Dialogue()
        talk.opens()
        #expect(facts(talk).headUnit(onLink: 1).make == "Bench")
        // The next link is open, but that has not been decoded yet.
        #expect(facts(talk).headUnit(onLink: 2) == HeadUnitFacts())
        #expect(facts(talk).headUnit(onLink: nil) == HeadUnitFacts())
    }

    @Test(
        "a StartServiceACK that came and was amended is shown twice, and what counts is the second")
    func amended() {
        var talk = Dialogue()
        if let app = talk.app {
            talk.receive(.appConnected(app, peer: "127.0.0.1:5000", time: talk.time))
        }
        talk.control(.fromApp, .startService, session: 0)
        let came: BSONDocument = ["mtu": .int64(1024), "make": .string("as it came")]
        let went: BSONDocument = ["mtu": .int64(2048)]
        talk.control(.fromAccessory, .startServiceACK, payload: came.bytes, fate: .replaced)
        talk.control(.fromAccessory, .startServiceACK, payload: went.bytes, fate: .amended)
        #expect(talk.entries.map(\.fate).suffix(2) == [.replaced, .amended])
        let facts = self.facts(talk)
        #expect(facts.facts()[first]?.sessions == [1])
        #expect(facts.facts()[first]?.services.map(\.mtu) == [2048])
        #expect(facts.headUnit().make == nil)
    }

    @Test("the latest failure is kept as a sentence")
    func failure() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.request(.addCommand, 12)
        talk.milliseconds = 4
        talk.response(
            .addCommand, 12, #"{"success":false,"resultCode":"DISALLOWED","info":"no\u001b"}"#)
        let app = facts(talk).facts()[first]
        #expect(app?.lastFailure == "AddCommand #12: DISALLOWED (no)")
    }

    @Test("a refused registration is no registration")
    func refused() {
        var talk = Dialogue()
        talk.opens()
        talk.request(.registerAppInterface, 1, #"{"appName":"Bench","appID":"1"}"#)
        talk.response(
            .registerAppInterface, 1, #"{"success":false,"resultCode":"DUPLICATE_NAME"}"#)
        let app = facts(talk).facts()[first]
        #expect(app?.isRegistered == false)
        #expect(app?.lastFailure == "RegisterAppInterface #1: DUPLICATE_NAME")
    }

    @Test("an app that registers again is called otherwise when the head unit accepts it")
    func registersTwice() {
        let ok = #"{"success":true,"resultCode":"SUCCESS"}"#
        let refusal = #"{"success":false,"resultCode":"APPLICATION_REGISTERED_ALREADY"}"#
        for (answer, name) in [(refusal, "Relay Test"), (ok, "Other")] {
            var talk = Dialogue()
            talk.opens()
            talk.registers()
            talk.request(.registerAppInterface, 2, #"{"appName":"Other","appID":"o-1"}"#)
            talk.response(.registerAppInterface, 2, answer)
            let app = facts(talk).facts()[first]
            #expect(app?.name == name && app?.isRegistered == true)
            #expect(app?.appID == (name == "Other" ? "o-1" : "relay-test"))
        }
    }

    @Test("unregistering by either side ends the registration, EndServiceACK the session")
    func unregisters() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.notification(.onAppInterfaceUnregistered, #"{"reason":"IGNITION_OFF"}"#)
        var app = facts(talk).facts()[first]
        #expect(app?.isRegistered == false)
        #expect(app?.lastFailure == "unregistered by the head unit: IGNITION_OFF")
        #expect(talk.lastLine?.contains("OnAppInterfaceUnregistered!  IGNITION_OFF") == true)
        talk.registers()
        talk.request(.unregisterAppInterface, 5)
        talk.response(.unregisterAppInterface, 5, #"{"success":true,"resultCode":"SUCCESS"}"#)
        talk.control(.fromAccessory, .endServiceACK)
        app = facts(talk).facts()[first]
        #expect(app?.isRegistered == false)
        #expect(app?.sessions == [])
        #expect(app?.name == "Relay Test")
    }

    @Test("an app that left is forgotten, and its goodbye does not bring it back")
    func forgets() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.receive(.appClosed(first, reason: "reset", time: talk.time))
        talk.rpc(.fromApp, .request, .unregisterAppInterface, 99, fate: .byRelay)
        talk.control(.fromAccessory, .startServiceACK)
        #expect(facts(talk).facts().isEmpty)
    }

    @Test("the recorded session's app reached FULL and left")
    func recordedSession() throws {
        var entries = try Capture.entries("js-full-1")
        entries.removeLast(6)  // from the unregistration on
        let facts = SessionFacts()
        facts.consume(entries)
        let app = try #require(facts.facts()[first])
        #expect(app.name == "Relay Test")
        #expect(app.hmiLevel == .full)
        #expect(app.isRegistered)
        #expect(facts.headUnit().make == "SDL")
        #expect(facts.headUnit().softwareVersion == "fake-hmi-1")
    }
}
