/// The number of an RPC function, 28 bits, with its name for people; request, response and
/// notification share one space.
public struct FunctionID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The function of that name in the specification, as v1 messages and filters name it.
    public init?(name: String) {
        guard let id = Self.byName[name] else { return nil }
        self = id
    }

    /// The specification's name; nil for a number it does not know.
    public var name: String? { Self.byID[self] }

    private static let byID = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0.name) })
    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.id) })
}

extension FunctionID: CustomStringConvertible {
    /// The name, or the number in hex when the specification has none.
    public var description: String { name ?? "function 0x" + String(rawValue, radix: 16) }
}
