/// Every finding of the connection doctor, as a word for programs, filters and conversations; `relayctl
/// explain` shows the page of each. Codes are stable; new ones may be added.
package enum AdviceCode: String, Hashable, Sendable, CaseIterable {
    // Connecting
    case wrongPort = "wrong_port"
    case notSDL = "not_sdl"
    case wrongDevice = "wrong_device"
    case appStalled = "app_stalled"
    case headUnitStalled = "head_unit_stalled"
    case appNotReading = "app_not_reading"
    case headUnitNotReading = "head_unit_not_reading"

    // Sessions
    case startUnanswered = "start_unanswered"
    case startRefused = "start_refused"
    case ackMissingKeys = "ack_missing_keys"
    case ackWrongType = "ack_wrong_type"
    case ackTooLarge = "ack_too_large"
    case mtuExceeded = "mtu_exceeded"
    case mtuNear = "mtu_near"
    case endWithoutHash = "end_without_hash"
    case endWrongHash = "end_wrong_hash"
    case heartbeatUnanswered = "heartbeat_unanswered"
    case heartbeatsAnswered = "heartbeats_answered"
    case foreignSession = "foreign_session"
    case secondaryTransport = "secondary_transport"

    // Registering
    case duplicateAppName = "duplicate_app_name"
    case duplicateAppID = "duplicate_app_id"
    case registeredTwice = "registered_twice"
    case registrationRefused = "registration_refused"
    case notRegistered = "not_registered"
    case unregistered = "unregistered"

    // Requests and answers
    case disallowed = "disallowed"
    case requestInNone = "request_in_none"
    case encryptionNeeded = "encryption_needed"
    case invalidData = "invalid_data"
    case requestUnanswered = "request_unanswered"
    case correlationIDReused = "correlation_id_reused"
    case answerUnasked = "answer_unasked"
    case notAnRPC = "not_an_rpc"
    case noneRequestRate = "none_request_rate"
    case requestRate = "request_rate"
    case frameRate = "frame_rate"

    // Files, streams, large messages
    case putFileCRC = "putfile_crc"
    case putFileLength = "putfile_length"
    case streamNotAllowed = "stream_not_allowed"
    case streamNotStarted = "stream_not_started"
    case messageGap = "message_gap"
    case messageBroken = "message_broken"
    case leftInMessage = "left_in_message"
    case messageRefused = "message_refused"

    /// The code that a person typed: case does not matter, nor does "-" for "_", which is how the codes were
    /// written before 1.0.
    package init?(typed text: String) {
        self.init(rawValue: Self.normalised(text))
    }

    /// Converts typed text to the spelling of the codes.
    package static func normalised(_ text: String) -> String {
        String(text.lowercased().map { $0 == "-" ? "_" : $0 })
    }

    /// The page that explains the code.
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
        case .heartbeatsAnswered: .heartbeatsAnswered
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
        case .leftInMessage: .leftInMessage
        case .messageRefused: .messageRefused
        }
    }
}

/// How urgent a piece of advice is.
package enum AdviceSeverity: String, Hashable, Sendable, CaseIterable {
    /// Nothing is broken. Reported once, and never in status or doctor.
    case info
    /// Something does not work, or will not for long.
    case warning
}

extension AdviceCode {
    package var severity: AdviceSeverity {
        switch self {
        // Correct for this head unit; another one may read the protocol differently.
        case .mtuNear, .endWithoutHash: .info
        // Things that relayd does by itself.
        case .secondaryTransport, .leftInMessage, .heartbeatsAnswered: .info
        default: .warning
        }
    }
}

/// The page of a code: short enough to be read while something does not work.
package struct AdvicePage: Hashable, Sendable {
    /// A few words, for lists.
    package var title: String
    /// What is happening.
    package var cause: String
    /// What to do. The first sentence also comes after each piece of advice.
    package var remedy: String
    /// What the protocol says, how to look closer, and which libraries and head units behave like this.
    package var details: String

    /// The first sentence of the remedy, which fits behind a line of advice.
    package var firstRemedy: String {
        var sentence = remedy
        if let end = remedy.firstRange(of: ". ") { sentence = String(remedy[..<end.lowerBound]) }
        if sentence.hasSuffix(".") { sentence.removeLast() }
        return sentence
    }
}
