// The dialogues of advice on registrations.

import NIOCore
import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic

let adviceOnRegistering: [AdviceCode: AdviceExample] = [
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
            $0.response(.unregisterAppInterface, 9, .ok)
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
            $0.response(.unregisterAppInterface, 8, .ok)
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
]
