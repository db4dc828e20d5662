// The dialogues of advice on how a connection begins: wrong ports, wrong devices, peers that stop.

import NIOCore
import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic

let adviceOnConnecting: [AdviceCode: AdviceExample] = [
    .wrongPort: AdviceExample(
        says: ["speaks HTTP, not SDL"],
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
            // A serial line loses bytes occasionally.
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
        says: ["the head unit has read nothing for 10 s"],
        dialogue: { $0.notices(.stoppedReading(queuedBytes: 4096, seconds: 10), app: nil) },
        nearMiss: { $0.notices(.stoppedReading(queuedBytes: 4096, seconds: nil)) }),
]
