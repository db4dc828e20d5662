// Measures a piece of code in this process: processor time and allocations of the calling thread.

import CMallocCounter
import Glibc

/// Numbers of one microbenchmark, one per round.
struct Micro {
    private(set) var nanoseconds: [Double] = []
    private(set) var mallocs: [Double] = []

    /// - Parameters:
    ///   - operations: how many frames or lines one call of `body` handles.
    ///   - body: runs on the calling thread and does not wait.
    init(_ setting: Setting, operations: Int, _ body: () throws -> Void) rethrows {
        // Warms up caches, tables and buffers.
        try body()
        let repetitions = setting.isQuick ? 2 : 10
        for _ in 0..<setting.rounds {
            let allocations = malloc_counter_here()
            let start = Clock.now(CLOCK_THREAD_CPUTIME_ID)
            for _ in 0..<repetitions { try body() }
            let seconds = Clock.now(CLOCK_THREAD_CPUTIME_ID) - start
            let count = Double(repetitions * operations)
            nanoseconds.append(seconds * 1e9 / count)
            mallocs.append(Double(malloc_counter_here() - allocations) / count)
        }
    }
}

extension Findings {
    mutating func add(_ subject: String, _ contestant: String, _ micro: Micro, per unit: String) {
        add(subject, contestant, "ns/\(unit)", micro.nanoseconds, "ns")
        add(subject, contestant, "mallocs/\(unit)", micro.mallocs, "")
    }
}
