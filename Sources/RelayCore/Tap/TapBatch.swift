// The frames of one or more reads, copied: filled by `TapSink`, taken apart by the reader of the queue.

import NIOCore
import SDLProtocol

/// A number of frames, and their bytes.
struct FrameSum {
    private(set) var frames = 0
    private(set) var bytes = 0

    mutating func count(_ size: Int) {
        frames += 1
        bytes += size
    }

    /// Bytes of no frame.
    mutating func bytes(_ count: Int) {
        bytes += count
    }
}

/// Frames on their way to one sink.
///
/// Frames are copied: a slice would keep a whole read buffer alive, up to 256 KiB for a frame of 64 B,
/// and the channel would need a new one for its next read, which costs more than copying bytes that
/// have just come. `TapPayload` says what is copied besides the header.
struct TapBatch {
    private let payload: TapPayload
    private var entries: [Entry] = []
    /// The copied frames, one behind the other.
    private var copies = ByteBuffer()
    /// Bytes of the frames that were copied, and `TapSink.overheadBytes` each.
    private(set) var bytes = 0
    /// What the batch keeps in memory: the storage of the copies may be up to twice as large as they are,
    /// and so may the table.
    var occupiedBytes: Int {
        copies.storageCapacity
            + max(
                entries.capacity * MemoryLayout<Entry>.stride,
                entries.count * TapSink.overheadBytes)
    }
    /// What the frames had on the wire.
    private(set) var wireBytes = 0
    /// Whether it holds anything but audio and video.
    private(set) var hasMoreThanStreams = false

    private struct Entry {
        /// Without its bytes.
        var frame: TappedFrame
        /// Where in `copies` its bytes are.
        var copy: Range<Int>
    }

    init(_ payload: TapPayload) {
        self.payload = payload
    }

    /// What the copied frames are in.
    var storage: ByteBuffer { copies }
    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    @inline(__always)
    mutating func append(_ frame: TappedFrame) {
        let wire = frame.frame.wire
        wireBytes += wire.readableBytes
        let isStream = frame.frame.service.isStream && frame.frame.type != .control
        if !isStream { hasMoreThanStreams = true }
        let size = payload.includes(isStream) ? wire.readableBytes : frame.frame.headerBytes
        bytes += size + TapSink.overheadBytes
        let start = copies.writerIndex
        wire.withUnsafeReadableBytes { all in
            _ = copies.writeBytes(UnsafeRawBufferPointer(rebasing: all.prefix(size)))
        }
        var entry = Entry(frame: frame, copy: start..<copies.writerIndex)
        entry.frame.frame = Frame(checked: ByteBuffer())
        entries.append(entry)
    }

    /// Returns the batch, and leaves an empty one with room for as much again.
    ///
    /// - Parameter spare: Storage that nobody uses, if there is any.
    mutating func take(_ spare: () -> ByteBuffer?) -> TapBatch {
        var taken = self
        entries = []
        entries.reserveCapacity(taken.entries.count)
        if copies.readableBytes < copies.storageCapacity / 2 {
            // A few bytes must not keep what a busy moment needed.
            taken.copies = ByteBuffer(bytes: copies.readableBytesView)
            copies.clear()
        } else {
            copies = spare() ?? ByteBuffer()
            copies.reserveCapacity(taken.copies.readableBytes)
        }
        bytes = 0
        wireBytes = 0
        hasMoreThanStreams = false
        return taken
    }

    /// The frames. Call it once the batch no longer grows: cutting the copies out
    /// shares their storage, which an append would have to copy.
    var frames: [TappedFrame] {
        entries.map { entry in
            var frame = entry.frame
            if let wire = copies.getSlice(at: entry.copy.lowerBound, length: entry.copy.count) {
                frame.frame = Frame(checked: wire)
            }
            return frame
        }
    }
}
