// The dialogues of advice on sessions: grants, ends, heartbeats, foreign frames.

import NIOCore
import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic

let adviceOnSessions: [AdviceCode: AdviceExample] = [
    .startUnanswered: AdviceExample(
        says: ["StartService rpc", "10 s"],
        dialogue: {
            $0.receive(.linkOpened(number: 1, address: "sim:", time: $0.time))
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
        says: ["no hash ID, expected 0x00010005"],
        dialogue: {
            $0.starts()
            $0.endsWith(nil, .nothing)
        },
        // The router decides whether it is wrong.
        nearMiss: {
            $0.starts()
            $0.endsWith(nil)
        }),
    .endWrongHash: AdviceExample(
        says: ["hash ID 0x00000099, expected 0x00010005"],
        dialogue: {
            $0.starts()
            $0.endsWith(0x99, .hash(0x99))
        },
        nearMiss: {
            $0.starts()
            $0.endsWith(0x99)
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
            // The EndService that libraries send to be on the safe side.
            $0.starts()
            $0.says(.fromApp, .rpcOf(bytes: 40), fate: .dropped(.noLink))
            $0.says(
                .fromApp, .endService(version: 5, sessionID: 255, hashID: 0),
                fate: .dropped(.notItsSession(255)))
        }),
    .secondaryTransport: AdviceExample(
        says: ["took the offer out"],
        dialogue: {
            $0.grants(Dialogue.grant(), fate: .amended)
            if let app = $0.app {
                $0.receive(
                    .session(.transportOffered(session: 1, isPassedOn: false), app, time: $0.time))
            }
        },
        nearMiss: {
            // The router decides what counts as an offer.
            $0.grants(
                Dialogue.grant { $0["secondaryTransports"] = .array([.string("TCP_WIFI")]) })
            let gone: BSONDocument = ["tcpIpAddress": .string(""), "tcpPort": .int32(0)]
            $0.control(
                .fromAccessory, .transportEventUpdate, .control, payload: gone.bytes,
                fate: .dropped(.secondaryTransport))
        }),
]

extension Dialogue {
    /// The app ends its session with this hash ID, and the router reports `sent` as wrong.
    fileprivate mutating func endsWith(_ hashID: UInt32?, _ sent: WrongHash.Sent? = nil) {
        says(
            .fromApp,
            hashID.map { .endService(version: 5, sessionID: session, hashID: $0) }
                ?? Frame(
                    version: 5, type: .control, service: .rpc,
                    info: ControlFrameType.endService.rawValue, sessionID: session))
        guard let sent, let app else { return }
        let hash = WrongHash(sent: sent, expected: 0x10005)
        receive(.session(.wrongHash(hash, session: session), app, time: time))
    }
}

extension Frame {
    /// A single frame with a notification of this many payload bytes.
    fileprivate static func rpcOf(bytes: Int) -> Frame {
        .rpc(
            version: 5, service: .bulk, sessionID: 1, messageID: 400, type: .notification,
            functionID: FunctionID.onAudioPassThru.rawValue, correlationID: 0,
            bulk: ByteBuffer(repeating: 1, count: bytes - 14))
    }
}
