public import NIOCore

/// Cuts a byte stream into whole frames, which share the read buffer's storage: one decoder per app
/// connection and one per link.
///
/// Only a frame that straddles two reads is copied, into a buffer of its own size; the rest are
/// slices. Feed every read with `append`, then call `next` until it returns nil.
public struct FrameDecoder: Sendable {
    /// What to do about bytes that cannot be a frame.
    public enum Recovery: Sendable {
        /// Throw: TCP loses no bytes, so garbage is a fault of the peer's program.
        case fail
        /// Drop bytes until frames are found again: a serial line may lose or invent bytes.
        case resynchronise
    }

    /// Limits may be widened when the head unit announces a larger MTU.
    public var rules: FrameRules
    /// What may come next: while resynchronising, other frames need more proof.
    public var expected = FrameExpectation()
    /// Stream position of the next byte to be decoded, counted from 0.
    public private(set) var offset: UInt64 = 0
    /// Bytes dropped by resynchronisation so far.
    public private(set) var garbageBytes: UInt64 = 0

    private let recovery: Recovery
    /// What is left of the latest read.
    private var current = ByteBuffer()
    /// The beginning of a frame whose end has not arrived.
    private var partial = ByteBuffer()
    /// Whole size of the frame in `partial`; 0 while its header is incomplete.
    private var partialFrameBytes = 0
    private var resynchroniser: Resynchroniser?
    private var report: GarbageReport?
    /// Bytes that resynchronisation has dropped and nobody has taken.
    private var dropped: [DroppedBytes] = [] {
        didSet { hasDropped = !dropped.isEmpty }
    }
    /// Whether resynchronisation has dropped bytes that nobody has taken. They came before the frame that `next`
    /// returned last. Kept separately because it is read for each frame, and asking the list makes a copy.
    public private(set) var hasDropped = false

    public init(rules: FrameRules, recovery: Recovery) {
        self.rules = rules
        self.recovery = recovery
    }

    /// Whether a frame has begun and not ended; a stream that stays so is stalled. While frames are searched
    /// for, this is not known.
    public var isInsideFrame: Bool { partial.readableBytes > 0 }
    /// Bytes of the unfinished frame that have arrived; 0 between frames.
    public var partialBytes: Int { partial.readableBytes }
    /// Whether the stream has lost its frames and not found them again.
    public var isSearching: Bool { resynchroniser != nil }
    /// Whether `settle` would bring a frame or a report.
    public var isWorthSettling: Bool { resynchroniser?.isWorthSettling ?? false }
    /// Bytes that have arrived and are neither frames nor known to be garbage.
    public var undecidedBytes: Int { partial.readableBytes + (resynchroniser?.keptBytes ?? 0) }

    /// Takes over the bytes of one read. Nothing should be left of the previous read: bytes that `next` has not
    /// returned are joined with these, which costs a copy.
    public mutating func append(_ bytes: ByteBuffer) {
        if current.readableBytes == 0 {
            current = bytes
        } else {
            current.writeImmutableBuffer(bytes)
        }
    }

    /// The next whole frame, nil when the rest has not arrived yet.
    ///
    /// - Throws: With `Recovery.fail`, why the bytes at `offset` are no frame. The decoder is of no further use
    ///   then; `undecoded` still has the offending bytes.
    public mutating func next() throws(FrameError) -> Frame? {
        while true {
            if resynchroniser != nil {
                guard resynchronise() else { return nil }
            }
            do {
                return try partial.readableBytes > 0 ? completePartial() : cut()
            } catch {
                guard case .resynchronise = recovery else { throw error }
                beginResynchronising(after: error)
            }
        }
    }

    /// The undecided bytes: a frame without its end, or the bytes being searched.
    public var undecided: ByteBuffer { resynchroniser?.kept ?? undecoded }

    /// The bytes from `offset` on that have arrived but form no frame, for diagnosis.
    public var undecoded: ByteBuffer {
        guard partial.readableBytes > 0 else { return current }
        var bytes = partial
        bytes.writeImmutableBuffer(current)
        return bytes
    }

    /// What resynchronisation has dropped since the last call, nil if nothing.
    public mutating func takeGarbageReport() -> GarbageReport? {
        defer { report = nil }
        return report
    }

    /// The bytes that resynchronisation has dropped since the last call.
    public mutating func takeDropped() -> [DroppedBytes] {
        defer { dropped = [] }
        return dropped
    }

    // MARK: Cutting

    @inline(__always)
    private mutating func cut() throws(FrameError) -> Frame? {
        guard current.readableBytes > 0 else {
            // The channel reads into the same storage again if nobody else holds it.
            current = ByteBuffer()
            return nil
        }
        let measured = try rules.measure(current, at: current.readerIndex)
        if let (bytes, head) = measured, bytes <= current.readableBytes {
            // The whole read with its indices moved, not a slice, so that neighbours can be joined
            // again when they are written.
            var wire = current
            wire.moveWriterIndex(to: current.readerIndex + bytes)
            current.moveReaderIndex(forwardBy: bytes)
            offset += UInt64(bytes)
            return Frame(checked: wire, head: head)
        }
        partialFrameBytes = measured?.bytes ?? 0
        partial = ByteBuffer()
        partial.reserveCapacity(max(partialFrameBytes, FrameHeader.bytes(version: 2)))
        partial.writeBuffer(&current)
        current = ByteBuffer()
        return nil
    }

