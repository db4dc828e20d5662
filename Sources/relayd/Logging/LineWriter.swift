internal import Glibc
package import NIOCore
internal import NIOPosix
internal import RelayCore
internal import SDLTraffic
internal import Synchronization

/// A sink for lines that never blocks its callers, on any thread and at any rate: lines queue up in
/// bounded memory, and a separate thread writes out everything that is waiting at once.
///
/// If the reader is slow, lines are dropped and counted, and the gap is marked in the output. If
/// the reader is gone, all lines are dropped and counted, and relayd continues.
package final class LineWriter: Sendable {
    /// Where lines go.
    package enum Destination: Sendable {
        /// A descriptor the process keeps open, usually 1 or 2.
        case descriptor(Int32)
        /// Entries of a journal. `send` returns whether the entry was accepted, and may block;
        /// `wouldTake` returns whether it would not block.
        case journal(
            send: @Sendable (JournalEntry) -> Bool, wouldTake: @Sendable () -> Bool = { true })

        /// The system's journal.
        package static var journald: Destination {
            .journal(send: Journal.send, wouldTake: { Journal.wouldTake() })
        }
    }

    /// How many lines were written and how many were missed.
    package struct Counters: Sendable, Equatable {
        package var written = 0
        package var missed = 0
    }

    /// Bytes that may wait for a slow reader: some seconds of a busy link's traffic.
    package static let defaultQueueLimit = 4 * 1024 * 1024

    /// Bytes beyond the limit that are reserved for warnings and errors, so that a flood of traffic
    /// cannot hide the line that explains it.
    private static let reserve = 64 * 1024

    /// Bytes written at a time: what a pipe takes atomically (pipe(7), PIPE_BUF). A blocked write does
    /// not tell how much was taken meanwhile, so progress shows only once this much is gone: a serial
    /// console at 115,200 bits per second takes almost three of these each second.
    private static let writeSize = 4096

    /// Bytes of an emptied queue that are kept for the next lines; larger buffers are freed.
    private static let keptCapacity = 64 * 1024

    /// Rough overhead in bytes of one journal field, on top of its text.
    private static let fieldOverhead = 64

    package let isJournal: Bool
    private let destination: Destination
    private let queueLimit: Int
    private let missedNotice: @Sendable (Int) -> String
    private let now: @Sendable () -> ContinuousClock.Instant
    private let thread = SerialThread(named: "log")
    private let state = Mutex(State())

    private struct State {
        /// Lines for a descriptor, each with its newline.
        var bytes: [UInt8] = []
        /// How many lines `bytes` holds.
        var lines = 0
        var entries: [JournalEntry] = []
        /// Fields added to every journal entry.
        var marks: [String: String] = [:]
        var budget = JournalBudget()
        /// Bytes waiting here, and bytes being written now.
        var queuedBytes = 0
        var writingBytes = 0
        var counters = Counters()
        /// Lines missed since the last one that was accepted.
        var gap = 0
        /// How often the reader has taken something.
        var takes = 0
        /// Whether `drain` is running or about to.
        var isDraining = false
        /// The reader is gone for good; nothing is accepted any more.
        var isBroken = false
    }

    private struct Batch {
        var bytes: [UInt8] = []
        var lines = 0
        var entries: [JournalEntry] = []
    }

    /// - Parameters:
    ///   - queueLimit: bytes that may wait for a slow reader.
    ///   - missedNotice: the line that marks a gap of that many lines.
    ///   - now: the clock of the journal's budget.
    package init(
        _ destination: Destination, queueLimit: Int = LineWriter.defaultQueueLimit,
        missedNotice: @escaping @Sendable (Int) -> String = LineWriter.textNotice,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.now = now
        self.destination = destination
        self.queueLimit = queueLimit
        self.missedNotice = missedNotice
        if case .journal = destination { isJournal = true } else { isJournal = false }
        _ = Self.brokenPipesAreErrors
    }

    package static let textNotice: @Sendable (Int) -> String = { count in
        "… \(count) log line\(count == 1 ? "" : "s") missed: the reader of this log is too slow"
    }

    package static let jsonNotice: @Sendable (Int) -> String = { count in
        #"{"time":"\#(WallTime.now().rfc3339)","kind":"log","priority":"warning","level":"warning","logger":"log","message":"lines missed: the reader of this log is too slow","metadata":{"count":"\#(count)"}}"#
    }

    /// Without this, a closed `relayd | head` would end the process.
    private static let brokenPipesAreErrors: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    /// How many lines were written and missed so far.
    package var counters: Counters { state.withLock { $0.counters } }

    /// Whether the reader is gone for good.
    package var isBroken: Bool { state.withLock { $0.isBroken } }

    // MARK: Writing

    /// Queues one line. Never blocks.
    ///
    /// - Parameters:
    ///   - line: without a newline.
    ///   - fields: asked for only when the destination is a journal.
    package func write(
        _ line: String, priority: SyslogPriority = .info,
        fields: @autoclosure () -> [String: String] = [:]
    ) {
        let entry =
            isJournal ? JournalEntry(message: line, priority: priority, fields: fields()) : nil
        let startDraining = state.withLock { state in
            let size = entry.map(Self.size) ?? line.utf8.count + 1
            guard entry == nil || spendBudget(on: priority, &state) else {
                defer { state.isDraining = !state.entries.isEmpty || state.isDraining }
                return !state.entries.isEmpty && !state.isDraining
            }
            guard makeRoom(for: size, priority: priority, in: &state) else { return false }
            if var entry {
                entry.fields.merge(state.marks) { own, _ in own }
                state.entries.append(entry)
            } else {
                append(line, to: &state)
            }
            defer { state.isDraining = true }
            return !state.isDraining
        }
        if startDraining { thread.async { self.drain() } }
    }

    /// Queues lines of UTF-8 without newlines for a descriptor, as one batch. Never blocks.
    package func write(batch: [(line: [UInt8], priority: SyslogPriority)]) {
        precondition(!isJournal, "a journal takes entries with fields, not plain lines")
        let startDraining = state.withLock { state in
            for (line, priority) in batch {
                guard makeRoom(for: line.count + 1, priority: priority, in: &state) else {
                    continue
                }
                state.bytes.append(contentsOf: line)
                state.bytes.append(0x0A)
                state.lines += 1
            }
            guard !state.bytes.isEmpty else { return false }
            defer { state.isDraining = true }
            return !state.isDraining
        }
        if startDraining { thread.async { self.drain() } }
    }

    /// Sets the fields that every journal entry gets from here on.
    package func mark(_ fields: [String: String]) {
        state.withLock { $0.marks = fields }
    }

    /// Counts one more entry for journald, and notes in the journal where entries are left out.
    ///
    /// - Returns: Whether journald gets the entry.
    private func spendBudget(on priority: SyslogPriority, _ state: inout State) -> Bool {
        switch state.budget.take(priority, at: now()) {
        case .write:
            return true
        case .writeAfter(let count):
            addNotice("… \(count) lines left out of the journal; relayctl tail shows them", &state)
            return true
        case .startLeavingOut:
            addNotice(
                """
                more than \(JournalBudget.entriesPerWindow) lines in \(JournalBudget.window): the \
                next ones are left out, to stay below journald's limit; relayctl tail shows them
                """, &state)
            fallthrough
        case .leaveOut:
            state.counters.missed += 1
            return false
        }
    }

    private func addNotice(_ text: String, _ state: inout State) {
        state.entries.append(
            JournalEntry(message: text, priority: .notice, fields: state.marks))
    }

    /// Counts one more line, or one more missed line.
    private func makeRoom(
        for size: Int, priority: SyslogPriority, in state: inout State
    ) -> Bool {
        let limit = queueLimit + (priority <= .warning ? Self.reserve : 0)
        guard !state.isBroken, state.queuedBytes + state.writingBytes + size <= limit else {
            state.counters.missed += 1
            state.gap += 1
            return false
        }
        markGap(&state)
        state.queuedBytes += size
        return true
    }

    private static func size(_ entry: JournalEntry) -> Int {
        entry.fields.reduce(entry.message.utf8.count + fieldOverhead) { sum, field in
            sum + field.key.utf8.count + field.value.utf8.count + fieldOverhead
        }
    }

    private func append(_ line: String, to state: inout State) {
        state.bytes.append(contentsOf: line.utf8)
        state.bytes.append(0x0A)
        state.lines += 1
    }

    /// Puts the notice where the missed lines would have been.
    private func markGap(_ state: inout State) {
        guard state.gap > 0 else { return }
        let notice = missedNotice(state.gap)
        state.gap = 0
        if isJournal {
            state.entries.append(JournalEntry(message: notice, priority: .warning, fields: [:]))
        } else {
            state.bytes.append(contentsOf: notice.utf8)
            state.bytes.append(0x0A)
        }
    }

    // MARK: Draining, on the thread

    private func drain() {
        var batch = Batch()
        while next(&batch) {
            let written =
                switch destination {
                case .descriptor(let descriptor): write(batch, to: descriptor)
                case .journal(let send, _): write(batch, by: send)
                }
            let total = batch.lines + batch.entries.count
            state.withLock { state in
                state.counters.written += written
                state.counters.missed += total - written
            }
        }
    }

    /// Swaps the batch just written for the waiting lines; `false` if there are none.
    private func next(_ batch: inout Batch) -> Bool {
        if batch.bytes.capacity > Self.keptCapacity { batch.bytes = [] }
        batch.bytes.removeAll(keepingCapacity: true)
        batch.entries.removeAll()
        return state.withLock { state in
            state.writingBytes = state.queuedBytes
            state.queuedBytes = 0
            batch.lines = state.lines
            state.lines = 0
            swap(&batch.bytes, &state.bytes)
            swap(&batch.entries, &state.entries)
            state.isDraining = !(batch.bytes.isEmpty && batch.entries.isEmpty)
            return state.isDraining
        }
    }

    private func readerHasTaken() {
        state.withLock { $0.takes &+= 1 }
    }

    /// Sends one entry after the other; returns how many were accepted.
    private func write(_ batch: Batch, by send: @Sendable (JournalEntry) -> Bool) -> Int {
        batch.entries.count { entry in
            defer { readerHasTaken() }
            return send(entry)
        }
    }

    /// Writes the whole batch, waiting for the reader as needed; returns how many lines it took.
    private func write(_ batch: Batch, to descriptor: Int32) -> Int {
        guard !isBroken else { return 0 }
        var offset = 0
        while offset < batch.bytes.count {
            let count = batch.bytes.withUnsafeBytes { buffer in
                Glibc.write(
                    descriptor, buffer.baseAddress.map { $0 + offset },
                    min(buffer.count - offset, Self.writeSize))
            }
            if count > 0 {
                offset += count
                readerHasTaken()
                continue
            }
            switch errno {
            case EINTR:
                continue
            case EAGAIN:
                // Another process made the descriptor non-blocking: it may be shared.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, -1)
            case ENOSPC, EDQUOT:
                // A full disk may have room again later.
                return Self.wholeLines(batch.bytes[..<offset], of: batch.lines)
            default:
                state.withLock { $0.isBroken = true }
                return Self.wholeLines(batch.bytes[..<offset], of: batch.lines)
            }
        }
        return batch.lines
    }

    private static func wholeLines(_ bytes: ArraySlice<UInt8>, of lines: Int) -> Int {
        min(lines, bytes.count(where: { $0 == 0x0A }))
    }

    // MARK: Ending

    /// Waits until everything queued so far is written, but not for a reader that takes nothing for
    /// `interval`, and never longer than `EndPatience.looks` times that.
    ///
    /// - Parameter loop: runs the timer.
    package func flush(
        within interval: Duration = EndPatience.interval,
        on loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    ) async {
        let (startDraining, takes) = state.withLock { state in
            guard state.gap > 0, !state.isBroken else { return (false, state.takes) }
            markGap(&state)
            defer { state.isDraining = true }
            return (!state.isDraining, state.takes)
        }
        if startDraining { thread.async { self.drain() } }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let wait = Wait(continuation, takes: takes)
            let looks = loop.scheduleRepeatedTask(
                initialDelay: TimeAmount(interval), delay: TimeAmount(interval)
            ) { looks in
                let takes = self.state.withLock(\.takes)
                if !wait.spendLook(takes: takes, wouldTake: self.readerWouldTake) {
                    looks.cancel()
                    wait.end()
                }
            }
            // This runs after everything queued before.
            thread.async {
                looks.cancel()
                wait.end()
            }
        }
    }

    /// Whether a write would not have to wait for the reader.
    private var readerWouldTake: Bool {
        switch destination {
        case .journal(_, let wouldTake):
            return wouldTake()
        case .descriptor(let descriptor):
            var question = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            return poll(&question, 1, 0) != 0
        }
    }

    /// A waiting call of `flush`.
    private final class Wait: Sendable {
        private struct State {
            var continuation: CheckedContinuation<Void, Never>?
            var patience = EndPatience()
            var takes: Int
        }
        private let state: Mutex<State>

        init(_ continuation: CheckedContinuation<Void, Never>, takes: Int) {
            state = Mutex(State(continuation: continuation, takes: takes))
        }

        /// - Parameters:
        ///   - takes: How often the reader has taken something.
        ///   - wouldTake: Whether it would take more now.
        /// - Returns: Whether to wait until the next check.
        func spendLook(takes: Int, wouldTake: Bool) -> Bool {
            state.withLock { state in
                defer { state.takes = takes }
                return state.patience.spendLook(isTaking: takes != state.takes || wouldTake)
            }
        }

        /// Resumes the caller. Only the first call counts.
        func end() {
            state.withLock { $0.continuation.take() }?.resume()
        }
    }
}
