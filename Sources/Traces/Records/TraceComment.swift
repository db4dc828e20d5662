import RelayCore

/// The meaning of a packet's comment (Documentation/trace-format.md, "Comments").
enum TraceComment: Hashable, Sendable {
    case own
    case replaced
    case amended
    case dropped(code: String, words: String)
    case fault(FaultMark)
    case waits
    case grant(GrantMeaning)
    case masked
    case earlier
    case offset(UInt64)

    static let prefix = "relayd: "

    var text: String {
        let words =
            switch self {
            case .own: "own"
            case .replaced: "replaced"
            case .amended: "amended"
            case .dropped(let code, let words): "dropped, \(code): \(words)"
            case .fault(let mark): "fault \(mark.rule), \(mark.kind)"
            case .waits: "waits"
            case .grant(let meaning): "grant \(meaning)"
            case .masked: "masked"
            case .earlier: "earlier"
            case .offset(let offset): "offset \(offset)"
            }
        return Self.prefix + words
    }

    /// Nil for comments by people, and for those of a later version.
    init?(_ text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let words = text.dropFirst(Self.prefix.count)
        switch words {
        case "own": self = .own
        case "replaced": self = .replaced
        case "amended": self = .amended
        case "waits": self = .waits
        case "masked": self = .masked
        case "earlier": self = .earlier
        case "grant opens": self = .grant(.opens)
        case "grant protects": self = .grant(.protects)
        case "grant nothing": self = .grant(.nothing)
        default:
            if words.hasPrefix("offset "), let offset = UInt64(words.dropFirst(7)) {
                self = .offset(offset)
            } else if words.hasPrefix("dropped, ") {
                let parts = words.dropFirst(9).split(separator: ":", maxSplits: 1)
                self = .dropped(
                    code: parts.first.map(String.init) ?? "",
                    words: parts.dropFirst().first.map { String($0.drop { $0 == " " }) } ?? "")
            } else if let mark = FaultMark(comment: words) {
                self = .fault(mark)
            } else {
                return nil
            }
        }
    }
}

extension FaultMark {
    /// Parses "fault 3, held".
    fileprivate init?(comment words: Substring) {
        guard words.hasPrefix("fault ") else { return nil }
        let parts = words.dropFirst(6).split(separator: ",", maxSplits: 1)
        guard parts.count == 2, let rule = UInt32(parts[0]),
            let kind = Kind(rawValue: String(parts[1].drop { $0 == " " }))
        else { return nil }
        self.init(rule: rule, kind: kind)
    }
}

extension TraceComment {
    /// The comment for the fate of a frame; nil when it was passed on unchanged.
    init?(_ fate: FrameFate) {
        switch fate {
        case .forwarded: return nil
        case .amended: self = .amended
        case .replaced: self = .replaced
        case .byRelay: self = .own
        case .faulted(let mark): self = .fault(mark)
        case .dropped(let reason): self = .dropped(code: reason.code, words: reason.description)
        }
    }

    /// - Parameter session: The session of the frame.
    func fate(session: UInt8) -> FrameFate? {
        switch self {
        case .own: .byRelay
        case .replaced: .replaced
        case .amended: .amended
        case .fault(let mark): .faulted(mark)
        case .dropped(let code, _):
            .dropped(DropReason(code: code, session: session) ?? .noSuchSession(session))
        case .waits, .grant, .masked, .earlier, .offset: nil
        }
    }
}
