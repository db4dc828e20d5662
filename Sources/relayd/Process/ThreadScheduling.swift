// How relayd's threads are called, and how they share the processors with each other and with what
// else runs; asked for by the threads themselves.

import CShims
import Glibc

/// Where the kernel does not allow it, or does not know it yet, all stays as it is. Niceness counts
/// as nice(1) does, from what relayd was started with; a thread begins as nice as the one that
/// starts it.
enum ThreadScheduling {
    /// Apps and head units on this machine get three times as much of a processor that is wanted by
    /// all: so they finish writing, and their frames are read in groups. It costs nothing while
    /// processors are free, and of 64 B frames it forwards about twice as many as at 0. At 10 an RPC
    /// beside a flood of another app on this machine waits three times as long as at 5.
    private static let relaying: CInt = 5
    /// When both want the processor, decoding and logging get a quarter of it. What they cannot look
    /// at in time they miss, and count; frames do not wait for them.
    private static let observing: CInt = 10
    /// In nanoseconds, the longest that Linux grants.
    ///
    /// A thread that runs keeps the processor until it has had its slice, 1.4 ms on two processors
    /// unless it asks for another, however nice it is. A thread that wakes up gets it at once only
    /// when its own slice is shorter (EEVDF, Linux 6.12): so every other thread does.
    private static let observersSlice: UInt64 = 100_000_000

    /// For the relay's loop, and for what it starts.
    static func relay() {
        set(name: "relay", niceness: relaying)
    }

    /// For what does little and must not wait: as nice as relayd was started.
    static func normalPriority(as name: String) {
        set(name: name, niceness: 0)
    }

    /// For what decodes and logs: whoever else wakes up goes first, of whatever program.
    ///
    /// - Parameter name: what `top -H` shows, up to 15 characters.
    static func lowPriority(as name: String) {
        set(name: name, niceness: observing)
        _ = relay_thread_set_slice(observersSlice)
    }

    private static func set(name: String, niceness: CInt) {
        _ = relay_thread_set_name(name)
        // On Linux these name threads: the main thread, and 0 the calling one.
        let started = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(getpid()))
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, started + niceness)
    }
}
