// The frames of one or more reads, copied once for all sinks: filled by `FrameTap`, seen by each sink through a
// `TapView`.

import NIOCore
import SDLProtocol

/// How much has been collected; decides when it is handed over.
struct TapLoad {
    /// Bytes of what every sink gets, and `TapSink.overheadBytes` per frame.
    fileprivate(set) var bytes = 0
    /// Bytes of the audio and video frames that are kept whole in addition.
    fileprivate(set) var streamBytes = 0
    /// Whether there is anything but audio and video.
    fileprivate(set) var hasMoreThanStreams = false

    var isEmpty: Bool { bytes == 0 }

    /// Bytes of what a sink with this payload gets.
    func bytes(for payload: TapPayload) -> Int {
        payload == .everything ? bytes + streamBytes : bytes
    }

    static func + (left: Self, right: Self) -> Self {
        Self(
            bytes: left.bytes + right.bytes, streamBytes: left.streamBytes + right.streamBytes,
            hasMoreThanStreams: left.hasMoreThanStreams || right.hasMoreThanStreams)
    }
}

/// Frames on their way to the sinks, each copied once, however many sinks there are.
///
/// A slice instead of a copy would keep a whole read buffer alive, up to 256 KiB for a frame of 64 B, and the
/// channel would need a new one for its next read, which costs more than copying bytes that have just come.
/// Whole audio and video frames have storage of their own, so that a sink that gets only their headers does
/// not keep them in memory.
struct TapBatch {
    /// What is copied besides the headers: as much as the most demanding sink gets.
    private var payload: TapPayload
    private(set) var entries: [Entry] = []
    /// Headers of audio and video frames and all of the others, one after the other.
    private(set) var copies = ByteBuffer()
    /// Whole audio and video frames, if a sink wants them.
    private(set) var streams = ByteBuffer()
    private(set) var load = TapLoad()
    /// Bytes of the frames on the wire.
    private(set) var wireBytes = 0

    /// A frame without its bytes, and where those are. Nothing in it is reference-counted, because one is made for
    /// every frame.
    struct Entry {
        fileprivate let direction: Direction
        fileprivate let app: AppID?
        fileprivate let time: WallTime
        fileprivate let fate: FrameFate
        fileprivate let grant: GrantMeaning?
        fileprivate let isWaiting: Bool
        /// Where its bytes are in `copies`.
        let copy: Place
        /// Where the whole frame is in `streams`; empty if it is not there.
        let stream: Place

        /// The frame with the bytes that a sink gets.
        func frame(_ wire: ByteBuffer) -> TappedFrame {
            TappedFrame(
                frame: Frame(checked: wire), direction: direction, app: app, time: time, fate: fate,
                grant: grant, isWaiting: isWaiting)
        }
    }

    /// A part of a buffer; buffers have at most 4 GiB.
    struct Place {
        private(set) var start: UInt32 = 0
        private(set) var count: UInt32 = 0

        init() {}

        init(_ start: Int, _ count: Int) {
            self.start = UInt32(truncatingIfNeeded: start)
            self.count = UInt32(truncatingIfNeeded: count)
        }

        /// The same bytes, in the same storage.
        func slice(of buffer: ByteBuffer) -> ByteBuffer? {
            buffer.getSlice(at: Int(start), length: Int(count))
        }
    }

    init(_ payload: TapPayload) {
        self.payload = payload
    }

    var isEmpty: Bool { entries.isEmpty }

    /// Whether it is in storage that is worth reusing.
    var isLarge: Bool {
        max(copies.storageCapacity, streams.storageCapacity) >= TapStorage.minimumBytes
    }

