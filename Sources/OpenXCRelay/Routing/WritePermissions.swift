import OpenXCProtocol

/// What a client may write to the vehicle. Nothing by default: a write is not acknowledged, and may move a
/// car.
package struct WritePermissions: Hashable, Sendable {
    package var rules: [WriteRule]

    package static let none = WritePermissions([])

    package init(_ rules: [WriteRule]) {
        self.rules = rules
    }

    func allow(_ content: VehicleMessage.Content) -> Bool {
        rules.contains { $0.allows(content) }
    }
}

/// One thing that may be written: `can`, `can:1`, `can:1:0x7e0`, `can:1:0x700-0x7ff`, `name`,
/// `name:horn`.
package struct WriteRule: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: Hashable, Sendable {
        /// A bus of nil means any bus, including an unnamed one.
        case can(bus: Int32?, ids: IdentifierRange)
        /// Nil means any name.
        case name(String?)
    }

    private let kind: Kind
    /// The text as it was configured.
    package let description: String

    package static let expected =
        "can, can:BUS, can:BUS:ID, can:BUS:FIRST-LAST, name or name:SIGNAL, "
        + "such as can:1:0x7e0 or name:horn"

    /// Nil for a text that is not a rule; `expected` says what one looks like.
    package init?(_ text: String) {
        description = text
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.count) {
        case ("can", 1): kind = .can(bus: nil, ids: .all)
        case ("can", 2), ("can", 3):
            guard let bus = Int32(parts[1]), bus > 0, !parts[1].hasPrefix("+") else { return nil }
            guard let ids = parts.count == 2 ? .all : IdentifierRange(parts[2]) else { return nil }
            kind = .can(bus: bus, ids: ids)
        case ("name", 1): kind = .name(nil)
        case ("name", 2):
            guard !parts[1].isEmpty else { return nil }
            kind = .name(parts[1])
        default: return nil
        }
    }

    func allows(_ content: VehicleMessage.Content) -> Bool {
        switch (content, kind) {
        case (.can(let message), .can(let bus, let ids)):
            (bus == nil || bus == message.bus) && ids.contains(message.id)
        case (.measurement(let measurement), .name(let name)):
            name == nil || name == measurement.name
        default: false
        }
    }
}

/// Identifiers of a CAN bus: `0x7e8`, `2024` or `0x700-0x7ff`.
package struct IdentifierRange: Hashable, Sendable, CustomStringConvertible {
    private let range: ClosedRange<UInt32>
    /// The text as it was configured.
    package let description: String

    package static let expected = "an identifier or a range of them, such as 0x7e8 or 0x700-0x7ff"

    static let all = IdentifierRange(range: 0...UInt32.max, description: "all")

    private init(range: ClosedRange<UInt32>, description: String) {
        self.range = range
        self.description = description
    }

    /// Nil if the text is not valid; `expected` says what one looks like.
    package init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map(Self.number)
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
            first <= last
        else { return nil }
        self.init(range: first...last, description: text)
    }

    private static func number(_ text: Substring) -> UInt32? {
        guard let first = text.utf8.first, (0x30...0x39).contains(first) else { return nil }
        guard text.hasPrefix("0x") else { return UInt32(text) }
        let digits = text.dropFirst(2)
        return digits.utf8.allSatisfy { $0 != 0x2B } ? UInt32(digits, radix: 16) : nil
    }

    package func contains(_ id: UInt32) -> Bool { range.contains(id) }
}
