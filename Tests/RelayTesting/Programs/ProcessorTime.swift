// What a test measures instead of time by the clock, which goes on while a busy machine runs others.

import Glibc

/// Processor time.
package enum ProcessorTime {
    /// Seconds of the calling thread.
    package static func ofThread() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
