import DecodedTraces
import SDLProtocol

/// The lines of `tail` for people, collected into pages that are written at once.
///
/// On a terminal, a line that updates the previous one replaces it: in the page if that is not written
/// yet, and otherwise on the screen.
struct TailText: Sendable {
    private let style: Style
    private let localTime: LocalTime
    private let hasDetails: Bool
    private let isFolding: Bool
    private var pairs: TailPairs?
    private var fold = TailFold()
    /// Advice about requests that `pairs` holds back, by the number of the request.
    private var held: [Int: [TailAdvice]] = [:]

    /// Output that is not written yet: the finished lines, and the last line, which may still be
    /// replaced, preceded by the sequence that removes the line above it from the screen.
    private var page = ""
    private var removal = ""
    private var lastLine = ""
    /// Columns of the terminal; nil when nobody is looking.
    private var width: Int?

    /// Removes the line above the cursor (ECMA-48, "CUU", "EL").
    private static let removing = "\u{1B}[A\u{1B}[2K"
    /// On narrower terminals lines may wrap, and the line above would be only the end of one.
    private static let fewestColumns = 40

    /// - Parameters:
    ///   - hasDetails: Whether parameters are shown under each line.
    ///   - isFolding: Whether repetitions share one line; only for a terminal.
    ///   - isPairing: Whether a request and its answer share one line.
    init(
        style: Style, localTime: LocalTime = .system, hasDetails: Bool = false,
        isFolding: Bool = false, isPairing: Bool = false
    ) {
        self.style = style
        self.localTime = localTime
        self.hasDetails = hasDetails
        self.isFolding = isFolding && !hasDetails
        pairs = isPairing ? TailPairs() : nil
    }

    /// Sets the width of the terminal; lines written for another width stay as they are.
    mutating func fit(columns: Int?) {
        guard columns != width else { return }
        width = columns
        endFold()
    }

    mutating func add(_ json: JSONObject) {
        guard let message = TailMessage(json, keepingColours: style.isOn) else { return }
        for shown in pairs?.add(message) ?? [message] { addPaired(shown) }
        guard hasDetails else { return }
        for line in details(json) { lastLine += line + "\n" }
    }

    /// Puts the advice below the message it is about, which may not be shown yet.
    mutating func add(_ advice: TailAdvice) {
        if let pairs, pairs.isHolding(advice.entry) {
            held[advice.entry, default: []].append(advice)
            return
        }
        finishLine()
        fold.end()
        let layout = TailLayout(width: width)
        for line in advice.lines(layout, style: style, localTime: localTime) {
            lastLine += line + "\n"
        }
    }

    /// Adds a line that is not a message and may stand between a request and its answer.
    mutating func add(_ note: TraceNote) {
        addPaired(TailMessage(note))
    }

    /// Shows requests that are held back, because nothing that follows can answer them.
    mutating func finish() {
        for message in pairs?.rest() ?? [] { addPaired(message) }
    }

    /// Something outside this page was or will be printed.
    mutating func endFold() {
        fold.end()
    }

    mutating func takePage() -> String {
        finishLine()
        defer { page = "" }
        return page
    }

    private mutating func finishLine() {
        page += removal + lastLine
        (removal, lastLine) = ("", "")
    }

    private mutating func addPaired(_ message: TailMessage) {
        add(message)
        guard !held.isEmpty else { return }
        for number in [message.request, message.number].compactMap(\.self) {
            for advice in held.removeValue(forKey: number) ?? [] { add(advice) }
        }
    }

    private mutating func add(_ message: TailMessage) {
        let row = TailRow(layout: TailLayout(width: width), style: style, localTime: localTime)
        let canFold = isFolding && width.map { $0 >= Self.fewestColumns } ?? false
        var (shown, replaces) = (message, false)
        if canFold { (shown, replaces) = fold.add(message) }
        if !replaces || lastLine.isEmpty {
            finishLine()
            removal = replaces ? Self.removing : ""
        }
        lastLine = row.line(shown) + "\n"
    }

    /// The lines under a message: parameters, or the payload of a control frame.
    private func details(_ message: JSONObject) -> [String] {
        let problems = MessageProblem.all(of: message)
        guard let parameters = message.object("params") ?? message.object("payload"),
            !parameters.members.isEmpty || !problems.isEmpty
        else { return problems.map { "    " + $0.line(style) } }
        return MarkedJSON.lines(parameters, problems: problems, style: style).map { "    " + $0 }
    }
}
