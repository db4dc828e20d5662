internal import Glibc

/// Counts SIGTERM and SIGINT: the first one asks for a stop, another one for an end at once. Pure:
/// `Daemon` says when the signal came, and carries it out.
package struct StopSignals: Sendable {
    package enum Verdict: Sendable, Equatable {
        /// Sessions end politely, which may take `sessions.farewell_timeout` and some seconds.
        case stop
        /// Whoever sent it does not want to wait.
        case endAtOnce
        case ignore
    }

    /// Signals so close together are one wish: timeout(1) sends its signal to relayd and then to
    /// relayd's process group. Nobody decides to press ^C again in less.
    package static let oneWish = Duration.milliseconds(500)

    private var asked: ContinuousClock.Instant?

    package init() {}

    /// What a signal means that ends relayd.
    ///
    /// - Parameter isHangUp: The terminal is gone. The kernel and the shell both say so, and nobody is
    ///   left who could be impatient.
    package mutating func verdict(
        isHangUp: Bool, at now: ContinuousClock.Instant
    ) -> Verdict {
        guard let asked else {
            asked = now
            return .stop
        }
        return isHangUp || now - asked < Self.oneWish ? .ignore : .endAtOnce
    }

    /// Ends the process as the signal does by itself, so that a shell and systemd see what it was.
    package static func end(by number: CInt) -> Never {
        signal(number, SIG_DFL)
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, number)
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
        raise(number)
        // As a shell calls it, should the signal have been lost.
        _exit(128 + number)
    }
}
