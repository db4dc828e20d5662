package import ControlAPI
import DecodedTraces
import NIOCore
import RelayCore
import SDLTraffic
import Synchronization
import Traces

/// The existing recordings, for the control API: lists them, sends them, and reads them as traffic.
///
/// Everything runs on a thread of its own, with the priority of the observers: reading a file may block, and
/// decoding a long one takes minutes. The work is done in pieces, so that several readers progress together.
package final class RecordingLibrary: Sendable {
    private struct State {
        /// Readings not in use, the most recently used last.
        var idle: [(reading: RecordingReading, since: ContinuousClock.Instant)] = []
        var readers = 0
    }

    /// The folder as currently configured.
    private let path: @Sendable () -> String?
    /// The path of the file that is being written.
    private let current: @Sendable () -> String?
    private let executor = Mutex<LoopExecutor?>(nil)
    private let state = Mutex(State())
    private let limits: Limits

    /// Limits for reading.
    package struct Limits: Sendable {
        /// Readings that are kept for the next page, each with `RecordingReading`'s memory.
        package var idle = 4
        /// Readers of messages, statistics and summaries at the same time.
        package var readers = 8
        /// How long a reading is kept for the next page.
        package var memory = Duration.seconds(60)
        /// Time after which a page is answered with the messages so far; the reader continues from
        /// its cursor.
        package var patience = Duration.seconds(2)

        package init() {}
    }

    /// Bytes of a file sent at once.
    private static let pieceBytes = 256 << 10
    /// Entries counted before yielding.
    private static let entriesAtOnce = 2000

    /// - Parameters:
    ///   - folder: Evaluated each time; nil if relayd has no place for recordings.
    ///   - current: The path of the file that is being written.
    package init(
        _ folder: @autoclosure @escaping @Sendable () -> String?, limits: Limits = Limits(),
        current: @escaping @Sendable () -> String? = { nil }
    ) {
        path = folder
        self.current = current
        self.limits = limits
    }

    private var folder: RecordingFolder? { path().map { RecordingFolder($0) } }

    package func list() async throws -> RecordingList {
        guard let folder else { return RecordingList(directory: nil) }
        return try await apart { [current] in folder.list(current: current()) }
    }

    func open(_ name: String) async throws -> OpenRecording {
        guard let folder else {
            throw APIError(.notFound, "relayd has no place for recordings: set record.directory")
        }
        return try await apart { [current] in try folder.open(name, current: current()) }
    }

    // MARK: Sending

    /// Sends a recording as it was when opened; only whole blocks of one that is being written.
    func send(_ file: OpenRecording, into writer: ResponseWriter) async throws {
        var (sent, end) = (0, 0)
        while sent < file.bytes {
            let start = sent
            (sent, end) = try await apart { [end] in
                (
                    start,
                    file.isGrowing
                        ? file.blocks(from: end, before: start + Self.pieceBytes) : file.bytes
                )
            }
            let limit = min(Self.pieceBytes, end - sent)
            guard limit > 0 else { return }
            let piece = try await apart { try file.read(at: start, atMost: limit) }
            guard piece.readableBytes > 0 else {
                throw RecordingFailure("\(file.name) became shorter while it was sent")
            }
            try await writer.write(piece)
            sent += piece.readableBytes
        }
    }

    // MARK: Reading

    /// A page of messages.
    struct Page: Sendable {
        var instance: String
        var reading: MessageRing.Reading
        /// Number of the latest message that was decoded so far.
        var latest: UInt64
        /// Nothing follows these messages; in a recording that is being written, nothing yet.
        var isAtEnd = false
        /// Why nothing follows them, if this is not the end of the recording.
        var problem: String?
    }

    /// The messages after the request's cursor, or from the first one if it has none.
    func messages(_ name: String, _ wanted: MessageRequest) async throws -> Page {
        let file = try await open(name)
        let place = try reader()
        return try await apart { [self] in
            defer { withExtendedLifetime(place) {} }
            return try await Self.naming(file) { try await page(of: file, wanted) }
        }
    }

    private func page(of file: OpenRecording, _ wanted: MessageRequest) async throws -> Page {
        let after = wanted.cursor.number(in: file.instance) ?? 0
        let reading = try take(file, after: after)
        var page = Page(instance: file.instance, reading: .init(next: after), latest: 0)
        let start = ContinuousClock.now
        while true {
            // A cursor beyond the last message would be taken for one of another run.
            if reading.ring.latest >= after {
                page.reading.isAtEnd = false
                let isInMiddle = reading.ring.read(
                    on: &page.reading, matching: wanted.filter, limit: wanted.limit,
                    looks: MessageStream.looks)
                let isFull = page.reading.entries.count >= wanted.limit
                if isFull || !isInMiddle && !page.reading.isAtEnd { break }
                if isInMiddle {
                    await Task.yield()
                    continue
                }
            }
            guard try reading.advance(isGrowing: file.isGrowing) else {
                page.isAtEnd = true
                page.problem = reading.problem
                break
            }
            if ContinuousClock.now - start > limits.patience { break }
            try Task.checkCancellation()
            await Task.yield()
        }
        page.latest = reading.ring.latest
        giveBack(reading)
        return page
    }

    /// A summary: when, who, how much, and what went wrong.
    func info(_ name: String) async throws -> TraceReport {
        let file = try await open(name)
        let place = try reader()
        return try await apart { [self] in
            defer { withExtendedLifetime(place) {} }
            return try await Self.naming(file) {
                var survey = TraceSurvey()
                survey.begin(file.name)
                let end = try await read(file) { survey.receive($0) }
                survey.end(unfinishedBytes: end.unfinishedBytes, problem: end.problem)
                return survey.report
            }
        }
    }

    /// The statistics of the recording.
    func statistics(_ name: String) async throws -> TraceStatsReport {
        let file = try await open(name)
        let place = try reader()
        return try await apart { [self] in
            defer { withExtendedLifetime(place) {} }
            return try await Self.naming(file) {
                var count = TraceCount()
                let end = try await read(file) { count.receive($0) }
                var report = count.finish()
                report.problem = end.problem
                return report
            }
        }
    }

    /// - Returns: Why it was not read to its end, nil if it was; and bytes of an unfinished packet.
    /// - Throws: `TraceFileError` if it contains nothing that could be shown.
    private func read(
        _ file: OpenRecording, _ body: (TraceEntry) -> Void
    ) async throws -> (problem: String?, unfinishedBytes: Int) {
        var trace = try file.trace()
        var entries = 0
        do throws(TraceFileError) {
            while let entry = try trace.next() {
                body(entry)
                entries += 1
                guard entries % Self.entriesAtOnce == 0 else { continue }
                if Task.isCancelled { return ("relayd stopped", 0) }
                await Task.yield()
            }
        } catch {
            guard entries > 0 else { throw error }
            return (error.description, 0)
        }
        return (nil, trace.unfinishedBytes)
    }

    /// Reports a file that is not a trace as an error of the request.
    private static func naming<Result>(
        _ file: OpenRecording, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as TraceFileError {
            throw APIError(.badRequest, "\(error)")
        }
    }

    // MARK: Readings

    /// A kept reading that can continue from there, or a new one.
    private func take(_ file: OpenRecording, after: UInt64) throws -> RecordingReading {
        let kept = state.withLock { state -> RecordingReading? in
            let index = state.idle.lastIndex {
                $0.reading.file.instance == file.instance && $0.reading.holds(after: after)
            }
            return index.map { state.idle.remove(at: $0).reading }
        }
        return try kept ?? RecordingReading(file)
    }

    private func giveBack(_ reading: RecordingReading) {
        let isFirst = state.withLock { state in
            state.idle.append((reading, .now))
            if state.idle.count > limits.idle { state.idle.removeFirst() }
            return state.idle.count == 1
        }
        if isFirst { forgetLater() }
    }

    private func forgetLater() {
        loop().loop.scheduleTask(in: TimeAmount(limits.memory)) { [weak self] in
            guard let self else { return }
            let isEmpty = state.withLock { state in
                state.idle.removeAll { ContinuousClock.now - $0.since >= limits.memory }
                return state.idle.isEmpty
            }
            if !isEmpty { forgetLater() }
        }
    }

    /// A place to read, to be kept until the reading is done.
    ///
    /// - Throws: `APIError` if there are too many readers already.
    private func reader() throws(APIError) -> Place {
        let isIn = state.withLock { state in
            guard state.readers < limits.readers else { return false }
            state.readers += 1
            return true
        }
        guard isIn else {
            throw APIError(
                .tooMany,
                "\(limits.readers) recordings are being read at this moment, as many as relayd reads at "
                    + "once; ask again a little later")
        }
        return Place { [weak self] in self?.state.withLock { $0.readers -= 1 } }
    }

    private final class Place: Sendable {
        private let giveBack: @Sendable () -> Void

        init(_ giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

        deinit { giveBack() }
    }

    // MARK: The thread

    private func apart<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task(executorPreference: loop()) { try await body() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func loop() -> LoopExecutor {
        executor.withLock { executor in
            if let executor { return executor }
            let loop = LastingLoop.start()
            loop.execute { ThreadScheduling.lowPriority(as: "recordings") }
            let made = LoopExecutor(loop)
            executor = made
            return made
        }
    }
}
