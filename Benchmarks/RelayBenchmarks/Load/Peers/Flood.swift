// An app that sends all the time, in a thread of its own: as fast as it can, or at a steady rate.

import Foundation
import Glibc
import Synchronization

/// Writes the same bytes again and again until it is stopped or its connection ends.
final class Flood: Sendable {
    private let isStopping = Atomic(false)
    private let isDone = DispatchSemaphore(value: 0)
    private let written = Atomic(0)

    var bytesWritten: Int { written.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - pieces: written one by one, in turn.
    ///   - bytesPerSecond: nil for as fast as possible.
    ///   - write: blocks while the connection takes nothing.
    init(
        _ pieces: [[UInt8]], bytesPerSecond: Int? = nil,
        write: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        let thread = Thread { [self] in
            var due = Clock.now()
            loop: while true {
                for piece in pieces {
                    guard !isStopping.load(ordering: .relaxed), (try? write(piece)) != nil else {
                        break loop
                    }
                    written.add(piece.count, ordering: .relaxed)
                    guard let bytesPerSecond else { continue }
                    due = max(due, Clock.now() - 0.1) + Double(piece.count) / Double(bytesPerSecond)
                    let wait = due - Clock.now()
                    // Shorter sleeps would wake the processor more often than the load is worth.
                    if wait > 0.002 { usleep(UInt32(wait * 1e6)) }
                }
            }
            isDone.signal()
        }
        thread.start()
    }

    /// Returns when the thread has ended; a blocking write has to be ended first.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        isDone.wait()
        isDone.signal()
    }
}
