import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

// Mistakes in an RPC are found, named and judged by the sender; correct RPCs raise no alarm.

@Suite struct RPCValidatorTests {
    private let validator = RPCValidator.builtIn

    private func message(
        _ function: FunctionID, _ type: RPCType, _ json: String
    ) throws -> RPCMessage {
        let frame = Frame.rpc(
            version: 5, sessionID: 1, messageID: 1, type: type, functionID: function.rawValue,
            correlationID: 1, json: json)
        return try RPCMessage(Message(single: frame))
    }

    private func problems(
        _ function: FunctionID, _ type: RPCType, _ json: String,
        from sender: RPCSender = .app, _ version: SDLVersion? = nil
    ) throws -> [ValidationProblem] {
        try validator.problems(
            in: message(function, type, json), from: sender, negotiated: version)
    }

    // MARK: One bad message per rule

    @Test("each rule finds the message that breaks it", arguments: badMessages)
    func findsProblem(bad: BadMessage) throws {
        let found = try problems(bad.function, bad.type, bad.json, from: bad.sender, bad.version)
        #expect(found.map(\.description) == [bad.text])
        #expect(found.map(\.rule) == [bad.rule])
        #expect(found.map(\.severity) == [bad.severity])
    }

    @Test("the table has a message for every rule and sender")
    func tableIsComplete() {
        // If its parameters are not an object, a message is not an RPC at all: see below.
        let all = Set(ValidationRule.allCases).subtracting([.notAnObject])
        func rules(_ sender: RPCSender) -> Set<ValidationRule> {
            Set(Self.badMessages.filter { $0.sender == sender }.map(\.rule))
        }
        // The elements removed by 8.0 are words in head units' answers.
        #expect(rules(.app) == all.subtracting([.removed]))
        // Head units may still send old parameters: see below.
        #expect(rules(.accessory) == all.subtracting([.deprecated]))
    }

    @Test("parameters that are not a JSON object are a problem of their own")
    func notAnObject() throws {
        for (json, text) in [
            ("[1,2]", "parameters are an array, expected a JSON object"),
            (
                #"{"a":1"#,
                "parameters are text that ends too soon, after 6 bytes, expected a JSON object"
            ),
            (
                "{a}",
                "parameters are text with unexpected byte 0x61 at byte 1, expected a JSON object"
            ),
        ] {
            let error = #expect(throws: RPCError.self) { try message(.show, .request, json) }
            let problem = try #require(error.flatMap(ValidationProblem.init))
            #expect(problem.rule == .notAnObject)
            #expect(problem.description == text)
        }
        #expect(ValidationProblem(RPCError.tooShort(bytes: 3)) == nil)
        // v1: the same inside of the wrapper.
        let v1 = Frame.rpcV1(
            sessionID: 1, type: .request, name: "Show", correlationID: 1, parameters: "[]")
        #expect(throws: RPCError.self) { try RPCMessage(Message(single: v1)) }
    }

    // MARK: No false alarms

    @Test("a failed response need only say that it failed")
    func failedResponse() throws {
        let json = #"{"success":false,"resultCode":"DISALLOWED"}"#
        for function in RPCCatalogue.builtIn.functions where function.type == .response {
            #expect(try problems(function.id, .response, json, from: .accessory).isEmpty)
        }
        // A successful response has to contain what was asked for; a failed one need not.
        let old = SDLVersion(4, 5, 0)
        let success = #"{"success":true,"resultCode":"SUCCESS"}"#
        let missing = try problems(.listFiles, .response, success, from: .accessory, old)
        #expect(missing.map(\.path) == ["spaceAvailable"])
        #expect(try problems(.listFiles, .response, json, from: .accessory, old).isEmpty)
    }

