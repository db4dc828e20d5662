/// A set of session IDs, 0…255, as 256 bits: costs no allocation. Shared by decoder and router.
public struct SessionSet: Hashable, Sendable {
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    public init() {}

    public func contains(_ session: UInt8) -> Bool {
        word(session) & bit(session) != 0
    }

    public mutating func insert(_ session: UInt8) {
        setWord(session, to: word(session) | bit(session))
    }

    public mutating func remove(_ session: UInt8) {
        setWord(session, to: word(session) & ~bit(session))
    }

    public var isEmpty: Bool { words == (0, 0, 0, 0) }

    private func bit(_ session: UInt8) -> UInt64 { 1 << UInt64(session & 63) }

    private func word(_ session: UInt8) -> UInt64 {
        switch session >> 6 {
        case 0: words.0
        case 1: words.1
        case 2: words.2
        default: words.3
        }
    }

    private mutating func setWord(_ session: UInt8, to value: UInt64) {
        switch session >> 6 {
        case 0: words.0 = value
        case 1: words.1 = value
        case 2: words.2 = value
        default: words.3 = value
        }
    }

    public static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
