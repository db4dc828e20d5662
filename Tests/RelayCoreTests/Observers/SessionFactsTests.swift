import NIOCore
import RelayCore
import SDLProtocol
import Testing

@Suite struct SessionFactsTests {
    private let first = AppID(rawValue: 1)

    private func facts(_ talk: Dialogue) async -> SessionFacts {
        let facts = SessionFacts()
        await facts.consume(talk.entries)
        return facts
    }

    @Test("a registered app is known by name, versions, session and HMI level")
    func registered() async throws {
        var talk = Dialogue()
        talk.opens()
        #expect(await facts(talk).facts()[first]?.sessions == [1])
        #expect(await facts(talk).facts()[first]?.isRegistered == false)
        talk.registers()
        talk.notification(
            .onHMIStatus,
            #"{"hmiLevel":"FULL","audioStreamingState":"AUDIBLE","systemContext":"MAIN"}"#)
        talk.notification(.onHMIStatus, #"{"hmiLevel":"NONE","windowID":3}"#)
        let app = try #require(await facts(talk).facts()[first])
        #expect(app.name == "Relay Test")
        #expect(app.appID == "relay-test")
        #expect(app.isRegistered)
        #expect(app.hmiLevel == .full)
        #expect(app.audioStreamingState == "AUDIBLE")
        #expect(app.systemContext == "MAIN")
        #expect(app.protocolVersion == "5.4.0")
        #expect(app.rpcVersion == RPCVersion(major: 7, minor: 1, patch: 0))
        #expect(app.lastFailure == nil)
    }

    @Test("the head unit is known from ACK and registration, until the link closes")
    func headUnit() async {
        var talk = Dialogue()
        talk.opens()
        #expect(await facts(talk).headUnit().make == "Bench")
        talk.registers()
        let headUnit = await facts(talk).headUnit()
        #expect(headUnit.make == "Ford")
        #expect(headUnit.model == "Focus")
        #expect(headUnit.modelYear == "2019")
        #expect(headUnit.trim == "SE")
        #expect(headUnit.sdlVersion == "8.2.0")
        #expect(headUnit.protocolVersion == "5.4.0")
        talk.receive(.linkClosed(reason: "cut", time: talk.time))
        #expect(await facts(talk).headUnit() == HeadUnitFacts())
        #expect(await facts(talk).facts()[first]?.sessions == [])
        #expect(await facts(talk).facts()[first]?.isRegistered == false)
    }

    @Test("the latest failure is kept as a sentence")
    func failure() async {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.request(.addCommand, 12)
        talk.milliseconds = 4
        talk.response(
            .addCommand, 12, #"{"success":false,"resultCode":"DISALLOWED","info":"no\u001b"}"#)
        let app = await facts(talk).facts()[first]
        #expect(app?.lastFailure == "AddCommand #12: DISALLOWED (no)")
        #expect(app?.lastFailureTime == talk.time)
    }

    @Test("a refused registration is no registration")
    func refused() async {
        var talk = Dialogue()
        talk.opens()
        talk.request(.registerAppInterface, 1, #"{"appName":"Bench","appID":"1"}"#)
        talk.response(
            .registerAppInterface, 1, #"{"success":false,"resultCode":"DUPLICATE_NAME"}"#)
        let app = await facts(talk).facts()[first]
        #expect(app?.isRegistered == false)
        #expect(app?.lastFailure == "RegisterAppInterface #1: DUPLICATE_NAME")
    }

    @Test("unregistering by either side ends the registration, EndServiceACK the session")
    func unregisters() async {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.notification(.onAppInterfaceUnregistered, #"{"reason":"IGNITION_OFF"}"#)
        var app = await facts(talk).facts()[first]
        #expect(app?.isRegistered == false)
        #expect(app?.lastFailure == "unregistered by the head unit: IGNITION_OFF")
        #expect(talk.lastLine?.contains("OnAppInterfaceUnregistered!  IGNITION_OFF") == true)
        talk.registers()
        talk.request(.unregisterAppInterface, 5)
        talk.response(.unregisterAppInterface, 5, #"{"success":true,"resultCode":"SUCCESS"}"#)
        talk.control(.fromAccessory, .endServiceACK)
        app = await facts(talk).facts()[first]
        #expect(app?.isRegistered == false)
        #expect(app?.sessions == [])
        #expect(app?.name == "Relay Test")
    }

    @Test("an app that left is forgotten, and its goodbye does not bring it back")
    func forgets() async {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.receive(.appClosed(first, reason: "reset", time: talk.time))
        talk.rpc(.fromApp, .request, .unregisterAppInterface, 99, fate: .byRelay)
        talk.control(.fromAccessory, .startServiceACK)
        #expect(await facts(talk).facts().isEmpty)
    }

    @Test("the recorded session's app reached FULL and left")
    func recordedSession() async throws {
        var entries = try Capture.entries("js-full-1")
        entries.removeLast(6)  // from the unregistration on
        let facts = SessionFacts()
        await facts.consume(entries)
        let app = try #require(facts.facts()[first])
        #expect(app.name == "Relay Test")
        #expect(app.hmiLevel == .full)
        #expect(app.isRegistered)
        #expect(facts.headUnit().make == "SDL")
        #expect(facts.headUnit().softwareVersion == "fake-hmi-1")
    }
}
