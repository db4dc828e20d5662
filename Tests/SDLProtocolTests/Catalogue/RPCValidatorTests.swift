import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

// What is wrong with an RPC is found, called by its name and judged by who sent it; what is right
// raises no alarm.

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
        from sender: RPCSender = .app, _ version: RPCVersion? = nil
    ) throws -> [ValidationProblem] {
        try validator.problems(
            in: message(function, type, json), from: sender, negotiated: version)
    }

    // MARK: One bad message per rule

    struct BadMessage: Sendable, CustomTestStringConvertible {
        var rule: ValidationRule
        var function: FunctionID
        var type: RPCType
        var json: String
        var sender: RPCSender
        var severity: ValidationSeverity
        var text: String
        var version: RPCVersion? = nil
        var testDescription: String { "\(sender) \(rule): \(text)" }
    }

    private static let v5 = RPCVersion(major: 5, minor: 0, patch: 0)
    private static let v8 = RPCVersion(major: 8, minor: 0, patch: 0)

    static let badMessages: [BadMessage] = [
        // From the app.
        BadMessage(
            rule: .missingMandatory, function: .deleteFile, type: .request, json: "{}",
            sender: .app, severity: .error, text: "mandatory parameter syncFileName is missing"),
        BadMessage(
            rule: .missingMandatory, function: .createInteractionChoiceSet, type: .request,
            json: """
                {"interactionChoiceSetID":1,"choiceSet":[{"choiceID":1,"menuName":"a"},
                {"choiceID":2,"menuName":"b"},{"choiceID":3}]}
                """,
            sender: .app, severity: .error,
            text: "mandatory parameter choiceSet[2].menuName is missing"),
        BadMessage(
            rule: .unknownParameter, function: .show, type: .request,
            json: #"{"mainFeld1":"Hello"}"#, sender: .app, severity: .error,
            text: "unknown parameter mainFeld1, did you mean mainField1?"),
        BadMessage(
            rule: .unknownParameter, function: .show, type: .request, json: #"{"zoo":1}"#,
            sender: .app, severity: .warning, text: "unknown parameter zoo"),
        BadMessage(
            rule: .unknownParameter, function: .getVehicleData, type: .request,
            json: #"{"makersOwnCounter":true}"#, sender: .app, severity: .note,
            text: "unknown parameter makersOwnCounter"),
        BadMessage(
            rule: .wrongType, function: .deleteCommand, type: .request,
            json: #"{"cmdID":"12"}"#, sender: .app, severity: .error,
            text: "cmdID is \"12\", expected an Integer from 0 to 2000000000"),
        BadMessage(
            rule: .wrongType, function: .deleteCommand, type: .request, json: #"{"cmdID":12.0}"#,
            sender: .app, severity: .error,
            text: "cmdID is 12.0, expected an Integer from 0 to 2000000000"),
        BadMessage(
            rule: .wrongType, function: .show, type: .request, json: #"{"graphic":"icon.png"}"#,
            sender: .app, severity: .error,
            text: "graphic is \"icon.png\", expected an Image object"),
        BadMessage(
            rule: .wrongType, function: .show, type: .request,
            json: #"{"customPresets":["a",7]}"#, sender: .app, severity: .error,
            text: "customPresets[1] is 7, expected a string"),
        BadMessage(
            rule: .wrongType, function: .show, type: .request, json: #"{"customPresets":"a"}"#,
            sender: .app, severity: .error,
            text: "customPresets is \"a\", expected an array"),
        BadMessage(
            rule: .outOfRange, function: .deleteCommand, type: .request,
            json: #"{"cmdID":2000000001}"#, sender: .app, severity: .error,
            text: "cmdID is 2000000001, expected an Integer from 0 to 2000000000"),
        BadMessage(
            rule: .outOfRange, function: .deleteCommand, type: .request,
            json: #"{"cmdID":99999999999999999999999}"#, sender: .app, severity: .error,
            text: "cmdID is 99999999999999999999999, expected an Integer from 0 to 2000000000"),
        BadMessage(
            rule: .tooLong, function: .deleteFile, type: .request,
            json: #"{"syncFileName":"\#(String(repeating: "é", count: 501))"}"#, sender: .app,
            severity: .error,
            text: "syncFileName has 501 characters, expected at most 500 characters"),
        BadMessage(
            rule: .tooShort, function: .deleteFile, type: .request, json: #"{"syncFileName":""}"#,
            sender: .app, severity: .error,
            text: "syncFileName has 0 characters, expected at least 1 character"),
        BadMessage(
            rule: .tooManyElements, function: .show, type: .request,
            json: #"{"customPresets":["1","2","3","4","5","6","7","8","9","10","11"]}"#,
            sender: .app, severity: .error,
            text: "customPresets has 11 elements, expected at most 10 elements"),
        BadMessage(
            rule: .tooFewElements, function: .speak, type: .request, json: #"{"ttsChunks":[]}"#,
            sender: .app, severity: .error,
            text: "ttsChunks has 0 elements, expected at least 1 element"),
        BadMessage(
            rule: .unknownValue, function: .subscribeButton, type: .request,
            json: #"{"buttonName":"SEEKLEFFT"}"#, sender: .app, severity: .error,
            text: "unknown value \"SEEKLEFFT\" of buttonName, did you mean SEEKLEFT?"),
        BadMessage(
            rule: .unknownValue, function: .show, type: .request,
            json: #"{"graphic":{"value":"a","imageType":"CIRCULAR"}}"#, sender: .app,
            severity: .error,
            text: "unknown value \"CIRCULAR\" of graphic.imageType, expected one of STATIC, DYNAMIC"
        ),
        BadMessage(
            rule: .newerThanNegotiated, function: .show, type: .request,
            json: #"{"templateTitle":"Home"}"#, sender: .app, severity: .warning,
            text: "templateTitle needs RPC 6.0, this session speaks RPC 5.0", version: v5),
        BadMessage(
            rule: .newerThanNegotiated, function: .subtleAlert, type: .request, json: "{}",
            sender: .app, severity: .error,
            text: "SubtleAlert needs RPC 7.0, this session speaks RPC 5.0", version: v5),
        BadMessage(
            rule: .newerThanNegotiated, function: .speak, type: .request,
            json: #"{"ttsChunks":[{"text":"a.mp3","type":"FILE"}]}"#, sender: .app,
            severity: .warning,
            text: "value FILE of ttsChunks[0].type needs RPC 5.0, this session speaks RPC 4.5",
            version: RPCVersion(major: 4, minor: 5, patch: 0)),
        BadMessage(
            rule: .deprecated, function: .show, type: .request,
            json: #"{"mediaClock":"12:13"}"#, sender: .app, severity: .note,
            text: "mediaClock is deprecated since RPC 7.1"),
        BadMessage(
            rule: .deprecated, function: .setDisplayLayout, type: .request,
            json: #"{"displayLayout":"MEDIA"}"#, sender: .app, severity: .note,
            text: "SetDisplayLayout is deprecated since RPC 6.0"),
        BadMessage(
            rule: .unknownFunction, function: FunctionID(rawValue: 0x7777), type: .request,
            json: "{}", sender: .app, severity: .error,
            text: "function 0x7777 is no request of RPC specification 8.0.0"),
        BadMessage(
            rule: .unknownFunction, function: .onHMIStatus, type: .request, json: "{}",
            sender: .app, severity: .error,
            text: "OnHMIStatus is no request of RPC specification 8.0.0"),
        BadMessage(
            rule: .contradiction, function: .getAppServiceData, type: .response,
            json: #"{"success":false,"resultCode":"SUCCESS"}"#, sender: .app, severity: .warning,
            text: "resultCode is SUCCESS, expected a failure as success is false"),
        BadMessage(
            rule: .wrongType, function: .show, type: .request,
            json:
                #"{"softButtons":[{"softButtonID":1,"type":"TEXT","text":7},{"softButtonID":2,"type":"TEXT","text":7}]}"#,
            sender: .app, severity: .error,
            text: "softButtons[0].text is 7, expected a string (and in one more element)"),
        // From the head unit.
        BadMessage(
            rule: .missingMandatory, function: .onVehicleData, type: .notification,
            json: #"{"gps":{"latitudeDegrees":1}}"#, sender: .accessory, severity: .warning,
            text: "mandatory parameter gps.longitudeDegrees is missing"),
        BadMessage(
            rule: .missingMandatory, function: .onHMIStatus, type: .notification,
            json: #"{"hmiLevel":"FULL","audioStreamingState":"AUDIBLE"}"#, sender: .accessory,
            severity: .error, text: "mandatory parameter systemContext is missing"),
        BadMessage(
            rule: .missingMandatory, function: .alert, type: .response,
            json: #"{"resultCode":"REJECTED"}"#, sender: .accessory, severity: .error,
            text: "mandatory parameter success is missing"),
        BadMessage(
            rule: .unknownParameter, function: .onHMIStatus, type: .notification,
            json: """
                {"hmiLevel":"FULL","audioStreamingState":"AUDIBLE","systemContext":"MAIN","hmiLevl":1}
                """,
            sender: .accessory, severity: .note,
            text: "unknown parameter hmiLevl, did you mean hmiLevel?"),
        BadMessage(
            rule: .wrongType, function: .onVehicleData, type: .notification,
            json: #"{"gps":[]}"#, sender: .accessory, severity: .error,
            text: "gps is an array, expected a GPSData object"),
        BadMessage(
            rule: .wrongType, function: .onVehicleData, type: .notification,
            json: #"{"rpm":1000.0}"#, sender: .accessory, severity: .note,
            text: "rpm is 1000.0, expected an Integer from 0 to 20000"),
        BadMessage(
            rule: .wrongType, function: .onVehicleData, type: .notification, json: #"{"rpm":null}"#,
            sender: .accessory, severity: .note,
            text: "rpm is null, expected an Integer from 0 to 20000"),
        BadMessage(
            rule: .outOfRange, function: .onVehicleData, type: .notification,
            json: #"{"gps":{"longitudeDegrees":-200.5,"latitudeDegrees":1}}"#, sender: .accessory,
            severity: .warning,
            text: "gps.longitudeDegrees is -200.5, expected a number from -180 to 180"),
        BadMessage(
            rule: .tooLong, function: .alert, type: .response,
            json: """
                {"success":true,"resultCode":"SUCCESS","info":"\(String(repeating: "x", count: 1001))"}
                """,
            sender: .accessory, severity: .warning,
            text: "info has 1001 characters, expected at most 1000 characters"),
        BadMessage(
            rule: .tooShort, function: .alert, type: .response,
            json: #"{"success":true,"resultCode":"SUCCESS","info":""}"#, sender: .accessory,
            severity: .note, text: "info has 0 characters, expected at least 1 character"),
        BadMessage(
            rule: .tooManyElements, function: .listFiles, type: .response,
            json: """
                {"success":true,"resultCode":"SUCCESS","filenames":[\
                \(Array(repeating: #""f""#, count: 1001).joined(separator: ","))]}
                """,
            sender: .accessory, severity: .warning,
            text: "filenames has 1001 elements, expected at most 1000 elements"),
        BadMessage(
            rule: .removed, function: .subscribeVehicleData, type: .response,
            json: """
                {"success":true,"resultCode":"SUCCESS","speed":{"dataType":"VEHICLEDATA_PRNDL",
                "resultCode":"SUCCESS"}}
                """,
            sender: .accessory, severity: .note,
            text: """
                value VEHICLEDATA_PRNDL of speed.dataType was removed with RPC 7.0, this session speaks RPC 8.0
                """,
            version: v8),
        BadMessage(
            rule: .unknownValue, function: .onHMIStatus, type: .notification,
            json: #"{"hmiLevel":"FUL","audioStreamingState":"AUDIBLE","systemContext":"MAIN"}"#,
            sender: .accessory, severity: .warning,
            text: "unknown value \"FUL\" of hmiLevel, did you mean FULL?"),
        BadMessage(
            rule: .newerThanNegotiated, function: .onHMIStatus, type: .notification,
            json: """
                {"hmiLevel":"FULL","audioStreamingState":"AUDIBLE","systemContext":"MAIN","windowID":0}
                """,
            sender: .accessory, severity: .note,
            text: "windowID needs RPC 6.0, this session speaks RPC 5.0", version: v5),
        BadMessage(
            rule: .unknownFunction, function: FunctionID(rawValue: 0x7777), type: .notification,
            json: "{}", sender: .accessory, severity: .warning,
            text: "function 0x7777 is no notification of RPC specification 8.0.0"),
        BadMessage(
            rule: .contradiction, function: .alert, type: .response,
            json: #"{"success":true,"resultCode":"REJECTED"}"#, sender: .accessory,
            severity: .warning,
            text: "resultCode is REJECTED, expected SUCCESS or WARNINGS as success is true"),
    ]

    @Test("each rule finds the message that breaks it", arguments: badMessages)
    func findsProblem(bad: BadMessage) throws {
        let found = try problems(bad.function, bad.type, bad.json, from: bad.sender, bad.version)
        #expect(found.map(\.description) == [bad.text])
        #expect(found.map(\.rule) == [bad.rule])
        #expect(found.map(\.severity) == [bad.severity])
    }

    @Test("the table has a message for every rule")
    func tableIsComplete() {
        // Parameters that are no object keep a message from being an RPC at all: see below.
        let rules = Set(Self.badMessages.map(\.rule)).union([.notAnObject])
        #expect(rules == Set(ValidationRule.allCases))
    }

    @Test("parameters that are no JSON object are a problem of their own")
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
        // A successful one has to bring what was asked for, a failed one not.
        let old = RPCVersion(major: 4, minor: 5, patch: 0)
        let success = #"{"success":true,"resultCode":"SUCCESS"}"#
        let missing = try problems(.listFiles, .response, success, from: .accessory, old)
        #expect(missing.map(\.path) == ["spaceAvailable"])
        #expect(try problems(.listFiles, .response, json, from: .accessory, old).isEmpty)
    }

    @Test("a parameter is judged by its definition in the negotiated version")
    func earlierDefinitions() throws {
        let json = #"{"interactionChoiceSetID":1,"choiceSet":[{"choiceID":1,"menuName":"a"}]}"#
        let old = RPCVersion(major: 4, minor: 5, patch: 0)
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
        let version = RPCVersion(major: 4, minor: 2, patch: 1)
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
