// How relayd's threads share the processors; each says so for itself when it starts.

import CShims
import Glibc

/// Where the kernel does not allow it, or does not know it yet, all stays as it is.
///
/// A thread that runs keeps the processor until it has had its slice, 1.4 ms on two processors
/// unless it asks for another, however nice it is. Only a thread with a shorter slice that wakes up
/// gets it at once (EEVDF, Linux 6.12). So a frame is looked at while observers are at work.
enum ThreadScheduling {
    /// How much decoding and logging yield to the relay, as nice(1) counts: when both want the
    /// processor, they get about a tenth of it. What they cannot look at in time they miss, and
    /// count; frames do not wait for them.
    private static let niceness: CInt = 10
    /// The shortest slice that Linux grants, in nanoseconds.
    private static let shortestSlice: UInt64 = 100_000
    /// The longest.
    private static let longestSlice: UInt64 = 100_000_000

    /// For the relay's own loop: it goes first.
    static func stepForward() {
        _ = relay_thread_set_slice(shortestSlice)
    }

    /// For what decodes and logs: whoever else wakes up goes first, of whatever program.
    static func standBack() {
        // On Linux 0 is the calling thread.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        _ = relay_thread_set_slice(longestSlice)
    }
}
