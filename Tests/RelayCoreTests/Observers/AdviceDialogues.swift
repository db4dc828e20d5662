// One dialogue per advice code that has to bring it, and one that is nearly the same and must not.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol

/// What is said, and what the advice on it must name.
struct AdviceExample: Sendable {
    /// Words of the advice's text.
    var says: [String]
    var dialogue: @Sendable (inout Dialogue) -> Void
    /// Nearly the same, without the fault.
    var nearMiss: @Sendable (inout Dialogue) -> Void
}

private let ok = #"{"success":true,"resultCode":"SUCCESS"}"#

extension Dialogue {
    /// App connected and registered, told its permissions, and in `level`.
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
        receive(.linkOpened(address: "sim:", time: time))
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
        response(.putFile, 60, ok)
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

let adviceExamples: [AdviceCode: AdviceExample] = [
    // MARK: Connecting
    .wrongPort: AdviceExample(
        says: ["HTTP client"],
        dialogue: {
            $0.notices(
                .garbage(
                    GarbageNotice(offset: 0, error: .reservedVersion(4), recognised: .http)))
        },
        nearMiss: {
            $0.notices(
                .garbage(GarbageNotice(offset: 0, error: .reservedVersion(7), recognised: nil)))
        }),
    .notSDL: AdviceExample(
        says: ["from byte 120", "frame type 5"],
        dialogue: {
            $0.notices(
                .garbage(
                    GarbageNotice(offset: 120, error: .reservedFrameType(5), recognised: nil)))
        },
        nearMiss: {
            // A serial line loses bytes now and then.
            $0.notices(
                .garbage(GarbageNotice(offset: 0, error: .reservedVersion(7), recognised: nil)),
                app: nil)
        }),
    .wrongDevice: AdviceExample(
        says: ["OpenXC"],
        dialogue: {
            $0.notices(
                .garbage(
                    GarbageNotice(offset: 0, error: .reservedVersion(7), recognised: .openXCJSON)),
                app: nil)
        },
        nearMiss: {
            $0.notices(
                .garbage(GarbageNotice(offset: 0, error: .reservedVersion(7), recognised: nil)),
                app: nil)
        }),
    .appStalled: AdviceExample(
        says: ["the app stopped in the middle of a frame", "30 bytes"],
        dialogue: { $0.notices(.stoppedSending(bytes: 30, seconds: 10)) },
        nearMiss: { $0.notices(.stoppedSending(bytes: 30, seconds: 10), app: nil) }),
    .headUnitStalled: AdviceExample(
        says: ["the head unit stopped in the middle of a frame"],
        dialogue: { $0.notices(.stoppedSending(bytes: 30, seconds: 10), app: nil) },
        nearMiss: { $0.notices(.stoppedSending(bytes: 30, seconds: 10)) }),
    .appNotReading: AdviceExample(
        says: ["the app does not read", "4096 bytes"],
        dialogue: { $0.notices(.stoppedReading(queuedBytes: 4096, seconds: nil)) },
        nearMiss: { $0.notices(.stoppedReading(queuedBytes: 4096, seconds: 10), app: nil) }),
    .headUnitNotReading: AdviceExample(
        says: ["the head unit has taken nothing for 10 s"],
        dialogue: { $0.notices(.stoppedReading(queuedBytes: 4096, seconds: 10), app: nil) },
        nearMiss: { $0.notices(.stoppedReading(queuedBytes: 4096, seconds: nil)) }),

    // MARK: Sessions
    .startUnanswered: AdviceExample(
        says: ["StartService rpc", "10 s"],
        dialogue: {
            $0.receive(.linkOpened(address: "sim:", time: $0.time))
            $0.receive(.appConnected(AppID(rawValue: 1), peer: "p", time: $0.time))
            $0.control(.fromApp, .startService, session: 0)
            $0.silence(10_000)
        },
        nearMiss: {
            // The relay holds the app while there is no head unit.
            $0.receive(.appConnected(AppID(rawValue: 1), peer: "p", time: $0.time))
            $0.control(.fromApp, .startService, session: 0)
            $0.silence(10_000)
        }),
    .startRefused: AdviceExample(
        says: ["StartService video", "\"not now\"", "rejects videoCodec", "without appHMIType"],
        dialogue: {
            $0.starts()
            $0.control(.fromApp, .startService, .video)
            let nak: BSONDocument = [
                "reason": .string("not now"), "rejectedParams": .array([.string("videoCodec")]),
            ]
            $0.control(.fromAccessory, .startServiceNAK, .video, payload: nak.bytes)
        },
        nearMiss: {
            // The relay's own refusal has its own reason.
            $0.starts()
            $0.control(.fromApp, .startService, session: 0)
            $0.control(.fromAccessory, .startServiceNAK, session: 0, fate: .byRelay)
        }),
    .ackMissingKeys: AdviceExample(
        says: ["no hashId and no mtu"],
        dialogue: {
            $0.grants(
                Dialogue.grant {
                    $0["hashId"] = nil
                    $0["mtu"] = nil
                })
        },
        nearMiss: { $0.grants(Dialogue.grant { $0["make"] = nil }) }),
    .ackWrongType: AdviceExample(
        says: ["mtu", "int32, expected int64"],
        dialogue: { $0.grants(Dialogue.grant { $0["mtu"] = .int32(131_072) }) },
        nearMiss: { $0.grants(Dialogue.grant { $0["unheardOf"] = .bool(true) }) }),
    .ackTooLarge: AdviceExample(
        says: ["1011"],
        dialogue: {
            $0.grants(
                Dialogue.grant { $0["make"] = .string(String(repeating: "x", count: 1000)) })
        },
        nearMiss: {
            $0.grants(Dialogue.grant { $0["make"] = .string(String(repeating: "x", count: 900)) })
        }),
    .mtuExceeded: AdviceExample(
        says: ["the app sends a frame of 1001 payload bytes on bulk", "mtu is 1000"],
        dialogue: {
            $0.grants(Dialogue.grant { $0["mtu"] = .int64(1000) })
            $0.silence(1)
            $0.says(.fromApp, .rpcOf(bytes: 1001))
        },
        nearMiss: {
            $0.grants(Dialogue.grant { $0["mtu"] = .int64(1000) })
            $0.says(.fromApp, .rpcOf(bytes: 1000))
        }),
    .mtuNear: AdviceExample(
        says: ["the head unit sends a frame of 989 payload bytes", "mtu is 1000", "sdl_core"],
        dialogue: {
            $0.grants(Dialogue.grant { $0["mtu"] = .int64(1000) })
            $0.says(.fromAccessory, .rpcOf(bytes: 989))
        },
        nearMiss: {
            $0.grants(Dialogue.grant { $0["mtu"] = .int64(1000) })
            $0.says(.fromAccessory, .rpcOf(bytes: 988))
        }),
    .endWithoutHash: AdviceExample(
        says: ["no hash ID, expected 0x10005"],
        dialogue: {
            $0.starts()
            $0.control(.fromApp, .endService)
        },
        nearMiss: {
            // v1 knows no hash.
            $0.starts()
            $0.control(.fromApp, .endService, version: 1)
        }),
    .endWrongHash: AdviceExample(
        says: ["hash ID 0x99, expected 0x10005"],
        dialogue: {
            $0.starts()
            $0.says(.fromApp, .endService(version: 5, sessionID: 1, hashID: 0x99))
        },
        nearMiss: {
            $0.starts()
            $0.says(.fromApp, .endService(version: 5, sessionID: 1, hashID: 0x10005))
        }),
    .heartbeatUnanswered: AdviceExample(
        says: ["has not answered 1 heartbeat "],
        dialogue: {
            $0.starts()
            $0.control(.fromAccessory, .heartbeat, .control)
            $0.silence(7000)
            $0.control(.fromAccessory, .heartbeat, .control)
        },
        nearMiss: {
            $0.starts()
            for fate in [FrameFate.forwarded, .byRelay, .byRelay] {
                $0.control(.fromAccessory, .heartbeat, .control)
                $0.control(.fromApp, .heartbeatACK, .control, fate: fate)
            }
            $0.control(.fromAccessory, .heartbeat, .control)
        }),
    .heartbeatsAnswered: AdviceExample(
        says: ["did not answer the head unit's heartbeat for 5 s", "relayd answered it"],
        dialogue: {
            $0.starts()
            $0.notices(.heartbeatAnswered(seconds: 5))
        },
        nearMiss: {
            $0.starts()
            $0.control(.fromAccessory, .heartbeat, .control)
            $0.control(.fromApp, .heartbeatACK, .control)
        }),
    .foreignSession: AdviceExample(
        says: ["session 9"],
        dialogue: {
            $0.starts()
            $0.says(.fromApp, .rpcOf(bytes: 40), fate: .dropped(.notItsSession(9)))
        },
        nearMiss: {
            // The goodbye that libraries send to be on the safe side.
            $0.starts()
            $0.says(.fromApp, .rpcOf(bytes: 40), fate: .dropped(.noLink))
            $0.says(
                .fromApp, .endService(version: 5, sessionID: 255, hashID: 0),
                fate: .dropped(.notItsSession(255)))
        }),
    .secondaryTransport: AdviceExample(
        says: ["took the offer out"],
        dialogue: { $0.grants(Dialogue.grant(), fate: .amended) },
        nearMiss: {
            // An empty list, and the primary transport, invite nobody.
            $0.grants(
                Dialogue.grant {
                    $0["secondaryTransports"] = .array([])
                    $0["videoServiceTransports"] = .array([.int32(1)])
                })
            let gone: BSONDocument = ["tcpIpAddress": .string(""), "tcpPort": .int32(0)]
            $0.control(
                .fromAccessory, .transportEventUpdate, .control, payload: gone.bytes,
                fate: .dropped(.secondaryTransport))
        }),

    // MARK: Registering
    .duplicateAppName: AdviceExample(
        says: ["the name \"Relay Test\" is also that of app #1"],
        dialogue: {
            $0.starts()
            $0.secondApp(name: "relay test", appID: "other")
        },
        nearMiss: {
            $0.starts()
            $0.secondApp(name: "Relay Test 2", appID: "other")
        }),
    .duplicateAppID: AdviceExample(
        says: ["app ID \"relay-test\" is also that of app #1 (Relay Test)"],
        dialogue: {
            $0.starts()
            $0.secondApp(name: "Other", appID: "relay-test")
        },
        nearMiss: {
            // The first one has unregistered.
            $0.starts()
            $0.request(.unregisterAppInterface, 9)
            $0.response(.unregisterAppInterface, 9, ok)
            $0.silence(1)
            $0.secondApp(name: "Relay Test", appID: "relay-test")
        }),
    .registeredTwice: AdviceExample(
        says: ["registers again on session 1"],
        dialogue: {
            $0.starts()
            $0.request(.registerAppInterface, 9, #"{"appName":"Relay Test","appID":"relay-test"}"#)
        },
        nearMiss: {
            $0.starts()
            $0.request(.unregisterAppInterface, 8)
            $0.response(.unregisterAppInterface, 8, ok)
            $0.registers()
        }),
    .registrationRefused: AdviceExample(
        says: ["DISALLOWED", "no such app"],
        dialogue: {
            $0.opens()
            $0.request(.registerAppInterface, 1, #"{"appName":"A","appID":"1"}"#)
            $0.response(
                .registerAppInterface, 1,
                #"{"success":false,"resultCode":"DISALLOWED","info":"no such app"}"#)
        },
        nearMiss: {
            $0.opens()
            $0.request(.registerAppInterface, 1, #"{"appName":"A","appID":"1"}"#)
            $0.response(.registerAppInterface, 1, #"{"success":true,"resultCode":"RESUME_FAILED"}"#)
        }),
    .notRegistered: AdviceExample(
        says: ["Show #50"],
        dialogue: {
            $0.opens()
            $0.fails(.show, "APPLICATION_NOT_REGISTERED")
        },
        nearMiss: {
            $0.opens()
            $0.fails(.show, "REJECTED")
        }),
    .unregistered: AdviceExample(
        says: ["TOO_MANY_REQUESTS", "more than 1000 frames in a second"],
        dialogue: {
            $0.starts()
            $0.notification(.onAppInterfaceUnregistered, #"{"reason":"TOO_MANY_REQUESTS"}"#)
        },
        nearMiss: {
            $0.starts()
            $0.notification(.onAppInterfaceUnregistered, #"{"reason":"IGNITION_OFF"}"#)
        }),

    // MARK: Requests
    .disallowed: AdviceExample(
        says: ["Alert #50 is DISALLOWED", "do not name it"],
        dialogue: {
            $0.starts()
            $0.fails(.alert, "DISALLOWED")
        },
        nearMiss: {
            // The level explains it.
            $0.starts(level: "NONE")
            $0.fails(.show, "DISALLOWED")
        }),
    .requestInNone: AdviceExample(
        says: ["Show #50: it is allowed in FULL, LIMITED or BACKGROUND, but the app is in NONE"],
        dialogue: {
            $0.starts(level: "NONE")
            $0.fails(.show, "DISALLOWED")
        },
        nearMiss: {
            // The head unit, not the permission table, decides.
            $0.starts(level: "NONE")
            $0.request(.show, 4)
            $0.response(.show, 4, ok)
            $0.request(.listFiles, 5)
            $0.response(.listFiles, 5, ok)
            $0.notification(.onHMIStatus, #"{"hmiLevel":"FULL"}"#)
            $0.request(.show, 6)
        }),
    .encryptionNeeded: AdviceExample(
        says: ["Show #50"],
        dialogue: {
            $0.starts()
            $0.fails(.show, "ENCRYPTION_NEEDED")
        },
        nearMiss: {
            $0.starts()
            $0.fails(.show, "REJECTED")
        }),
    .invalidData: AdviceExample(
        says: ["Show #50 is INVALID_DATA: unknown parameter mainFeld1", "mainField1"],
        dialogue: {
            $0.starts()
            $0.fails(.show, "INVALID_DATA", #"{"mainFeld1":"x"}"#)
        },
        nearMiss: {
            $0.starts()
            $0.request(.show, 50, #"{"mainFeld1":"x"}"#)
            $0.response(.show, 50, ok)
        }),
    .requestUnanswered: AdviceExample(
        says: ["has not answered ListFiles #5 for 10 s", "app libraries wait"],
        dialogue: {
            $0.starts()
            $0.request(.listFiles, 5)
            $0.silence(10_000)
        },
        nearMiss: {
            $0.starts()
            $0.request(.performInteraction, 5, #"{"interactionMode":"MANUAL_ONLY"}"#)
            $0.silence(10_000)
        }),
    .correlationIDReused: AdviceExample(
        says: ["Show #5 uses the correlation ID of Show"],
        dialogue: {
            $0.starts()
            $0.request(.show, 5)
            $0.request(.show, 5)
        },
        nearMiss: {
            $0.starts()
            $0.request(.show, 5)
            $0.response(.show, 5, ok)
            $0.request(.show, 5)
        }),
    .answerUnasked: AdviceExample(
        says: ["the head unit answers Show #77"],
        dialogue: {
            $0.starts()
            $0.response(.show, 77, ok)
        },
        nearMiss: {
            $0.starts()
            $0.request(.show, 77)
            $0.silence(30_000)
            $0.response(.show, 77, ok)
        }),
    .notAnRPC: AdviceExample(
        says: ["Show of the app", "parameters are no JSON object"],
        dialogue: {
            $0.starts()
            $0.rpc(.fromApp, .request, .show, 5, "{\"mainField1\":")
        },
        nearMiss: {
            $0.starts()
            $0.rpc(.fromApp, .request, .show, 5, "{\"mainField1\":\"\\u00e4 ä\"}")
        }),
    .noneRequestRate: AdviceExample(
        says: ["80 requests within 10 ms while in NONE", "at 100"],
        dialogue: { $0.asks(80, .listFiles, level: "NONE", apart: 0) },
        // 500 a second, and a burst that is large but passes.
        nearMiss: {
            $0.asks(1000, .listFiles, level: "NONE", apart: 2)
            $0.milliseconds += 100
            for number in 0..<75 { $0.request(.listFiles, Int32(number + 2000)) }
        }),
    .requestRate: AdviceExample(
        says: ["Show #50: too many requests wait"],
        dialogue: {
            $0.starts()
            $0.fails(.show, "TOO_MANY_PENDING_REQUESTS")
        },
        // Far more than the 1000 in 10 s of sdl_core's configuration, which do not count.
        nearMiss: { $0.asks(4000, .show, level: "FULL", apart: 3) }),
    .frameRate: AdviceExample(
        says: ["901 frames in a second", "1000"],
        dialogue: { $0.sendsFiles(9) },
        nearMiss: { $0.sendsFiles(8) }),

    // MARK: Payloads
    .putFileCRC: AdviceExample(
        says: ["PutFile \"f\" has crc 1, but its data has 3421780262"],
        dialogue: {
            $0.starts()
            $0.putsFile(#"{"syncFileName":"f","crc":1}"#, bytes: "123456789")
        },
        nearMiss: {
            $0.starts()
            $0.putsFile(#"{"syncFileName":"f","crc":3421780262}"#, bytes: "123456789")
        }),
    .putFileLength: AdviceExample(
        says: ["PutFile \"f\" at offset 5 has length 9, but carries 4 bytes"],
        dialogue: {
            $0.starts()
            $0.putsFile(#"{"syncFileName":"f","offset":5,"length":9}"#, bytes: "6789")
        },
        nearMiss: {
            $0.starts()
            $0.putsFile(#"{"syncFileName":"f","offset":0,"length":9}"#, bytes: "12345")
            $0.putsFile(#"{"syncFileName":"f","offset":5,"length":4}"#, bytes: "6789")
        }),
    .streamNotAllowed: AdviceExample(
        says: ["sending video", "NOT_STREAMABLE"],
        dialogue: {
            $0.starts()
            $0.control(.fromAccessory, .startServiceACK, .video)
            $0.notification(
                .onHMIStatus, #"{"hmiLevel":"FULL","videoStreamingState":"NOT_STREAMABLE"}"#)
            $0.streams(.video, seconds: 3)
        },
        nearMiss: {
            // It stops within the second it has for that.
            $0.starts()
            $0.control(.fromAccessory, .startServiceACK, .video)
            $0.streams(.video, seconds: 3)
            $0.notification(
                .onHMIStatus, #"{"hmiLevel":"FULL","videoStreamingState":"NOT_STREAMABLE"}"#)
            $0.says(.fromApp, .data(session: 1, service: .video, bytes: 100))
            $0.silence(5000)
        }),
    .streamNotStarted: AdviceExample(
        says: ["sends audio"],
        dialogue: {
            $0.starts()
            $0.streams(.audio, seconds: 1)
        },
        nearMiss: {
            $0.starts()
            $0.control(.fromAccessory, .startServiceACK, .audio)
            $0.streams(.audio, seconds: 1)
            $0.control(.fromApp, .endService, .audio)
            $0.says(.fromApp, .data(session: 1, service: .audio, bytes: 100))
            $0.control(.fromAccessory, .endServiceACK, .audio)
        }),
    .messageGap: AdviceExample(
        says: ["of the app stopped after 2 of 3 frames"],
        dialogue: {
            $0.starts()
            $0.sendsPart(of: 3)
            $0.silence(10_000)
        },
        nearMiss: {
            $0.starts()
            $0.sendsPart(of: 3)
            $0.silence(9_900)
            $0.continues(info: 0)
        }),
    .messageBroken: AdviceExample(
        says: ["consecutive frame 7 where 3 was expected"],
        dialogue: {
            $0.starts()
            $0.sendsPart(of: 3)
            $0.continues(info: 7)
        },
        nearMiss: {
            // The session ends in the middle; that is told by other means.
            $0.starts()
            $0.sendsPart(of: 3)
            $0.control(.fromAccessory, .endServiceACK)
        }),
    .leftInMessage: AdviceExample(
        says: ["the previous run of this app left in the middle of a message, after 2 of 3 frames"],
        dialogue: {
            $0.starts()
            $0.sendsPart(of: 3)
            $0.runsAgain(appID: "relay-test")
        },
        nearMiss: {
            // Another app, which has lost nothing.
            $0.starts()
            $0.sendsPart(of: 3)
            $0.runsAgain(appID: "other")
        }),
    .messageRefused: AdviceExample(
        says: ["began a message of 0 bytes", "relayd closed the app"],
        dialogue: {
            $0.starts()
            $0.says(.fromApp, .announcing(bytes: 0), fate: .dropped(.emptyMessage))
        },
        nearMiss: {
            $0.starts()
            $0.says(.fromApp, .announcing(bytes: 4))
        }),
]

extension Dialogue {
    /// The app is gone, and an app with this ID comes and registers.
    mutating func runsAgain(appID: String) {
        if let app { receive(.appClosed(app, reason: "the app closed the connection", time: time)) }
        silence(600)
        app = AppID(rawValue: 2)
        opens()
        registers(name: "Relay Test", appID: appID)
    }

    /// So many requests, one every `apart` milliseconds, each answered.
    fileprivate mutating func asks(
        _ count: Int, _ function: FunctionID, level: String, apart: Int64 = 100
    ) {
        starts(level: level)
        for number in 0..<count {
            request(function, Int32(number + 10))
            response(function, Int32(number + 10), ok)
            milliseconds += apart
        }
    }

    /// Messages of 100 frames each within a second.
    fileprivate mutating func sendsFiles(_ count: Int) {
        starts()
        for number in 0..<count {
            let json = #"{"syncFileName":"f"}"#
            var message = ByteBuffer()
            RPCHeader(
                type: .request, functionID: FunctionID.putFile.rawValue,
                correlationID: Int32(number + 10), jsonBytes: json.utf8.count
            ).write(to: &message)
            message.writeString(json)
            message.writeRepeatingByte(1, count: 990 - message.readableBytes)
            var sizes = ByteBuffer()
            sizes.writeInteger(UInt32(message.readableBytes))
            sizes.writeInteger(UInt32(99))
            let id = UInt32(number + 500)
            says(
                .fromApp,
                Frame(
                    version: 5, type: .first, service: .bulk, sessionID: 1, messageID: id,
                    payload: sizes))
            for index in 1...99 {
                let piece = message.readSlice(length: 10) ?? ByteBuffer()
                says(
                    .fromApp,
                    Frame(
                        version: 5, type: .consecutive, service: .bulk,
                        info: index == 99 ? 0 : UInt8(index), sessionID: 1, messageID: id,
                        payload: piece))
            }
            milliseconds += 100
        }
    }
}

extension Frame {
    /// The first frame of a message, so many bytes large, in one more frame.
    static func announcing(bytes: UInt32) -> Frame {
        var sizes = ByteBuffer()
        sizes.writeInteger(bytes)
        sizes.writeInteger(UInt32(1))
        return Frame(
            version: 5, type: .first, service: .bulk, sessionID: 1, messageID: 900, payload: sizes)
    }

    /// A single frame with a notification, so many payload bytes large.
    fileprivate static func rpcOf(bytes: Int) -> Frame {
        .rpc(
            version: 5, service: .bulk, sessionID: 1, messageID: 400, type: .notification,
            functionID: FunctionID.onAudioPassThru.rawValue, correlationID: 0,
            bulk: ByteBuffer(repeating: 1, count: bytes - 14))
    }
}
