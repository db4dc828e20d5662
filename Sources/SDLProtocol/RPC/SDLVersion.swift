/// A version of three numbers: of the RPC specification (`SyncMsgVersion`), which determines the
/// RPCs and parameters both sides know, or of the protocol as control payloads spell it, "5.4.0".
package struct SDLVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var major: Int
    package var minor: Int
    package var patch: Int

    package init(_ major: Int, _ minor: Int = 0, _ patch: Int = 0) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// Reads `syncMsgVersion`; nil when absent or without a major version.
    package init?(_ object: JSONObject?) {
        guard let object, let major = object.integer("majorVersion") else { return nil }
        self.init(
            major, object.integer("minorVersion") ?? 0, object.integer("patchVersion") ?? 0)
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    package var description: String { "\(major).\(minor).\(patch)" }
}
