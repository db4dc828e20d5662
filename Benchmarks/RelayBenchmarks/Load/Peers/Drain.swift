// A peer that reads all the time and discards the bytes.

import Foundation
import Synchronization

/// Reads from a socket in a thread of its own, until it ends or is told to stop.
final class Drain: Sendable {
    private let isStopping = Atomic(false)
    private let isDone = DispatchSemaphore(value: 0)
    private let read = Atomic(0)

    /// The length of silence after which no more bytes are assumed to be on the way.
    private static let silenceMilliseconds: Int32 = 100

    var bytesRead: Int { read.load(ordering: .relaxed) }

    init(_ socket: Socket) {
        let thread = Thread { [self] in
            let buffer = UnsafeMutableRawBufferPointer.allocate(
                byteCount: 256 << 10, alignment: 64)
            defer { buffer.deallocate() }
            while true {
                guard socket.isReadable(within: Self.silenceMilliseconds) else {
                    if isStopping.load(ordering: .relaxed) { break }
                    continue
                }
                guard let count = try? socket.read(into: buffer), count > 0 else { break }
                read.add(count, ordering: .relaxed)
            }
            isDone.signal()
        }
        thread.start()
    }

    /// Reads the bytes that are on the way, then returns; the connection stays open.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        isDone.wait()
        isDone.signal()
    }
}
