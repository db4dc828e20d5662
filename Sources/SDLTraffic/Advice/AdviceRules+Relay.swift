// Rules about frames that relayd did not pass on, and about what the hub noticed below the frames.

import RelayCore
import SDLAdvice
import SDLProtocol

extension AdviceRules {
    // MARK: Frames that were not passed on

    mutating func consider(_ dropped: DroppedEntry, _ entry: TrafficEntry) {
        switch dropped.reason {
        case .notItsSession(let session):
            // Libraries send a goodbye to a session that the app never had, or no longer has, to be on the
            // safe side.
            guard dropped.frame?.controlType != .endService else { return }
            advise(
                .foreignSession, entry,
                "the app sends frames on session \(session), which is not its own")
        case .secondaryTransport:
            // The router reports what the head unit offers.
            guard entry.direction == .fromApp else { return }
            advise(
                .secondaryTransport, entry, cause: "asked",
                "the app asks for a second transport around relayd; relayd refused it")
        case .emptyMessage:
            advise(
                .messageRefused, entry, cause: "empty",
                "the app began a message of 0 bytes, after which a head unit may never read its "
                    + "link again; relayd closed the app",
                remedy: "send a first frame only for a message that has content")
        case .messageTooLarge:
            let announced =
                dropped.frame.flatMap { Announcement($0) }.map { " (\($0.bytes) bytes)" } ?? ""
            advise(
                .messageRefused, entry, cause: "message",
                "the app announced a message larger than apps.message_limit\(announced), for which "
                    + "a head unit reserves the memory at once; relayd closed the app",
                remedy: "send less at a time, or raise apps.message_limit where the head unit can")
        case .frameTooLarge where dropped.frame?.type == .control:
            let bytes = dropped.frame.map { " of \($0.payloadBytes) bytes" } ?? ""
            advise(
                .messageRefused, entry, cause: "control frame",
                "the app sent a control frame with a payload\(bytes), more than any needs; relayd "
                    + "closed the app",
                remedy: "see what the app sends beside the parameters of the service")
        case .frameTooLarge:
            let bytes = dropped.frame.map { " (\($0.payloadBytes) bytes)" } ?? ""
            advise(
                .messageRefused, entry, cause: "frame",
                "the app sent a frame larger than the head unit's mtu\(bytes); relayd closed the app",
                remedy: "split messages into frames of the mtu in the StartServiceACK")
        case .noSuchSession, .farewell, .answersRelay, .noLink, .lateAnswer, .queueFull,
            .sessionOver, .endNotAsked, .lateWords, .askerGone, .serviceOfRelay, .leftTooFast,
            .fault:
            break
        }
    }

    // MARK: What the hub noticed

    mutating func consider(_ notice: RelayNotice, _ entry: TrafficEntry) {
        let isApp = entry.app != nil
        let isTCP = linkKind == "tcp"
        let text = (isApp ? "the app " : "the head unit ") + notice.description
        switch notice {
        case .stoppedSending where isApp: advise(.appStalled, entry, text)
        case .stoppedSending:
            advise(
                .headUnitStalled, entry, text,
                remedy: isTCP
                    ? "look at the head unit's own log: on TCP no bytes are lost, so it has stopped"
                    : nil)
        case .stoppedReading, .fellBehind:
            advise(isApp ? .appNotReading : .headUnitNotReading, entry, text)
        case .paced: advise(.frameRate, entry, text)
        // If the app has left, this is reported to its next run.
        case .messageEnded(let message):
            guard isApp, message.cause != .left, message.cause != .encrypted else { return }
            let remedy =
                message.cause == .paused || message.cause == .expiring
                ? "send the frames of a message without a pause, and send this one again"
                : message.cause == .exceeding
                    ? "finish each message before the next one begins, and send this one again"
                    : "finish each message before the session or the message ID is used for "
                        + "something else, and send this one again"
            advise(.leftInMessage, entry, cause: "\(message.cause)", text, remedy: remedy)
        case .heartbeatAnswered: advise(.heartbeatsAnswered, entry, text)
        case .garbage(let garbage):
            guard isApp else {
                // A few lost bytes are normal on a serial line.
                guard let recognised = garbage.recognised else { return }
                return advise(
                    .wrongDevice, entry,
                    "\(text); \(recognised.adviceOnLink)\(Self.bytes(garbage))")
            }
            guard let recognised = garbage.recognised else {
                return advise(.notSDL, entry, text + Self.bytes(garbage))
            }
            // Its bytes are in the log line about them; they add nothing to the words.
            advise(
                .wrongPort, entry, cause: "\(recognised)", recognised.findingOnAppPort,
                remedy: recognised.remedyOnAppPort)
        }
    }

    private static func bytes(_ garbage: GarbageNotice) -> String {
        garbage.excerpt.isEmpty ? "" : "; bytes \(garbage.excerpt)"
    }
}
