// The list of everything the connection doctor can tell: stable codes, each with a page. The advice
// of relayd uses the codes, `relayctl explain` shows the pages.

/// What is probably wrong, as a word for programs, filters and conversations. Codes stay as they
/// are; new ones may come.
package enum AdviceCode: String, Hashable, Sendable, CaseIterable {
    // Connecting
    case wrongPort = "wrong-port"
    case notSDL = "not-sdl"
    case wrongDevice = "wrong-device"
    case appStalled = "app-stalled"
    case headUnitStalled = "head-unit-stalled"
    case appNotReading = "app-not-reading"
    case headUnitNotReading = "head-unit-not-reading"

    // Sessions
    case startUnanswered = "start-unanswered"
    case startRefused = "start-refused"
    case ackMissingKeys = "ack-missing-keys"
    case ackWrongType = "ack-wrong-type"
    case ackTooLarge = "ack-too-large"
    case mtuExceeded = "mtu-exceeded"
    case mtuNear = "mtu-near"
    case endWithoutHash = "end-without-hash"
    case endWrongHash = "end-wrong-hash"
    case heartbeatUnanswered = "heartbeat-unanswered"
    case foreignSession = "foreign-session"
    case secondaryTransport = "secondary-transport"

    // Registering
    case duplicateAppName = "duplicate-app-name"
    case duplicateAppID = "duplicate-app-id"
    case registeredTwice = "registered-twice"
    case registrationRefused = "registration-refused"
    case notRegistered = "not-registered"
    case unregistered = "unregistered"

    // Requests and answers
    case disallowed = "disallowed"
    case requestInNone = "request-in-none"
    case encryptionNeeded = "encryption-needed"
    case invalidData = "invalid-data"
    case requestUnanswered = "request-unanswered"
    case correlationIDReused = "correlation-id-reused"
    case answerUnasked = "answer-unasked"
    case notAnRPC = "not-an-rpc"
    case noneRequestRate = "none-request-rate"
    case requestRate = "request-rate"
    case frameRate = "frame-rate"

    // Files, streams, large messages
    case putFileCRC = "putfile-crc"
    case putFileLength = "putfile-length"
    case streamNotAllowed = "stream-not-allowed"
    case streamNotStarted = "stream-not-started"
    case messageGap = "message-gap"
    case messageBroken = "message-broken"

    /// What is behind it.
    package var page: AdvicePage {
        switch self {
        case .wrongPort: .wrongPort
        case .notSDL: .notSDL
        case .wrongDevice: .wrongDevice
        case .appStalled: .appStalled
        case .headUnitStalled: .headUnitStalled
        case .appNotReading: .appNotReading
        case .headUnitNotReading: .headUnitNotReading
        case .startUnanswered: .startUnanswered
        case .startRefused: .startRefused
        case .ackMissingKeys: .ackMissingKeys
        case .ackWrongType: .ackWrongType
        case .ackTooLarge: .ackTooLarge
        case .mtuExceeded: .mtuExceeded
        case .mtuNear: .mtuNear
        case .endWithoutHash: .endWithoutHash
        case .endWrongHash: .endWrongHash
        case .heartbeatUnanswered: .heartbeatUnanswered
        case .foreignSession: .foreignSession
        case .secondaryTransport: .secondaryTransport
        case .duplicateAppName: .duplicateAppName
        case .duplicateAppID: .duplicateAppID
        case .registeredTwice: .registeredTwice
        case .registrationRefused: .registrationRefused
        case .notRegistered: .notRegistered
        case .unregistered: .unregistered
        case .disallowed: .disallowed
        case .requestInNone: .requestInNone
        case .encryptionNeeded: .encryptionNeeded
        case .invalidData: .invalidData
        case .requestUnanswered: .requestUnanswered
        case .correlationIDReused: .correlationIDReused
        case .answerUnasked: .answerUnasked
        case .notAnRPC: .notAnRPC
        case .noneRequestRate: .noneRequestRate
        case .requestRate: .requestRate
        case .frameRate: .frameRate
        case .putFileCRC: .putFileCRC
        case .putFileLength: .putFileLength
        case .streamNotAllowed: .streamNotAllowed
        case .streamNotStarted: .streamNotStarted
        case .messageGap: .messageGap
        case .messageBroken: .messageBroken
        }
    }
}

/// The page of a code: short enough to be read while something does not work.
package struct AdvicePage: Hashable, Sendable {
    /// In a few words, for lists.
    package var title: String
    /// What goes on.
    package var cause: String
    /// What to do. The first sentence also stands behind each piece of advice.
    package var remedy: String
    /// What the protocol says, how to look closer, which libraries and head units do it.
    package var details: String

    /// The remedy that fits behind a line of advice.
    package var firstRemedy: String {
        var sentence = remedy
        if let end = remedy.firstRange(of: ". ") { sentence = String(remedy[..<end.lowerBound]) }
        if sentence.hasSuffix(".") { sentence.removeLast() }
        return sentence
    }
}
