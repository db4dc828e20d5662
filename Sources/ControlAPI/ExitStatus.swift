/// What relayctl's exit code tells a script; the same for every command that asks about the chain.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    /// All is well: the head unit is open and apps can connect.
    case ok = 0
    /// relayd runs, but the head unit is not open or apps cannot connect.
    case notConnected = 1
    /// relayd is not running, or cannot be asked: not permitted, no answer, not relayd.
    case notRunning = 2
    /// relayd runs and refused what was asked: no such app, not permitted, not possible now.
    case refused = 3
    /// What was to be shown cannot be written: a full disk (EX_IOERR of sysexits.h).
    case outputFailed = 74
    /// The command line was not understood (EX_USAGE of sysexits.h, as ArgumentParser has it).
    case usage = 64

    package init(_ health: Health) {
        self = health == .ok ? .ok : .notConnected
    }

    /// One line per code, for help texts.
    package static let discussion = """
        EXIT CODES
          0   all is well: the head unit is open and apps can connect
          1   relayd runs, but the head unit is not open or apps cannot connect
          2   relayd is not running, or cannot be asked
          3   relayd refused: no such app, not permitted, not possible now
          64  the command line was not understood
          74  the output cannot be written
        """
}
