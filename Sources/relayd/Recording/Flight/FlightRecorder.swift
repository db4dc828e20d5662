import ControlAPI
import NIOCore
import RelayCore
import Synchronization

/// Keeps the latest traffic in memory. A sink of the tap with a thread of its own, so that it goes on while
/// a disk hangs; what comes faster than it takes it is missing, and a gap says so. `Recorder` starts it and
/// writes its files.
final class FlightRecorder: Sendable {
    /// What `record.last` says: bytes for all of it, the queue and what `malloc` leaves unused included.
    let maximumBytes: Int
    let queue: TapQueue
    private let loop: any EventLoop
    private let ring: Mutex<FlightRing>

    /// What is taken from the queue at once, so that a report need not wait for long.
    private static let bytesAtOnce = 1 << 20

    /// One part in so many lies between what is kept, where no frame has fitted so far: small frames give
    /// way to large ones, and large ones to small. On a busy machine batches differ most in size, and up to
    /// 30 % of what malloc has lie there.
    private static let unusedShare = 3

    init(maximumBytes: Int, on loop: any EventLoop) {
        self.maximumBytes = maximumBytes
        self.loop = loop
        // Empty as long as there is processor time, so most of the room is the ring's.
        let queueBytes = min(maximumBytes / 8, 16 << 20)
        queue = TapQueue(maximumBytes: queueBytes)
        ring = Mutex(
            FlightRing(maximumBytes: maximumBytes - queueBytes - maximumBytes / Self.unusedShare))
    }

    /// Until the queue ends.
    func run() async {
        while let items = await queue.nextBatch(atMost: Self.bytesAtOnce) {
            ring.withLock { ring in
                for item in items { ring.append(item) }
            }
        }
    }

    /// Returns when what the queue has been given is in the ring.
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
