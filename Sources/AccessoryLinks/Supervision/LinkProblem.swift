import Glibc

/// Why there is no link at the moment: a code for programs, a message and a remedy for people.
/// Transports throw it, `LinkSupervisor` reports it, the status page and the log show it.
package struct LinkProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The device node does not exist.
        case absent
        /// Several devices fit the address, and nothing says which one is meant.
        case ambiguous
        /// The device is in use elsewhere.
        case busy
        /// The permissions of the node keep relayd out.
        case permissionDenied = "permission_denied"
        /// Nothing listens there, or the peer refused.
        case refused
        /// No answer in time.
        case timedOut = "timed_out"
        /// No route, or an unknown host name.
        case unreachable
        /// The path exists but is no tty.
        case notATerminal = "not_a_terminal"
        /// The driver cannot do what the options ask for.
        case unsupported
        /// The device went away while the link was open.
        case vanished
        /// The other end closed the link.
        case closedByPeer = "closed_by_peer"
        /// relayd itself closed the link.
        case closedHere = "closed_here"
        /// Everything else; the message names the system's error.
        case other
    }

    package let code: Code
    /// What happened, one sentence without a full stop.
    package let message: String
    /// What to do about it, when there is something to do.
    package let remedy: String?

    @inline(never)
    package init(_ code: Code, _ message: String, remedy: String? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    package var description: String {
        remedy.map { "\(message); \($0)" } ?? message
    }

    /// For a system call that failed in an unforeseen way.
    @inline(never)
    static func system(_ what: String, errno error: CInt) -> LinkProblem {
        LinkProblem(.other, "\(what): \(systemMessage(error))")
    }
}

/// The system's message for an errno value. (glibc's strerror is thread-safe since 2.32.)
func systemMessage(_ error: CInt) -> String {
    guard let text = strerror(error) else { return "error \(error)" }
    return String(cString: text)
}
