import MessageFilters
package import NIOCore
import SDLProtocol

/// What a fault rule does to the messages it takes.
package enum FaultAction: Hashable, Sendable {
    /// Each message is passed on this much later, and all behind it in its session and service wait for it.
    case delay(TimeAmount, jitter: TimeAmount)
    case drop
    /// A request is not passed on; relayd answers it.
    case answer(code: String, info: String?)
    /// A StartService is not passed on; relayd refuses it.
    case nak(reason: String?)
    /// Some bytes of the payload are changed.
    case corrupt
    case duplicate
    /// The message changes places with the next one.
    case reorder
    /// The payload loses its second half.
    case truncate
    /// The app's connection is closed, and the message not passed on.
    case disconnect
    /// The message waits until the rule is removed, or for this long; nil means `FaultLimits.longestHold`.
    case hold(TimeAmount?)
    /// Everything that the rule takes passes at this rate.
    case rate(bytesPerSecond: Int)
}

extension FaultAction {
    /// Whether it can produce what sdl_core turns against everybody on a link: half messages, and RPCs whose
    /// header promises more than there is.
    package var mayHarmOthers: Bool {
        switch self {
        case .corrupt, .truncate: true
        default: false
        }
    }

    /// Whether it applies to data only, and not to control frames: relayd makes up nothing that grants or
    /// ends a session.
    var needsData: Bool {
        switch self {
        case .corrupt, .truncate, .duplicate, .reorder: true
        default: false
        }
    }

    /// Whether it applies to messages of one frame only: part of a message twice, or in another place, is no
    /// message.
    var needsSingle: Bool { self == .duplicate || self == .reorder }
}

extension FaultAction: CustomStringConvertible {
    /// As it is written in a rule.
    package var description: String {
        switch self {
        case .delay(let time, let jitter):
            "delay \(Self.text(time))" + (jitter > .zero ? " jitter \(Self.text(jitter))" : "")
        case .drop: "drop"
        case .answer(let code, let info): "answer \(code)\(Self.quoted(info))"
        case .nak(let reason): "nak\(Self.quoted(reason))"
        case .corrupt: "corrupt"
        case .duplicate: "duplicate"
        case .reorder: "reorder"
        case .truncate: "truncate"
        case .disconnect: "disconnect"
        case .hold(let time): "hold" + (time.map { " \(Self.text($0))" } ?? "")
        case .rate(let bytes): "rate \(Self.rateText(bytes))"
        }
    }

    /// "2s", "500ms", "0.25ms".
    package static func text(_ time: TimeAmount) -> String {
        let (milliseconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        if rest > 0 {
            var digits = String(String(1000 + rest / 1000).dropFirst())
            while digits.hasSuffix("0") { digits.removeLast() }
            return "\(milliseconds).\(digits)ms"
        }
        if milliseconds % 60_000 == 0, milliseconds > 0 { return "\(milliseconds / 60_000)m" }
        if milliseconds % 1000 == 0 { return "\(milliseconds / 1000)s" }
        return "\(milliseconds)ms"
    }

    private static func rateText(_ bytes: Int) -> String {
        if bytes % 1_000_000 == 0 { return "\(bytes / 1_000_000)MB/s" }
        if bytes % 1000 == 0 { return "\(bytes / 1000)KB/s" }
        return "\(bytes)B/s"
    }

    private static func quoted(_ words: String?) -> String {
        words.map { " " + $0.inQuotes } ?? ""
    }
}
