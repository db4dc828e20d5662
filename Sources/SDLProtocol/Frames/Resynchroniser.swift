// Finds frames again in a stream that lost or invented bytes; used by `FrameDecoder` on links.

public import NIOCore

/// Bytes that were dropped because they were no frame, for the log and the status page.
public struct GarbageReport: Hashable, Sendable {
    /// Stream position of the first dropped byte, counted from 0.
    public var offset: UInt64
    /// Bytes dropped at this place so far.
    public var bytes: UInt64
    /// Why the first byte could not start a frame.
    public var error: FrameError
    /// The first dropped bytes, at most `Resynchroniser.excerptBytes`.
    public var excerpt: ByteBuffer
    /// False while the search still goes on.
    public var isOver: Bool
}

/// What the receiver knows of the frames that may come next, which makes a candidate believable.
public struct FrameExpectation: Hashable, Sendable {
    public var sessions = SessionSet()
    /// A StartService of the RPC service is unanswered. Its StartServiceACK brings a new session,
    /// and often nothing follows it until the app has read it.
    public var awaitsStartAnswer = false

    public init() {}
}

/// Searches a byte stream for the next believable frame.
///
/// SDL frames have no sync marker and no checksum, so one valid header proves little. A candidate
/// is believed when the frame behind it starts with a valid header too, or when the bytes end
/// exactly there and the frame is an expected one. Any other whole frame at the end of the bytes is
/// believed when the stream falls silent (`settle`). An incomplete candidate is kept while the
/// search goes on inside it, so that a false header with a huge size cannot swallow the real frames
/// behind it.
///
/// Each position is judged when its bytes come, and again only when the bytes it waited for have come,
/// so the work grows with the number of bytes and not with the number of reads.
struct Resynchroniser: Sendable {
    /// Shown in logs: enough to recognise what the peer really speaks.
    static let excerptBytes = 64
    /// While nothing is found, the first report comes after this many dropped bytes, and another each
    /// time their number has doubled: soon enough to tell a wrong peer, never a flood.
    static let firstReportBytes: UInt64 = 512
    /// Candidates kept at once. Random bytes hardly ever give two; beyond the maximum, the oldest is
    /// given up, because behind it are as many that may be real.
    static let maximumCandidates = 64

    private let error: FrameError
    private let start: UInt64
    /// What a candidate must meet, and what is enough for the frame behind it.
    private let (rules, successorRules): (FrameRules, FrameRules)
    private var excerpt = ByteBuffer()
    /// Bytes dropped since they were last taken.
    private var dropped = ByteBuffer()
    private var bytes: ByteBuffer
    /// Counted from `start`; the position of the first byte that is kept.
    private(set) var droppedBytes: UInt64 = 0
    private var reportedBytes: UInt64 = 0
    private var nextReportBytes = Resynchroniser.firstReportBytes
    /// Positions with a whole header that are undecided, in stream order.
    private var candidates: [Candidate] = []
    /// The least `judgeAt` of the candidates.
    private var nextJudgement = UInt64.max
    /// From here on headers may be incomplete: these few positions are judged again each time.
    private var scannedTo: UInt64
    /// Positions examined and bytes moved so far: the cost of the search.
    private(set) var steps: UInt64 = 0

    /// A position where a frame may begin. Positions are counted from `start`.
    private struct Candidate {
        var position: UInt64
        /// The stream position at which the candidate is worth judging again.
        var judgeAt: UInt64
        /// All of its bytes are there; only the proof is missing.
        var isWhole: Bool
    }

    /// - Parameter offset: Stream position of the first of `bytes`, which is not the start of a frame.
    init(after error: FrameError, at offset: UInt64, bytes: ByteBuffer, maximumPayloadBytes: Int) {
        self.error = error
        self.start = offset
        rules = .searching(maximumPayloadBytes: maximumPayloadBytes)
        successorRules = .fromAccessory(maximumPayloadBytes: maximumPayloadBytes)
        self.bytes = bytes
        scannedTo = 1
        drop(upTo: 1)
    }

    mutating func append(_ more: ByteBuffer) {
        guard more.readableBytes > 0 else { return }
        guard bytes.readableBytes > 0 else {
            bytes = more
            return
        }
        // Never more than has been dropped since the last time.
        if bytes.readerIndex > bytes.readableBytes {
            steps += UInt64(bytes.readableBytes)
            bytes.discardReadBytes()
        }
        steps += UInt64(more.readableBytes)
        bytes.writeImmutableBuffer(more)
    }

    /// The bytes from the next believable frame on, nil when more are needed to decide.
    mutating func search(expecting expected: FrameExpectation) -> ByteBuffer? {
        if let found = reconsider(expected) ?? scan(expected) {
            drop(upTo: found)
            return bytes
        }
        let surplus = candidates.count - Self.maximumCandidates
        if surplus > 0 { candidates.removeFirst(surplus) }
        drop(upTo: candidates.first.map { min($0.position, scannedTo) } ?? scannedTo)
        return nil
    }

