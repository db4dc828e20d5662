// A head unit in a thread of its own: reads everything, at a rate or as it comes, and answers the
// RPC requests.

import Foundation
import Glibc
import Synchronization

/// Reads until it is stopped; answers each RPC request on the RPC service once it has read all of it.
final class AnsweringHeadUnit: Sendable {
    private let isStopping = Atomic(false)
    private let isDone = DispatchSemaphore(value: 0)
    private let received = Atomic(0)

    /// The bytes received so far.
    var bytesReceived: Int { received.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - bytesPerSecond: the apparent speed of the link; nil to read everything as it comes.
    ///   - answers: as they travel, by session; the correlation ID is filled in.
    init(_ socket: Socket, bytesPerSecond: Int? = nil, answers: [UInt8: [UInt8]]) {
        let thread = Thread { [self] in
            // The thread ends when the peer is gone; the code that waits for answers notices.
            try? run(socket, bytesPerSecond, answers)
            isDone.signal()
        }
        thread.start()
    }

    /// Returns when the thread has ended.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        isDone.wait()
        isDone.signal()
    }

    /// A throttled link takes this much at once: 5 ms' worth, so that it looks like a slow link and not
    /// like one that stops.
    private static let stepSeconds = 0.005

    private func run(
        _ socket: Socket, _ bytesPerSecond: Int?, _ answers: [UInt8: [UInt8]]
    ) throws {
        let step = bytesPerSecond.map { max(64, Int(Double($0) * Self.stepSeconds)) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: step ?? 256 << 10, alignment: 64)
        defer { buffer.deallocate() }
        var (scanner, answers) = (FrameScanner(), answers)
        var due = Clock.now()
        while !isStopping.load(ordering: .relaxed) {
            guard socket.isReadable(within: 50) else { continue }
            let count = try socket.read(into: buffer)
            guard count > 0 else { return }
            received.add(count, ordering: .relaxed)
            try scanner.scan(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { frame in
                // Requests have 0 in the first four bits (SDL protocol spec, "RPC payload").
                guard frame.service == 7, frame.rpcTypeAndFunction >> 28 == 0 else { return }
                try answers[frame.session]?.answer(frame.correlation, over: socket)
            }
            guard let bytesPerSecond else { continue }
            // Idle time gives the link no credit.
            due = max(due, Clock.now() - Self.stepSeconds) + Double(count) / Double(bytesPerSecond)
            let wait = due - Clock.now()
            if wait > 0 { usleep(UInt32(wait * 1e6)) }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func answer(_ correlation: UInt32, over socket: Socket) throws {
        Traffic.setCorrelation(correlation, in: &self)
        try socket.write(self)
    }
}
