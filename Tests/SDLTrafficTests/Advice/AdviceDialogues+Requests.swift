// The dialogues of advice on requests, answers and their rates.

import NIOCore
import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic

let adviceOnRequests: [AdviceCode: AdviceExample] = [
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
            $0.response(.show, 4, .ok)
            $0.request(.listFiles, 5)
            $0.response(.listFiles, 5, .ok)
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
            $0.response(.show, 50, .ok)
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
            $0.response(.show, 5, .ok)
            $0.request(.show, 5)
        }),
    .answerUnasked: AdviceExample(
        says: ["the head unit answers Show #77"],
        dialogue: {
            $0.starts()
            $0.response(.show, 77, .ok)
        },
        nearMiss: {
            $0.starts()
            $0.request(.show, 77)
            $0.silence(30_000)
            $0.response(.show, 77, .ok)
        }),
    .notAnRPC: AdviceExample(
        says: ["Show of the app", "parameters are not a JSON object"],
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
        // 500 a second, and a large burst that is still allowed.
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
        // Far more than the 1000 in 10 s of sdl_core's configuration, which does not matter here.
        nearMiss: { $0.asks(4000, .show, level: "FULL", apart: 3) }),
    .frameRate: AdviceExample(
        says: ["901 frames in a second", "1000"],
        dialogue: { $0.sendsFiles(9) },
        nearMiss: { $0.sendsFiles(8) }),
]

extension Dialogue {
    /// This many requests, one every `apart` milliseconds, each answered.
    fileprivate mutating func asks(
        _ count: Int, _ function: FunctionID, level: String, apart: Int64 = 100
    ) {
        starts(level: level)
        for number in 0..<count {
            request(function, Int32(number + 10))
            response(function, Int32(number + 10), .ok)
            milliseconds += apart
        }
    }

    /// Messages of 100 frames each, all within a second.
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