    /// Adds a frame that passes now, and is not told again (`TappedFrame.isEarlier`).
    @inline(__always)
    mutating func append(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime, fate: FrameFate,
        grant: GrantMeaning?, isWaiting: Bool
    ) {
        let wire = frame.wire
        wireBytes += wire.readableBytes
        let isStream = frame.service.isStream && frame.type != .control
        if !isStream { load.hasMoreThanStreams = true }
        let isWhole = !isStream && payload != .headers
        let size = isWhole ? wire.readableBytes : min(frame.headerBytes, wire.readableBytes)
        load.bytes += size + TapSink.overheadBytes
        let copy = Place(copies.writerIndex, size)
        copies.append(size, of: wire)
        let isWanted = isStream && payload == .everything && wire.readableBytes > size
        entries.append(
            Entry(
                direction: direction, app: app, time: time, fate: fate, grant: grant,
                isWaiting: isWaiting, copy: copy, stream: isWanted ? copyStream(wire) : Place()))
    }

    mutating func append(_ frame: TappedFrame) {
        assert(!frame.isEarlier)
        append(
            frame.frame, frame.direction, app: frame.app, time: frame.time, fate: frame.fate,
            grant: frame.grant, isWaiting: frame.isWaiting)
    }

    @inline(never)
    private mutating func copyStream(_ wire: ByteBuffer) -> Place {
        let place = Place(streams.writerIndex, wire.readableBytes)
        wire.withUnsafeReadableBytes { all in _ = streams.writeBytes(all) }
        load.streamBytes += wire.readableBytes
        return place
    }

    /// Returns the batch, and leaves an empty one with room for as much again.
    ///
    /// - Parameter reserve: Unused storage, if there is any.
    mutating func take(from reserve: TapStorage? = nil) -> TapBatch {
        var taken = TapBatch(payload)
        swap(&taken.entries, &entries)
        entries.reserveCapacity(taken.entries.count)
        taken.copies = Self.take(&copies, reserve)
        taken.streams = Self.take(&streams, reserve)
        swap(&taken.load, &load)
        swap(&taken.wireBytes, &wireBytes)
        return taken
    }

    private static func take(_ buffer: inout ByteBuffer, _ reserve: TapStorage?) -> ByteBuffer {
        if buffer.readableBytes < buffer.storageCapacity / 2 {
            // A few bytes must not keep the storage that a busy moment needed.
            let few = ByteBuffer(bytes: buffer.readableBytesView)
            if buffer.storageCapacity > TapStorage.mostBytesAtOnce {
                buffer = ByteBuffer()
            } else {
                buffer.clear()
            }
            return few
        }
        let full = buffer
        buffer = reserve?.take(like: full) ?? ByteBuffer()
        buffer.reserveCapacity(full.readableBytes)
        return full
    }

    /// Bytes it occupies besides its table, filled or not.
    var storageBytes: Int { copies.storageCapacity + streams.storageCapacity }

    /// Gives up the storage that a busy moment needed; the batch is empty.
    mutating func shrink() {
        if copies.storageCapacity >= TapStorage.minimumBytes { copies = ByteBuffer() }
        if streams.storageCapacity >= TapStorage.minimumBytes { streams = ByteBuffer() }
    }

    /// Starts over for other sinks, the most demanding of which wants `payload`; the batch is empty. The
    /// table starts small: it counts for each sink, and might be too large for a new one.
    mutating func begin(for payload: TapPayload) {
        self.payload = payload
        entries = []
        if payload != .everything { streams = ByteBuffer() }
    }
}

extension ByteBuffer {
    /// Appends the first `count` readable bytes of `other`, which must have that many. For a small frame this is
    /// cheaper than `writeBytes` of a slice.
    @inline(__always)
    fileprivate mutating func append(_ count: Int, of other: ByteBuffer) {
        assert(count <= other.readableBytes)
        reserveCapacity(minimumWritableBytes: count)
        let start = writerIndex
        withVeryUnsafeMutableBytes { room in
            other.withUnsafeReadableBytes { bytes in
                guard let target = room.baseAddress, let source = bytes.baseAddress else { return }
                target.advanced(by: start).copyMemory(from: source, byteCount: count)
            }
        }
        moveWriterIndex(forwardBy: count)
    }
}
