/// The latest messages as `top` lists them: repetitions share a row, and the list is paused while a row is
/// chosen.
struct TopMessages: Sendable {
    enum Row: Sendable {
        case message(TailMessage)
        /// From an earlier run of relayd: its number now means another message.
        case old(TailMessage)
        case note(String)
    }

    /// The rows of messages that have arrived.
    private var live: [Row] = []
    private var fold = TailFold()
    /// The rows shown while the list is paused.
    private var held: [Row]?
    /// An index of `rows`; the list is paused then.
    private(set) var selection: Int?
    /// Number of messages that arrived while the list is paused.
    private(set) var newer = 0

    /// Rows kept.
    static let maximum = 1000

    var rows: [Row] { held ?? live }
    var isPaused: Bool { held != nil }

    // MARK: What comes

    mutating func add(_ message: TailMessage) {
        if isPaused { newer += 1 }
        let (shown, replaces) = fold.add(message)
        if replaces, case .message? = live.last {
            live[live.count - 1] = .message(shown)
        } else {
            append(.message(shown))
        }
    }

    mutating func missed(_ count: Int) {
        let verb = count == 1 ? "was" : "were"
        note("\(Units.count(count, "message")) \(verb) missed: relayd keeps a limited number")
    }

    /// relayd was restarted.
    mutating func startAnew(_ words: String) {
        live = live.map(Self.aged)
        held = held?.map(Self.aged)
        note(words)
    }

    private static func aged(_ row: Row) -> Row {
        if case .message(let message) = row { .old(message) } else { row }
    }

    private mutating func note(_ words: String) {
        fold.end()
        append(.note(words))
    }

    private mutating func append(_ row: Row) {
        live.append(row)
        // Done rarely, because removing moves all later rows.
        if live.count >= 2 * Self.maximum { live.removeFirst(live.count - Self.maximum) }
    }

    // MARK: Looking

    mutating func togglePause() {
        if isPaused { goOn() } else { held = live }
    }

    /// Resumes the list with the newest message.
    mutating func goOn() {
        (held, selection, newer) = (nil, nil, 0)
    }

    /// Chooses another row and pauses the list; moving below the last row resumes it.
    mutating func select(by rows: Int) {
        guard !self.rows.isEmpty else { return }
        let last = self.rows.count - 1
        if held == nil {
            guard rows < 0 else { return }
            held = live
        }
        guard let selection else {
            self.selection = rows == -1 ? last : min(last, max(0, last.addingClamped(rows)))
            return
        }
        let next = selection.addingClamped(rows)
        if next > last, selection == last { return goOn() }
        self.selection = min(max(0, next), last)
    }

    /// Number of the chosen message, or else of the newest.
    var chosen: Int? {
        let row = selection.map { rows[$0] } ?? rows.last
        if case .message(let message)? = row { return message.number }
        return nil
    }
}

extension Int {
    fileprivate func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
