/// From which to which version of the RPC specification a function, parameter, struct, enumeration
/// or value exists; part of every entry of the catalogue.
public struct RPCLifetime: Hashable, Sendable {
    /// 0 stands for "not said"; versions are packed, because the catalogue holds thousands.
    private var packedSince: UInt32 = 0
    private var packedUntil: UInt32 = 0
    private var packedDeprecated: UInt32 = 0
    public private(set) var isDeprecated = false

    public init(
        since: SDLVersion? = nil, until: SDLVersion? = nil, isDeprecated: Bool = false,
        deprecated: SDLVersion? = nil
    ) {
        packedSince = since?.packed ?? 0
        packedUntil = until?.packed ?? 0
        packedDeprecated = deprecated?.packed ?? 0
        self.isDeprecated = isDeprecated || deprecated != nil
    }

    /// The first version with it; nil when it is as old as what it belongs to.
    public var since: SDLVersion? { SDLVersion(packed: packedSince) }
    /// The first version without it; nil while it exists.
    public var until: SDLVersion? { SDLVersion(packed: packedUntil) }
    /// The first version that calls it deprecated; also nil when it is deprecated, but the
    /// specification does not say since when.
    public var deprecated: SDLVersion? { SDLVersion(packed: packedDeprecated) }

    /// Reads a lifetime as a specification states it: there the `since` of something deprecated
    /// says since when it is deprecated.
    init(statedSince since: SDLVersion?, until: SDLVersion?, isDeprecated: Bool) {
        self.init(
            since: since, until: until, isDeprecated: isDeprecated,
            deprecated: isDeprecated ? since : nil)
    }

    /// Extends it to earlier versions, where it was defined or named otherwise.
    mutating func extend(toEarlier earlier: RPCLifetime) {
        packedSince = min(packedSince, earlier.packedSince)
    }
}

extension SDLVersion {
    /// Comparable like the version itself; parts above 1023 count as 1023.
    var packed: UInt32 {
        func part(_ number: Int) -> UInt32 { UInt32(min(max(number, 0), 1023)) }
        return part(major) << 20 | part(minor) << 10 | part(patch)
    }

    init?(packed: UInt32) {
        guard packed != 0 else { return nil }
        self.init(Int(packed >> 20), Int(packed >> 10 & 1023), Int(packed & 1023))
    }

    /// As specifications write it: "8", "4.5", "4.2.1".
    public init?(text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var numbers = [0, 0, 0]
        for (index, part) in parts.enumerated() {
            guard part.utf8.count <= 3, part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(part)
            else { return nil }
            numbers[index] = number
        }
        self.init(numbers[0], numbers[1], numbers[2])
    }

    /// As people say it, without a last part of 0: "7.1", "4.2.1".
    public var short: String {
        patch == 0 ? "\(major).\(minor)" : description
    }
}
