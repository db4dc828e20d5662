internal import Glibc

/// Distinguishes the two meanings of SIGHUP: somebody asks for a reload, or the terminal is gone.
/// Used by `Daemon`.
///
/// The kernel sends SIGHUP when a terminal hangs up, and people send it to have the configuration read
/// again. A terminal that has hung up is no longer a terminal (isatty(3) fails with EIO), so what
/// counts is whether the terminals of the start are still there.
package struct HangUp: Sendable {
    package enum Verdict: Sendable, Equatable {
        case reload
        /// The terminal is gone.
        case stop
    }

    /// Standard streams that were terminals at the start.
    private let terminals: [CInt]
    private let isTerminal: @Sendable (CInt) -> Bool

    /// Create this before any signal can come.
    package init(isTerminal: @escaping @Sendable (CInt) -> Bool) {
        self.isTerminal = isTerminal
        terminals = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].filter(isTerminal)
    }

    /// The state at this moment.
    package static var now: HangUp { HangUp { isatty($0) == 1 } }

    /// The meaning of a SIGHUP that comes now.
    package func verdict() -> Verdict {
        terminals.allSatisfy(isTerminal) ? .reload : .stop
    }
}
