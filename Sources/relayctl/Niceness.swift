// Lets whoever only looks on stand back behind relayd; `relayctl tail` asks for it.

import Glibc

/// How much this process yields to others, as nice(1) counts.
enum Niceness {
    /// The same as relayd's own threads that decode and log: on a busy machine frames go first, and
    /// a tail that falls behind is told how many messages it has missed.
    static let ofOnlookers: CInt = 10

    /// For every thread there is; later ones inherit it. Where it is not allowed, all stays as it is.
    static func standBack() {
        // A thread that has not been reached yet may start one that is not seen any more: looks again
        // until there is nothing left to change.
        for _ in 0..<passes where !standBackOnce() { return }
    }

    /// More than it takes for the handful of threads there are.
    private static let passes = 8

    /// False when every thread stood back already.
    private static func standBackOnce() -> Bool {
        // On Linux a niceness is a thread's, not the process's.
        guard let directory = opendir("/proc/self/task") else { return false }
        defer { closedir(directory) }
        let kind = __priority_which_t(PRIO_PROCESS.rawValue)
        var hasChanged = false
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            // Who started it behind others already wanted that.
            guard let thread = id_t(name), getpriority(kind, thread) < ofOnlookers else { continue }
            if setpriority(kind, thread, ofOnlookers) == 0 { hasChanged = true }
        }
        return hasChanged
    }
}
