import ControlAPI
import NIOCore
import RelayCore
import Synchronization

/// Keeps the latest traffic in memory. A sink of the tap with a thread of its own, so that it continues
/// while a disk hangs. Frames that arrive faster than it reads them are dropped, and marked by a gap.
/// `Recorder` starts it and writes its files.
final class FlightRecorder: Sendable {
    /// The value of `record.last`: total bytes, including the queue and memory that `malloc` leaves
    /// unused.
    let maximumBytes: Int
    let queue: TapQueue
    private let loop: any EventLoop
    private let ring: Mutex<FlightRing>

    /// Bytes taken from the queue at once, so that a report does not have to wait long.
    private static let bytesAtOnce = 1 << 20

    /// One part in this many is set aside for free memory between kept items, into which no frame has
    /// fitted so far: small frames make room for large ones, and large ones for small. On a busy machine
    /// batches differ most in size, and almost a third of the memory malloc holds is unused this way.
    private static let unusedShare = 3

    init(maximumBytes: Int, on loop: any EventLoop) {
        self.maximumBytes = maximumBytes
        self.loop = loop
        // The queue is empty as long as there is processor time, so most of the space is the
        // ring's.
        let queueBytes = min(maximumBytes / 8, 16 << 20)
        queue = TapQueue(maximumBytes: queueBytes)
        ring = Mutex(
            FlightRing(maximumBytes: maximumBytes - queueBytes - maximumBytes / Self.unusedShare))
    }

    /// Runs until the queue ends.
    func run() async {
        while let items = await queue.nextBatch(atMost: Self.bytesAtOnce) {
            ring.withLock { ring in
                for item in items { ring.append(item) }
            }
        }
    }

    /// Returns when everything put into the queue is in the ring.
    func settle() async throws {
        try await loop.submit {}.get()
        try await loop.submit {}.get()
    }

    func contents() -> FlightRing.Contents { ring.withLock { $0.contents(at: .now()) } }

    /// - Parameter saved: Its files, the newest first.
    func report(
        _ saveOn: [SaveTrigger], _ saved: [RecordReport.Saved]
    ) -> RecordReport.Flight {
        ring.withLock { ring in
            RecordReport.Flight(
                limit: maximumBytes, keptBytes: ring.occupiedBytes,
                since: ring.began.map { Timestamp($0) }, frames: ring.frames,
                missedFrames: ring.missedFrames, saveOn: saveOn.map(\.rawValue), saved: saved)
        }
    }
}