    /// The bytes from the first whole frame on, which nothing has followed; nil when there is none. To
    /// be called when the stream has been silent for so long that nothing will follow.
    mutating func settle() -> ByteBuffer? {
        guard let whole = candidates.first(where: \.isWhole) else { return nil }
        drop(upTo: whole.position)
        return bytes
    }

    // MARK: Judging

    /// The stream's end so far.
    private var end: UInt64 { droppedBytes + UInt64(bytes.readableBytes) }

    /// Judges again the candidates that waited for the bytes that have come.
    private mutating func reconsider(_ expected: FrameExpectation) -> UInt64? {
        while let last = candidates.last, last.position >= scannedTo { candidates.removeLast() }
        guard nextJudgement <= end else { return nil }
        let waiting = candidates
        candidates.removeAll(keepingCapacity: true)
        nextJudgement = .max
        for candidate in waiting {
            steps += 1
            if candidate.judgeAt > end {
                keep(candidate)
                continue
            }
            switch judge(candidate.position, expected) {
            case .believable: return candidate.position
            case .undecided(let candidate): keep(candidate)
            case .impossible, .headerIncomplete: break
            }
        }
        return nil
    }

    /// Judges the positions that have come.
    private mutating func scan(_ expected: FrameExpectation) -> UInt64? {
        var firstIncomplete: UInt64?
        for position in scannedTo..<end {
            steps += 1
            switch judge(position, expected) {
            case .believable: return position
            case .undecided(let candidate): keep(candidate)
            case .headerIncomplete: firstIncomplete = firstIncomplete ?? position
            case .impossible: break
            }
        }
        scannedTo = firstIncomplete ?? end
        return nil
    }

    private mutating func keep(_ candidate: Candidate) {
        candidates.append(candidate)
        nextJudgement = min(nextJudgement, candidate.judgeAt)
    }

    private enum Verdict {
        case impossible
        /// The bytes end within the header, which is valid so far.
        case headerIncomplete
        case undecided(Candidate)
        case believable
    }

    private func judge(_ position: UInt64, _ expected: FrameExpectation) -> Verdict {
        let index = bytes.readerIndex + Int(position - droppedBytes)
        do {
            guard let count = try rules.frameBytes(in: bytes, at: index) else {
                return .headerIncomplete
            }
            let frameEnd = position + UInt64(count)
            guard frameEnd <= end else {
                return .undecided(Candidate(position: position, judgeAt: frameEnd, isWhole: false))
            }
            let hasSuccessor =
                try frameEnd < end && successorRules.frameBytes(in: bytes, at: index + count) != nil
            if hasSuccessor || isExpected(index, expected) { return .believable }
            // Judged again at once, because what is expected may change without any bytes.
            return .undecided(Candidate(position: position, judgeAt: 0, isWhole: true))
        } catch {
            return .impossible
        }
    }

    private func isExpected(_ index: Int, _ expected: FrameExpectation) -> Bool {
        guard let fields = bytes.getInteger(at: index, as: UInt32.self) else { return false }
        let session = UInt8(truncatingIfNeeded: fields)
        if session == 0 || expected.sessions.contains(session) { return true }
        guard expected.awaitsStartAnswer,
            UInt8(truncatingIfNeeded: fields >> 24) & 0b111 == FrameType.control.rawValue,
            UInt8(truncatingIfNeeded: fields >> 16) == ServiceType.rpc.rawValue
        else { return false }
        let control = ControlFrameType(rawValue: UInt8(truncatingIfNeeded: fields >> 8))
        return control == .startServiceACK || control == .startServiceNAK
    }

    private mutating func drop(upTo position: UInt64) {
        let count = Int(position - droppedBytes)
        let room = Self.excerptBytes - excerpt.readableBytes
        if room > 0, let shown = bytes.getSlice(at: bytes.readerIndex, length: min(room, count)) {
            excerpt.writeImmutableBuffer(shown)
        }
        if let slice = bytes.readSlice(length: count) { dropped.writeImmutableBuffer(slice) }
        droppedBytes = position
    }

    /// The bytes dropped since the last call, one behind the other.
    mutating func takeDropped() -> ByteBuffer {
        defer { dropped = ByteBuffer() }
        return dropped
    }

    // MARK: Reporting

    /// Bytes that came and are neither dropped nor passed on yet.
    var keptBytes: Int { bytes.readableBytes }
    var kept: ByteBuffer { bytes }

    /// Whether silence would decide something: a whole frame waits for proof, or nobody has been told
    /// yet that bytes were dropped. Garbage that goes on is reported by its amount, however often it
    /// pauses.
    var isWorthSettling: Bool {
        reportedBytes == 0 && droppedBytes > 0 || isReportDue
            || candidates.contains(where: \.isWhole)
    }

    var report: GarbageReport {
        GarbageReport(
            offset: start, bytes: droppedBytes, error: error, excerpt: excerpt, isOver: true)
    }

    var isReportDue: Bool { droppedBytes >= nextReportBytes }

    mutating func takeInterimReport() -> GarbageReport {
        nextReportBytes = max(nextReportBytes, droppedBytes * 2)
        reportedBytes = droppedBytes
        var interim = report
        interim.isOver = false
        return interim
    }
}
