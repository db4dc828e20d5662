// The dialogues of advice on files, streams and messages in pieces.

import NIOCore
import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic

let adviceOnPayloads: [AdviceCode: AdviceExample] = [
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
            // The app stops within the second it is allowed.
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
            // The session ends in the middle; that is reported elsewhere.
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
