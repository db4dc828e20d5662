// One bad message per validation rule and sender, and the text about it; used by `RPCValidatorTests`.

import Testing

@testable import SDLProtocol

struct BadMessage: Sendable, CustomTestStringConvertible {
    var rule: ValidationRule
    var function: FunctionID
    var type: RPCType
    var json: String
    var sender: RPCSender
    var severity: ValidationSeverity
    var text: String
    var version: SDLVersion? = nil
    var testDescription: String { "\(sender) \(rule): \(text)" }
}

extension RPCValidatorTests {
    static let v5 = SDLVersion(5, 0, 0)
    static let v8 = SDLVersion(8, 0, 0)

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
            version: SDLVersion(4, 5, 0)),
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
            rule: .tooFewElements, function: .registerAppInterface, type: .response,
            json: #"{"success":true,"resultCode":"SUCCESS","speechCapabilities":[]}"#,
            sender: .accessory, severity: .note,
            text: "speechCapabilities has 0 elements, expected at least 1 element"),
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
}
