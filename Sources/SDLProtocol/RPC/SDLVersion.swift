/// A version of three numbers: of the RPC specification (`SyncMsgVersion`), which determines the
/// RPCs and parameters both sides know, or of the protocol as control payloads spell it, "5.4.0".
public struct SDLVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    public var major: Int
    public var minor: Int
    public var patch: Int

    public init(_ major: Int, _ minor: Int = 0, _ patch: Int = 0) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// Reads `syncMsgVersion`; nil when absent or without a major version.
    public init?(_ object: JSONObject?) {
        guard let object, let major = object.integer("majorVersion") else { return nil }
        self.init(
            major, object.integer("minorVersion") ?? 0, object.integer("patchVersion") ?? 0)
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    public var description: String { "\(major).\(minor).\(patch)" }
}
