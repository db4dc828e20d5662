/// relayctl's exit codes for scripts; the same for every command that asks about the chain.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    /// All is well: the head unit is open and apps can connect.
    case ok = 0
    /// relayd runs, but the head unit is not open or apps cannot connect.
    case notConnected = 1
    /// relayd is not running, or cannot be asked: not permitted, no answer, not relayd.
    case notRunning = 2
    /// relayd runs and refused the request: no such app, not permitted, not possible now.
    case refused = 3
    /// The output cannot be written: a full disk (EX_IOERR of sysexits.h).
    case outputFailed = 74
    /// The command line was not understood (EX_USAGE of sysexits.h, as ArgumentParser has it).
    case usage = 64

    package init(_ health: Health) {
        self = health == .ok ? .ok : .notConnected
    }

    /// One line per code, for help texts.
    package static let discussion = """
        \(codes(
            ok: "all is well: head unit open, apps can connect",
            failed: "head unit not open, or apps cannot connect",
            refused: "relayd refused: no such app, not permitted"))
          74  the output cannot be written
        """

    /// The exit codes of one command that asks relayd.
    package static func codes(
        ok: String, failed: String? = nil,
        unreachable: String = "relayd is not running, or cannot be asked",
        refused: String = "relayd refused"
    ) -> String {
        """
        EXIT CODES
          0   \(ok)\(failed.map { "\n  1   \($0)" } ?? "")
          2   \(unreachable)
          3   \(refused)
          64  the command line was not understood
        """
    }
}
