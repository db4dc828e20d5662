internal import Glibc

/// Counts SIGTERM and SIGINT: the first one asks for a clean stop, another one for an immediate
/// end. Pure: `Daemon` passes the time of the signal, and carries out the verdict.
package struct StopSignals: Sendable {
    package enum Verdict: Sendable, Equatable {
        /// Sessions end cleanly, which may take `sessions.farewell_timeout` and some seconds.
        case stop
        /// The sender does not want to wait.
        case endAtOnce
        case ignore
    }

    /// Signals this close together count as one: timeout(1) sends its signal to relayd and then to
    /// relayd's process group. Nobody decides to press ^C again in less time.
    package static let oneWish = Duration.milliseconds(500)

    private var asked: ContinuousClock.Instant?

    package init() {}

    /// The meaning of a signal that ends relayd.
    ///
    /// - Parameter isHangUp: The terminal is gone. The kernel and the shell both send the signal, and
    ///   nobody is left who could be impatient.
    package mutating func verdict(
        isHangUp: Bool, at now: ContinuousClock.Instant
    ) -> Verdict {
        guard let asked else {
            asked = now
            return .stop
        }
        return isHangUp || now - asked < Self.oneWish ? .ignore : .endAtOnce
    }

    /// Ends the process as the signal does by default, so that a shell and systemd see which one it
    /// was.
    package static func end(by number: CInt) -> Never {
        signal(number, SIG_DFL)
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, number)
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
        raise(number)
        // The status a shell uses, in case the signal was lost.
        _exit(128 + number)
    }
}
