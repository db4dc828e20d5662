/// The version of relayd and relayctl, which are built and shipped together.
///
/// Printed by `--version` of both programs, sent in the `Server` header of the control socket and
/// in the status.
package enum Version {
    package static let current = "0.1.0"
}