    @Test("a parameter is judged by its definition in the negotiated version")
    func earlierDefinitions() throws {
        let json = #"{"interactionChoiceSetID":1,"choiceSet":[{"choiceID":1,"menuName":"a"}]}"#
        let old = SDLVersion(4, 5, 0)
        let inOld = try problems(.createInteractionChoiceSet, .request, json, old)
        #expect(inOld.map(\.path) == ["choiceSet[0].vrCommands"])
        #expect(inOld.map(\.rule) == [.missingMandatory])
        #expect(try problems(.createInteractionChoiceSet, .request, json, Self.v5).isEmpty)
        #expect(try problems(.createInteractionChoiceSet, .request, json).isEmpty)
        let position = #"{"gps":{"longitudeDegrees":1,"latitudeDegrees":1,"pdop":11}}"#
        let inOldPosition = try problems(
            .onVehicleData, .notification, position, from: .accessory, old)
        #expect(inOldPosition.contains { $0.path == "gps.pdop" && $0.rule == .outOfRange })
        #expect(
            try problems(.onVehicleData, .notification, position, from: .accessory, Self.v5).isEmpty
        )
    }

    @Test("a version between two definitions takes one of them, and nothing is called missing")
    func gapBetweenDefinitions() throws {
        // DateTime's members are defined until 4.2.1 and again from 4.2.2.
        let version = SDLVersion(4, 2, 1)
        let json = """
            {"longitudeDegrees":1,"latitudeDegrees":1,"locationName":"a","timeStamp":{"hour":24}}
            """
        let found = try problems(.sendLocation, .request, json, version)
        #expect(found.contains { $0.path == "timeStamp.hour" && $0.rule == .outOfRange })
        #expect(!found.contains { $0.rule == .newerThanNegotiated || $0.rule == .removed })
    }

    @Test("head units may carry old parameters along, apps hear about it")
    func deprecatedFromHeadUnit() throws {
        let json = #"{"fuelLevel":12.5,"bodyInformation":{}}"#
        let found = try problems(.onVehicleData, .notification, json, from: .accessory, Self.v8)
        #expect(!found.contains { $0.rule == .deprecated })
    }

    @Test("names and values may be written with escapes")
    func escapes() throws {
        #expect(try problems(.show, .request, #"{"main\u0046ield1":"x"}"#).isEmpty)
        #expect(
            try problems(.subscribeButton, .request, #"{"buttonName":"SEEK\u004cEFT"}"#).isEmpty)
        // A surrogate pair is one character: 500 of them fit.
        let name = String(repeating: #"\ud83d\ude97"#, count: 500)
        #expect(try problems(.deleteFile, .request, #"{"syncFileName":"\#(name)"}"#).isEmpty)
    }

    @Test("empty texts are fine where the specification allows them")
    func emptyTexts() throws {
        #expect(try problems(.show, .request, #"{"mainField1":"","statusBar":""}"#).isEmpty)
    }

    @Test("a message too long to be kept is not judged")
    func truncated() throws {
        var truncated = try message(.deleteFile, .request, "{}")
        truncated.isTruncated = true
        #expect(validator.problems(in: truncated, from: .app).isEmpty)
    }

    @Test("what peers sent is shown short and printable, and not too often")
    func hostileTexts() throws {
        let key = String(repeating: "k", count: 500) + #"\u001b[31m"#
        let json = "{" + (0..<100).map { "\"\($0)\(key)\":1" }.joined(separator: ",") + "}"
        let found = try problems(.show, .request, json)
        #expect(found.count == RPCValidator.maximumProblems)
        for problem in found {
            #expect(problem.description.utf8.count < 200)
            #expect(problem.description.unicodeScalars.allSatisfy(PrintableText.isPrintable))
        }
    }

    @Test("an endless row of the same mistake is counted, up to a point")
    func repeats() throws {
        let elements = Array(repeating: "7", count: 60_000).joined(separator: ",")
        let found = try problems(.speak, .request, "{\"ttsChunks\":[\(elements)]}")
        #expect(found.count == 1)
        #expect(found.first?.path == "ttsChunks[0]")
        #expect(found.first?.repeats == 199)
    }

    @Test("a user's specification counts instead of the built-in one")
    func ownSpecification() throws {
        let xml = """
            <interface version="1.0"><enum name="FunctionID"><element name="A" value="70000"/></enum>
            <function name="Ping" functionID="A" messagetype="request">
            <param name="target" type="String" maxlength="3"/></function></interface>
            """
        let own = RPCValidator(try RPCCatalogue(xml: Array(xml.utf8)))
        let ping = FunctionID(rawValue: 70000)
        let long = try message(ping, .request, #"{"target":"abcd"}"#)
        #expect(own.problems(in: long, from: .app).map(\.rule) == [.tooLong])
        let show = try message(.show, .request, "{}")
        #expect(own.problems(in: show, from: .app).map(\.rule) == [.unknownFunction])
    }
}
