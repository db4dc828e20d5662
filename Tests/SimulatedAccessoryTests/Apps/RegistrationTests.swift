import NIOCore
import SDLProtocol
import SimulatedAccessory
import Testing

@Suite struct RegistrationTests {
    @Test("a new app is told everything, in sdl_core's order, and is activated after a while")
    func registers() throws {
        var link = try PaperLink()
        let answers = try link.registers("Music", appID: "42")
        #expect(
            answers.map(\.function) == [
                .registerAppInterface, .onHMIStatus, .onSystemCapabilityUpdated,
                .onPermissionsChange, .onDriverDistraction,
            ])
        let response = try #require(answers.first)
        #expect(response.correlationID == 7 && response.result == "SUCCESS")
        for key in ["syncMsgVersion", "displayCapabilities", "hmiCapabilities", "vehicleType"] {
            #expect(response.parameters.object(key) != nil, "\(key)")
        }
        for key in ["language", "hmiDisplayLanguage", "sdlVersion", "systemSoftwareVersion"] {
            #expect(response.parameters.string(key) != nil, "\(key)")
        }
        #expect(answers[1].parameters.string("hmiLevel") == "NONE")
        #expect(link.accessory.app(inSession: 1)?.hmiLevel == HMILevel.none)

        #expect(link.accessory.nextDeadline == link.now + .milliseconds(100))
        #expect(link.passes(.milliseconds(99)).isEmpty)
        let status = try #require(heard(link.passes(.milliseconds(1))).first)
        #expect(status.function == .onHMIStatus)
        #expect(status.parameters.string("hmiLevel") == "FULL")
        #expect(link.accessory.nextDeadline == nil, "nothing to wake up for")
    }

    private func heard(_ frames: [Frame]) -> [Answer] { answers(frames) }

    @Test(
        "apps below RPC 5 get 4.5.1, others the lower version", arguments: [(4, 4), (6, 6), (9, 8)])
    func rpcVersion(asked: Int, given: Int) throws {
        var link = try PaperLink()
        let response = try #require(try link.registers("A", appID: "1", version: asked).first)
        let version = try #require(response.parameters.object("syncMsgVersion"))
        #expect(version.integer("majorVersion") == given)
        if given == 4 { #expect(version.integer("minorVersion") == 5) }
    }

    @Test("of two apps with the same ID or name the second is refused")
    func duplicates() throws {
        var link = try PaperLink()
        _ = try link.registers("Music", appID: "42")
        #expect(
            try link.registers("Other", appID: "42").map(\.result)
                == ["APPLICATION_REGISTERED_ALREADY"])
        #expect(try link.registers("MUSIC", appID: "43").map(\.result) == ["DUPLICATE_NAME"])
        #expect(
            link.requests(.registerAppInterface, registration("New", appID: "44")).map(\.result)
                == ["APPLICATION_REGISTERED_ALREADY"], "one app per session")
        _ = link.requests(.unregisterAppInterface)
        #expect(
            link.requests(.registerAppInterface, registration("Music", appID: "42"), session: 2)
                .first?.result == "SUCCESS")
    }

    @Test("a name of one app must not be what another is called by voice")
    func voiceNames() throws {
        var link = try PaperLink()
        _ = try link.registers("Music", appID: "1", more: #","vrSynonyms":["Songs","Tunes"]"#)
        #expect(try link.registers("tunes", appID: "2").map(\.result) == ["DUPLICATE_NAME"])
        let other = try link.registers("News", appID: "3", more: #","vrSynonyms":["MUSIC"]"#)
        #expect(other.map(\.result) == ["DUPLICATE_NAME"])
    }

    @Test("the app on the screen goes to BACKGROUND when another is activated")
    func oneAppIsFull() throws {
        var link = try PaperLink()
        _ = try link.registers("First", appID: "1")
        _ = link.passes(.seconds(1))
        _ = try link.registers("Second", appID: "2")
        let status = answers(link.passes(.seconds(1)))
        #expect(status.map(\.session) == [2, 1])
        #expect(
            status.map { $0.parameters.string("hmiLevel") } == ["FULL", "BACKGROUND"])
        let back = answers(link.accessory.activate(session: 1, at: link.now))
        #expect(back.map(\.session) == [1, 2])
    }

    @Test("activation can be switched off")
    func activationOff() throws {
        var link = try PaperLink(["activate": "off"])
        _ = try link.registers("A", appID: "1")
        #expect(link.accessory.nextDeadline == nil)
    }

    @Test("before registration and after, requests are refused, unknown functions always")
    func notRegistered() throws {
        var link = try PaperLink()
        _ = try link.opensSession()
        #expect(link.requests(.show).map(\.result) == ["APPLICATION_NOT_REGISTERED"])
        let number = FunctionID(rawValue: 0x777)
        let unknown = try #require(link.requests(number).first)
        #expect(unknown.function == number && unknown.result == "UNSUPPORTED_REQUEST")
        #expect(unknown.correlationID == 7)
        _ = link.requests(.registerAppInterface, registration("A", appID: "1"))
        #expect(link.requests(.listFiles).map(\.result) == ["SUCCESS"])
        #expect(link.requests(.unregisterAppInterface).map(\.result) == ["SUCCESS"])
        #expect(link.requests(.listFiles).map(\.result) == ["APPLICATION_NOT_REGISTERED"])
        #expect(link.accessory.nextDeadline == nil)
    }

    @Test(
        "registrations that lack something, or have too much of it, are INVALID_DATA",
        arguments: [
            "{}", "{", "", "[]", #"{"appName":"A","appID":"1"}"#,
            registration(String(repeating: "n", count: 101), appID: "1"),
            registration("A", appID: String(repeating: "1", count: 101)),
        ])
    func invalid(json: String) throws {
        var link = try PaperLink()
        _ = try link.opensSession()
        #expect(link.requests(.registerAppInterface, json).map(\.result) == ["INVALID_DATA"])
    }

    @Test("a v1 session speaks the JSON wrapper both ways, in frames of at most 1011 bytes")
    func v1() throws {
        var link = try PaperLink(["protocol": "1"])
        _ = try link.says(hex: Hex.startServiceV1)
        #expect(
            answers(try link.says(hex: Hex.unregisterV1)).map(\.result)
                == ["APPLICATION_NOT_REGISTERED"])
        let frames = link.says(
            .rpcV1(
                sessionID: 1, type: .request, name: "RegisterAppInterface", correlationID: 3,
                parameters: registration("Old", appID: "1", version: 2)))
        #expect(frames.allSatisfy { $0.version == 1 && $0.payloadBytes <= 1011 })
        let heard = answers(frames)
        #expect(heard.first?.result == "SUCCESS")
        #expect(heard.first?.correlationID == 3)
        #expect(heard.last?.function == .onDriverDistraction)
        let unknown = link.says(
            .rpcV1(sessionID: 1, type: .request, name: "Dance", correlationID: 4))
        #expect(answers(unknown).map(\.function) == [.genericResponse])
    }
}
