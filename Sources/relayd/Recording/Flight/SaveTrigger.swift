import DidYouMean
package import SDLAdvice

/// An event that makes the flight recorder write a file automatically: an element of
/// `record.save_on`.
package enum SaveTrigger: RawRepresentable, Hashable, Sendable {
    /// An app left without unregistering, or its connection broke.
    case appCrash
    /// The link ended, but relayd did not end it.
    case linkLost
    case advice(AdviceCode)

    private static let advicePrefix = "advice:"
    static let expected = "app_crash, link_lost or advice:CODE ('relayctl explain' has the codes)"

    package var rawValue: String {
        switch self {
        case .appCrash: "app_crash"
        case .linkLost: "link_lost"
        case .advice(let code): Self.advicePrefix + code.rawValue
        }
    }

    package init?(rawValue: String) {
        switch rawValue {
        case "app_crash": self = .appCrash
        case "link_lost": self = .linkLost
        case _ where rawValue.hasPrefix(Self.advicePrefix):
            let word = String(rawValue.dropFirst(Self.advicePrefix.count))
            guard let code = AdviceCode(rawValue: word) else { return nil }
            self = .advice(code)
        default: return nil
        }
    }

    /// The trigger that was probably meant.
    static func nearest(_ text: String) -> String? { Spelling.nearest(text, in: words) }

    package static let words =
        ["app_crash", "link_lost"] + AdviceCode.allCases.map { advicePrefix + $0.rawValue }
}
