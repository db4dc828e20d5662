/// `SyncMsgVersion`, the version of the RPC specification that app and head unit agree on: which
/// RPCs and parameters both sides know.
package struct RPCVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var major: Int
    package var minor: Int
    package var patch: Int

    package init(major: Int, minor: Int, patch: Int) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// Reads `syncMsgVersion`; nil when absent or without a major version.
    package init?(_ object: JSONObject?) {
        guard let object, let major = object.integer("majorVersion") else { return nil }
        self.init(
            major: major, minor: object.integer("minorVersion") ?? 0,
            patch: object.integer("patchVersion") ?? 0)
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    package var description: String { "\(major).\(minor).\(patch)" }
}
