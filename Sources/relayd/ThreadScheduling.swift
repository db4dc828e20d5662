// How relayd's threads share the processors; each says so for itself when it starts.

import CShims
import Glibc

/// Where the kernel does not allow it, or does not know it yet, all stays as it is.
enum ThreadScheduling {
    /// How much decoding and logging yield to the relay, as nice(1) counts: when both want the
    /// processor, they get about a tenth of it. What they cannot look at in time they miss, and
    /// count; frames do not wait for them.
    private static let niceness: CInt = 10
    /// The shortest that Linux grants, in nanoseconds. A thread that wakes up has to wait until the
    /// one that runs has had its slice, by default 1.4 ms on two processors, however nice that is.
    private static let slice: UInt64 = 100_000

    /// For the relay's own loop: a frame that comes is looked at soon.
    static func stepForward() {
        _ = relay_thread_set_slice(slice)
    }

    /// For what decodes and logs: it lets everybody else go first, and soon.
    static func standBack() {
        // On Linux 0 is the calling thread.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        _ = relay_thread_set_slice(slice)
    }
}
