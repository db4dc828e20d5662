// Finds frames again in a stream that lost or invented bytes; used by `FrameDecoder` on serial links.

package import NIOCore

/// Bytes that were dropped because they were no frame, for the log and the status page.
package struct GarbageReport: Hashable, Sendable {
    /// Stream position of the first dropped byte, counted from 0.
    package var offset: UInt64
    /// Bytes dropped at this place so far.
    package var bytes: UInt64
    /// Why the first byte could not start a frame.
    package var error: FrameError
    /// The first dropped bytes, at most `Resynchroniser.excerptBytes`.
    package var excerpt: ByteBuffer
    /// False while the search still goes on.
    package var isOver: Bool
}

/// Searches a byte stream for the next believable frame.
///
/// SDL frames have no sync marker and no checksum, so one valid header proves little: a candidate
/// is believed only when the frame behind it starts with a valid header too, or the bytes end
/// exactly there. An incomplete candidate is kept while the search goes on inside it, so that a
/// false header with a huge size cannot swallow the real frames behind it.
struct Resynchroniser: Sendable {
    /// Shown in logs: enough to recognise what the peer really speaks.
    static let excerptBytes = 64
    /// While nothing is found, report for the first time after so many dropped bytes, then each
    /// time as many have been dropped again: soon enough to tell a wrong peer, never a flood.
    static let firstReportBytes: UInt64 = 512

    private let error: FrameError
    private let start: UInt64
    private let rules: FrameRules
    private var excerpt: ByteBuffer
    private var bytes: ByteBuffer
    private(set) var droppedBytes: UInt64 = 0
    private var nextReportBytes = Resynchroniser.firstReportBytes

    /// - Parameters:
    ///   - offset: Stream position of the first of `bytes`, which is not the start of a frame.
    init(after error: FrameError, at offset: UInt64, bytes: ByteBuffer, maximumPayloadBytes: Int) {
        self.error = error
        self.start = offset
        // Head units' quirks are tolerated in step only; a candidate has to be beyond doubt.
        self.rules = .fromApp(maximumPayloadBytes: maximumPayloadBytes)
        self.excerpt = ByteBuffer()
        self.bytes = bytes
        drop(1)
    }

    mutating func append(_ more: ByteBuffer) {
        bytes.writeImmutableBuffer(more)
    }

    /// The bytes from the next believable frame on, nil when more are needed to decide.
    mutating func search(knownSessions: SessionSet) -> ByteBuffer? {
        var keep: Int?
        for index in bytes.readerIndex..<bytes.writerIndex {
            switch judge(index, knownSessions: knownSessions) {
            case .impossible: continue
            case .incomplete: keep = keep ?? index
            case .believable:
                drop(index - bytes.readerIndex)
                return bytes
            }
        }
        drop((keep ?? bytes.writerIndex) - bytes.readerIndex)
        return nil
    }

    private enum Verdict { case impossible, incomplete, believable }

    private func judge(_ index: Int, knownSessions: SessionSet) -> Verdict {
        guard let frameBytes = try? wholeFrame(at: index) else { return .impossible }
        guard case .bytes(let count) = frameBytes else { return .incomplete }
        let end = index + count
        guard end <= bytes.writerIndex else { return .incomplete }
        let session = bytes.getInteger(at: index + 3, as: UInt8.self) ?? 0
        let isKnown = session == 0 || knownSessions.contains(session)
        if end == bytes.writerIndex { return isKnown ? .believable : .incomplete }
        guard let next = try? wholeFrame(at: end) else { return .impossible }
        if case .headerIncomplete = next, !isKnown { return .incomplete }
        return .believable
    }

    private enum Extent {
        case bytes(Int)
        case headerIncomplete
    }

    private func wholeFrame(at index: Int) throws(FrameError) -> Extent {
        if let count = try rules.frameBytes(in: bytes, at: index) { return .bytes(count) }
        return .headerIncomplete
    }

    private mutating func drop(_ count: Int) {
        guard var dropped = bytes.readSlice(length: count) else { return }
        droppedBytes += UInt64(count)
        let room = Self.excerptBytes - excerpt.readableBytes
        if let shown = dropped.readSlice(length: min(room, count)) {
            excerpt.writeImmutableBuffer(shown)
        }
        bytes.discardReadBytes()
    }

    // MARK: Reporting

    var report: GarbageReport {
        GarbageReport(
            offset: start, bytes: droppedBytes, error: error, excerpt: excerpt, isOver: true)
    }

    var isReportDue: Bool { droppedBytes >= nextReportBytes }

    mutating func takeInterimReport() -> GarbageReport {
        nextReportBytes = droppedBytes * 2
        var interim = report
        interim.isOver = false
        return interim
    }
}
