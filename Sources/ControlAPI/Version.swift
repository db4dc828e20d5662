internal import CVersion

/// The version of relayd and relayctl, which are built and shipped together.
///
/// Printed by `--version` of both programs, sent in the `Server` header of the control socket and
/// in the status.
package enum Version {
    /// The release, numbered as semver.org says.
    package static let release = "0.1.0"

    /// The release and the commit of this build, if it was given: "0.1.0+81a52d7b0".
    /// `Scripts/build-release` gives it; the commit ends with "-dirty" if files had been changed.
    package static let current = with(build: String(cString: relay_build()))

    static func with(build: String) -> String {
        build.isEmpty ? release : "\(release)+\(build)"
    }
}
