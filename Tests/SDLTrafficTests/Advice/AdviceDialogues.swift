// For each advice code, one dialogue that has to produce it, and one that is nearly the same and must not: by
// area, in the files beside this one.

import NIOCore
import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic

/// A dialogue, and the words that the advice on it must contain.
struct AdviceExample: Sendable {
    /// Words in the text of the advice.
    var says: [String]
    var dialogue: @Sendable (inout Dialogue) -> Void
    /// Nearly the same, without the fault.
    var nearMiss: @Sendable (inout Dialogue) -> Void
}

extension Dialogue {
    /// The app connects, registers, receives its permissions, and is in `level`.
    mutating func starts(
        level: String = "FULL", hmiTypes: String = "", video: String = "STREAMABLE",
        audio: String = "AUDIBLE"
    ) {
        opens()
        registers()
        notification(
            .onHMIStatus,
            #"{"hmiLevel":"\#(level)","audioStreamingState":"\#(audio)","#
                + #""videoStreamingState":"\#(video)","systemContext":"MAIN"}"#)
        notification(
            .onPermissionsChange,
            #"{"permissionItem":["#
                + Self.permission("Show", #""FULL","LIMITED","BACKGROUND""#) + ","
                + Self.permission("ListFiles", #""FULL","LIMITED","BACKGROUND","NONE""#) + ","
                + Self.permission(
                    "GetVehicleData", #""FULL","LIMITED","BACKGROUND""#, parameters: #""speed""#)
                + "]}")
    }

    private static func permission(
        _ name: String, _ levels: String, parameters: String = ""
    ) -> String {
        #"{"rpcName":"\#(name)","hmiPermissions":{"allowed":[\#(levels)],"userDisallowed":[]},"#
            + #""parameterPermissions":{"allowed":[\#(parameters)],"userDisallowed":[]}}"#
    }

    /// Another app on session 2.
    mutating func secondApp(name: String, appID: String) {
        app = AppID(rawValue: 2)
        session = 2
        if let app { receive(.appConnected(app, peer: "127.0.0.1:6000", time: time)) }
        control(.fromApp, .startService, session: 0)
        control(.fromAccessory, .startServiceACK, payload: Self.grant())
        request(
            .registerAppInterface, 1,
            #"{"appName":"\#(name)","appID":"\#(appID)","vrSynonyms":["\#(name)"]}"#)
    }

    static func grant(_ change: (inout BSONDocument) -> Void = { _ in }) -> ByteBuffer {
        var document: BSONDocument = [
            "protocolVersion": .string("5.4.0"), "hashId": .int32(7), "mtu": .int64(131_072),
        ]
        change(&document)
        return document.bytes
    }

    /// App connected, StartService sent and answered with `payload`.
    mutating func grants(_ payload: ByteBuffer, fate: FrameFate = .forwarded) {
        receive(.linkOpened(number: 1, address: "sim:", time: time))
        if let app { receive(.appConnected(app, peer: "127.0.0.1:5000", time: time)) }
        control(.fromApp, .startService, session: 0)
        control(.fromAccessory, .startServiceACK, payload: payload, fate: fate)
    }

    mutating func fails(_ function: FunctionID, _ code: String, _ json: String = "{}") {
        request(function, 50, json)
        response(function, 50, #"{"success":false,"resultCode":"\#(code)"}"#)
    }

    mutating func notices(_ notice: RelayNotice, app: AppID? = AppID(rawValue: 1)) {
        receive(.noticed(notice, app, time: time))
    }

    mutating func putsFile(_ json: String, bytes: String) {
        rpc(.fromApp, .request, .putFile, 60, json, bulk: ByteBuffer(string: bytes))
        response(.putFile, 60, .ok)
    }

    /// `frames` consecutive frames after a first one, the last left out.
    mutating func sendsPart(of frames: Int, messageID: UInt32 = 900) {
        var sizes = ByteBuffer()
        sizes.writeInteger(UInt32(frames * 4))
        sizes.writeInteger(UInt32(frames))
        says(
            .fromApp,
            Frame(
                version: 5, type: .first, service: .bulk, sessionID: session,
                messageID: messageID, payload: sizes))
        for info in 1..<frames { continues(info: UInt8(info), messageID: messageID) }
    }

    mutating func continues(info: UInt8, messageID: UInt32 = 900) {
        says(
            .fromApp,
            Frame(
                version: 5, type: .consecutive, service: .bulk, info: info, sessionID: session,
                messageID: messageID, payload: ByteBuffer(string: "abcd")))
    }

    mutating func streams(_ service: ServiceType, seconds: Int64) {
        for _ in 0..<(seconds * 10) {
            says(.fromApp, .data(session: session, service: service, bytes: 100))
            milliseconds += 100
        }
        silence(1000)
    }
}

/// Each code belongs to one area: two dialogues of one code would be a mistake in the test.
let adviceExamples: [AdviceCode: AdviceExample] = Dictionary(
    uniqueKeysWithValues: [
        adviceOnConnecting,
        adviceOnSessions,
        adviceOnRegistering,
        adviceOnRequests,
        adviceOnPayloads,
    ].joined().map { ($0.key, $0.value) })

extension String {
    /// Parameters of a response.
    static let ok = #"{"success":true,"resultCode":"SUCCESS"}"#
}

extension Dialogue {
    /// The app disconnects, and an app with this ID connects and registers.
    mutating func runsAgain(appID: String) {
        if let app { receive(.appClosed(app, reason: "the app closed the connection", time: time)) }
        silence(600)
        app = AppID(rawValue: 2)
        opens()
        registers(name: "Relay Test", appID: appID)
    }
}

extension Frame {
    /// The first frame of a message of this size that follows in one more frame.
    static func announcing(bytes: UInt32) -> Frame {
        var sizes = ByteBuffer()
        sizes.writeInteger(bytes)
        sizes.writeInteger(UInt32(1))
        return Frame(
            version: 5, type: .first, service: .bulk, sessionID: 1, messageID: 900, payload: sizes)
    }
}
