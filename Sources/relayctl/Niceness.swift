// Lets whoever only looks on stand back behind relayd; `relayctl tail` asks for it.

import Glibc

/// How much this process yields to others, as nice(1) counts.
enum Niceness {
    /// The same as relayd's own threads that decode and log: on a busy machine frames go first, and
    /// a tail that falls behind is told how many messages it has missed.
    static let ofOnlookers: CInt = 10

    /// For every thread there is; later ones inherit it. Where it is not allowed, all stays as it is.
    static func standBack() {
        // On Linux a niceness is a thread's, not the process's.
        guard let directory = opendir("/proc/self/task") else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let kind = __priority_which_t(PRIO_PROCESS.rawValue)
            // Who started it behind others already wanted that.
            guard let thread = id_t(name), getpriority(kind, thread) < ofOnlookers else { continue }
            _ = setpriority(kind, thread, ofOnlookers)
        }
    }
}
