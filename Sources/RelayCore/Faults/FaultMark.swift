/// What a fault rule has done to a frame that passed.
package struct FaultMark: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The frame had to wait, itself or behind another.
        case held
        /// The bytes are not those that came.
        case corrupted
        case truncated
        /// The frame came once, and this is an extra copy.
        case repeated
        /// Another frame went before it.
        case reordered
    }

    package var rule: UInt32
    package var kind: Kind

    /// Whether the bytes are those that came, and the frame passes only as often as it came.
    package var isAsItCame: Bool { kind == .held || kind == .reordered }

    package init(rule: UInt32, kind: Kind) {
        self.rule = rule
        self.kind = kind
    }
}

extension FaultMark: CustomStringConvertible {
    package var description: String { "\(kind) by fault rule \(rule)" }
}
