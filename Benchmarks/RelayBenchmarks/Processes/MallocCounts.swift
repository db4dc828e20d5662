// Reads how often the threads of a process allocated; `CMallocCounter` does the counting.

import CMallocCounter
import Glibc

/// The table that a process with the preloaded counter fills.
final class MallocCounts {
    private let table: UnsafeMutableRawPointer
    private static let bytes =
        Int(MALLOC_COUNTER_THREADS) * MemoryLayout<malloc_count>.stride

    /// - Parameter path: the file that `MALLOC_COUNTER_FILE` names for the process.
    init(path: String) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw BenchmarkError.system("open \(path)") }
        defer { close(file) }
        guard let table = mmap(nil, Self.bytes, PROT_READ, MAP_SHARED, file, 0),
            table != MAP_FAILED
        else { throw BenchmarkError.system("mmap \(path)") }
        self.table = table
    }

    deinit { munmap(table, Self.bytes) }

    /// Allocations so far by thread ID.
    func allocations() -> [Int: Int] {
        Self.allocations { malloc_counter_read(table, $0) }
    }

    /// Allocations so far of this process's own threads.
    static func ownAllocations() -> [Int: Int] {
        allocations { malloc_counter_entry($0) }
    }

    private static func allocations(_ entry: (Int32) -> malloc_count) -> [Int: Int] {
        var counts: [Int: Int] = [:]
        for index in 0..<Int32(MALLOC_COUNTER_THREADS) {
            let count = entry(index)
            if count.thread != 0 { counts[Int(count.thread), default: 0] += Int(count.allocations) }
        }
        return counts
    }
}
