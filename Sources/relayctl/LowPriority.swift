import AccessoryLinks
import Glibc

/// How a command that follows traffic stays out of its way. Nobody reads thousands of lines a
/// second, but relayd and the apps beside it want the processor then: what shows them gives way,
/// and says which messages it missed. Called by `Output.follow`.
enum LowPriority {
    /// As nice(1) counts, from what relayctl was started with; what relayd's own decoding has.
    private static let steps: CInt = 10

    /// For all threads there are, and those that they start. Where the kernel does not allow it, all
    /// stays as it is.
    static func begin() {
        // libdispatch gives its threads nice 0 when it starts them, which a nice thread may not hand
        // out, and would complain about that on standard error.
        setenv("LIBDISPATCH_LOG", "NO", 1)
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        let started = getpriority(process, id_t(getpid()))
        for thread in DeviceNode.entries(of: "/proc/self/task").compactMap({ id_t($0) }) {
            _ = setpriority(process, thread, started + steps)
        }
    }
}
