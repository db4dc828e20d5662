// The names of relayd's threads, and how they share the processors with each other and with other
// programs; set by the threads themselves.

import CShims
import Glibc

/// If the kernel does not allow or support a setting, nothing changes. As with nice(1), niceness is
/// relative to what relayd was started with; a thread inherits it from the thread that starts it.
enum ThreadScheduling {
    /// On a contended processor, apps and head units on this machine get three times as much time
    /// as the relay: so they finish writing, and their frames are read in groups. This costs
    /// nothing while processors are free, and forwards about twice as many 64 B frames as at 0. At
    /// 10, an RPC beside a flood from another app on this machine waits three times as long as at 5.
    private static let relaying: CInt = 5
    /// When the relay wants the processor too, decoding and logging get a quarter of it. Frames they
    /// cannot process in time are missed and counted; frames do not wait for them.
    private static let observing: CInt = 10
    /// In nanoseconds; the longest slice Linux grants.
    ///
    /// A running thread, however nice, keeps the processor until it has used its slice: 1.4 ms on
    /// two processors, unless it asks for another. A thread that wakes up gets the processor at
    /// once only if its own slice is shorter (EEVDF, Linux 6.12). Every other thread's slice is
    /// shorter than this one.
    private static let observersSlice: UInt64 = 100_000_000

    /// For the relay's loop, and for threads it starts.
    static func relay() {
        set(name: "relay", niceness: relaying)
    }

    /// For threads that do little and must not wait: as nice as relayd was started.
    static func normalPriority(as name: String) {
        set(name: name, niceness: 0)
    }

    /// For threads that decode and log: any other thread that wakes up goes first, of any program.
    ///
    /// - Parameter name: what `top -H` shows, up to 15 characters.
    static func lowPriority(as name: String) {
        set(name: name, niceness: observing)
        _ = relay_thread_set_slice(observersSlice)
    }

    private static func set(name: String, niceness: CInt) {
        _ = relay_thread_set_name(name)
        // On Linux these numbers denote threads: the main thread, and 0 the calling one.
        let started = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(getpid()))
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, started + niceness)
    }
}
