// What a test measures instead of clock time, which also passes while a busy machine runs other programs.

import Glibc

/// Processor time.
package enum ProcessorTime {
    /// Processor time of the calling thread, in seconds.
    package static func ofThread() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
