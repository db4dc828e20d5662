internal import Glibc

/// Tells the two meanings of SIGHUP apart: somebody asks for a reload, or the terminal is gone.
/// `Daemon` asks.
///
/// The kernel sends it when a terminal hangs up, and people send it to have a configuration read again.
/// A terminal that has hung up is not a terminal any more (isatty(3) fails with EIO), so what counts is
/// whether one that was there at the start still is.
package struct HangUp: Sendable {
    package enum Verdict: Sendable, Equatable {
        case reload
        /// Nobody looks any more.
        case stop
    }

    /// Standard streams that were terminals at the start.
    private let terminals: [CInt]
    private let isTerminal: @Sendable (CInt) -> Bool

    /// To be made before any signal can come.
    package init(isTerminal: @escaping @Sendable (CInt) -> Bool) {
        self.isTerminal = isTerminal
        terminals = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].filter(isTerminal)
    }

    /// As it is at this moment.
    package static var now: HangUp { HangUp { isatty($0) == 1 } }

    /// What a SIGHUP that comes now means.
    package func verdict() -> Verdict {
        terminals.allSatisfy(isTerminal) ? .reload : .stop
    }
}
