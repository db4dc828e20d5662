import AccessoryLinks
import Glibc

/// Lowers the priority of a command that follows traffic. Nobody reads thousands of lines a second, but
/// relayd and its apps need the processor then: the command gives way, and reports the messages it
/// missed. Called by `Output.follow`.
enum LowPriority {
    /// As nice(1) counts, from the value relayctl was started with; the same as for relayd's own
    /// decoding.
    private static let steps: CInt = 10

    /// Applies to all existing threads and those that they start. Where the kernel does not allow it,
    /// nothing changes.
    static func begin() {
        // libdispatch gives its threads nice 0 when it starts them. A nice thread may not do so, and
        // libdispatch would complain on standard error.
        setenv("LIBDISPATCH_LOG", "NO", 1)
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        let started = getpriority(process, id_t(getpid()))
        for thread in DeviceNode.entries(of: "/proc/self/task").compactMap({ id_t($0) }) {
            _ = setpriority(process, thread, started + steps)
        }
    }
}
