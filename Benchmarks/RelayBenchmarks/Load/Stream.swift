// As many frames as go: one thread writes frame by frame, another reads.

import Foundation
import Synchronization

/// Which way a stream goes.
enum StreamDirection: String, CaseIterable {
    case fromApp = "app to head unit"
    case fromHeadUnit = "head unit to app"
}

/// A stream of frames of one size through a lane.
struct Stream {
    let lane: Lane
    let direction: StreamDirection
    let frameBytes: Int
    /// Frames in turn, one behind the other.
    private let wire: [UInt8]

    struct Result {
        var bytes: Int
        var frames: Int
        /// From the first write to the last byte read.
        var seconds: Double
        /// Of the program in the middle, what it did behind the stream included.
        var processorSeconds: Double

        var megabytesPerSecond: Double { Double(bytes) / seconds / 1e6 }
        var processorSecondsPerGigabyte: Double { processorSeconds / Double(bytes) * 1e9 }
    }

    private static let variety = 64
    private static let readBytes = 256 << 10

    /// Requests get new correlation IDs.
    private let isNumbered: Bool

    init(_ lane: Lane, _ direction: StreamDirection, frameBytes: Int, isVideo: Bool = false) {
        self.lane = lane
        isNumbered = direction == .fromApp && !isVideo
        self.direction = direction
        self.frameBytes = frameBytes
        wire = Traffic.wire(
            (1...Self.variety).map { number in
                let message = UInt32(number)
                if isVideo {
                    return Traffic.video(
                        session: lane.session, bytes: frameBytes, message: message)
                }
                return direction == .fromApp
                    ? Traffic.upload(
                        session: lane.session, bytes: frameBytes, message: message,
                        correlation: Int32(number))
                    : Traffic.download(
                        session: lane.session, bytes: frameBytes, message: message)
            })
    }

    /// Sends for about so long, at the rate seen before, and waits until all has arrived.
    func run(seconds: Double, rate: Double) throws -> Result {
        try run(bytes: Int(rate * 1e6 * seconds))
    }

    /// Message ID and correlation ID, as no library uses one twice in a row.
    private static func number(
        _ frame: UnsafeMutableRawBufferPointer, _ message: UInt32, isRequest: Bool
    ) {
        frame.storeBytes(of: message.bigEndian, toByteOffset: 8, as: UInt32.self)
        guard isRequest else { return }
        frame.storeBytes(of: message.bigEndian & 0xFFFF_FF7F, toByteOffset: 16, as: UInt32.self)
    }

    /// Sends about `bytes` bytes and waits until they have arrived.
    func run(bytes: Int) throws -> Result {
        let rounds = max(1, bytes / wire.count)
        let total = rounds * wire.count
        let (source, sink) =
            direction == .fromApp ? (lane.app, lane.headUnit) : (lane.headUnit, lane.app)
        let failure = Mutex<(any Error)?>(nil)
        let before = lane.child.settledProcessorTime()
        let (wire, frameBytes, isNumbered) = (wire, frameBytes, isNumbered)
        let start = Clock.now()
        let writer = Thread {
            var (wire, message) = (wire, UInt32(0))
            do {
                try wire.withUnsafeMutableBytes { bytes in
                    for _ in 0..<rounds {
                        for offset in stride(from: 0, to: bytes.count, by: frameBytes) {
                            message &+= 1
                            let frame = UnsafeMutableRawBufferPointer(
                                rebasing: bytes[offset..<offset + frameBytes])
                            Self.number(frame, message, isRequest: isNumbered)
                            try source.write(UnsafeRawBufferPointer(frame))
                        }
                    }
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        writer.start()
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.readBytes, alignment: 64)
        defer { buffer.deallocate() }
        do {
            try sink.discard(total, buffer: buffer)
        } catch {
            throw failure.withLock { $0 } ?? error
        }
        let seconds = Clock.now() - start
        return Result(
            bytes: total, frames: total / frameBytes, seconds: seconds,
            processorSeconds: lane.child.settledProcessorTime() - before)
    }
}