    /// Moves bytes from the read to `partial` until it holds exactly one frame.
    private mutating func completePartial() throws(FrameError) -> Frame? {
        while partialFrameBytes == 0 {
            // 8 bytes tell the version, hence whether the header has 12.
            let have = partial.readableBytes
            let goal =
                have < FrameHeader.minimumBytes
                ? FrameHeader.minimumBytes : FrameHeader.bytes(version: 2)
            let isComplete = fillPartial(upTo: goal)
            if let bytes = try rules.frameBytes(in: partial, at: partial.readerIndex) {
                partialFrameBytes = bytes
                partial.reserveCapacity(minimumWritableBytes: bytes - partial.readableBytes)
            } else if !isComplete {
                return nil
            }
        }
        guard fillPartial(upTo: partialFrameBytes) else { return nil }
        let frame = Frame(checked: partial)
        partial = ByteBuffer()
        offset += UInt64(partialFrameBytes)
        partialFrameBytes = 0
        return frame
    }

    /// True when `partial` holds `goal` bytes.
    private mutating func fillPartial(upTo goal: Int) -> Bool {
        let missing = goal - partial.readableBytes
        guard missing > 0 else { return true }
        if var piece = current.readSlice(length: min(missing, current.readableBytes)) {
            partial.writeBuffer(&piece)
        }
        return partial.readableBytes == goal
    }

    // MARK: Resynchronising

    /// Gives up a frame whose end does not come: on a line that loses bytes its size may be false, and the frame
    /// would swallow what follows. Call `next` afterwards.
    public mutating func abandonPartialFrame() {
        guard isInsideFrame, case .resynchronise = recovery else { return }
        beginResynchronising(after: .neverEnded(bytes: partialFrameBytes))
    }

    /// Called when nothing has come for a while, so that nothing will prove the last frame: believes the frame
    /// if it is whole, or else reports what has been dropped. Call `next` and `takeGarbageReport` afterwards.
    public mutating func settle() {
        guard resynchroniser != nil, !resynchronise(), var searching = resynchroniser.take()
        else { return }
        let droppedBefore = searching.droppedBytes
        if let found = searching.settle() {
            conclude(searching, droppedBefore: droppedBefore, found: found)
        } else {
            if searching.isWorthSettling { report = searching.takeInterimReport() }
            resynchroniser = searching
        }
    }

    @inline(never)
    private mutating func beginResynchronising(after error: FrameError) {
        var searching = Resynchroniser(
            after: error, at: offset, bytes: undecoded,
            maximumPayloadBytes: rules.maximumPayloadBytes)
        count(&searching, since: 0)
        resynchroniser = searching
        partial = ByteBuffer()
        partialFrameBytes = 0
        current = ByteBuffer()
    }

    /// True when frames have been found again; their bytes are in `current` then.
    @inline(never)
    private mutating func resynchronise() -> Bool {
        guard var searching = resynchroniser.take() else { return true }
        searching.append(current)
        current = ByteBuffer()
        let droppedBefore = searching.droppedBytes
        if let found = searching.search(expecting: expected) {
            conclude(searching, droppedBefore: droppedBefore, found: found)
            return true
        }
        count(&searching, since: droppedBefore)
        if searching.isReportDue { report = searching.takeInterimReport() }
        resynchroniser = searching
        return false
    }

    private mutating func conclude(
        _ searching: Resynchroniser, droppedBefore: UInt64, found: ByteBuffer
    ) {
        var searching = searching
        count(&searching, since: droppedBefore)
        current = found
        // For several places in one read, the first is shown, with the bytes of all.
        var latest = searching.report
        if let earlier = report, earlier.isOver {
            latest.bytes += earlier.bytes
            (latest.offset, latest.error, latest.excerpt) =
                (earlier.offset, earlier.error, earlier.excerpt)
        }
        report = latest
    }

    private mutating func count(_ searching: inout Resynchroniser, since before: UInt64) {
        note(dropped: searching.takeDropped())
        garbageBytes += searching.droppedBytes - before
        offset += searching.droppedBytes - before
    }
}

extension FrameDecoder {
    /// Notes dropped bytes; those dropped bit by bit at one place form one run.
    private mutating func note(dropped bytes: ByteBuffer) {
        guard bytes.readableBytes > 0 else { return }
        if let last = dropped.indices.last,
            dropped[last].offset + UInt64(dropped[last].bytes.readableBytes) == offset
        {
            dropped[last].bytes.writeImmutableBuffer(bytes)
        } else {
            dropped.append(DroppedBytes(offset: offset, bytes: bytes))
        }
    }
}

/// Bytes that resynchronisation has dropped.
public struct DroppedBytes: Hashable, Sendable {
    /// Stream position of the first, counted from 0.
    public var offset: UInt64
    public var bytes: ByteBuffer
}
