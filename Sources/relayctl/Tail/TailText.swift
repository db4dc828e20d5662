import DecodedTraces
import SDLProtocol

/// The lines of `tail` as a person reads them, collected to pages that are written at once.
///
/// On a terminal a line that only goes on takes the place of the one before: in the page while that is
/// not written, and on the screen afterwards.
struct TailText: Sendable {
    private let style: Style
    private let localTime: LocalTime
    private let hasDetails: Bool
    private let isFolding: Bool
    private var pairs: TailPairs?
    private var fold = TailFold()
    /// Advice about requests that `pairs` holds back, by the number of the request.
    private var held: [Int: [TailAdvice]] = [:]

    /// Not written yet: what is finished, and the last line, which may still be replaced, behind what
    /// removes the line above it from the screen.
    private var page = ""
    private var removal = ""
    private var lastLine = ""
    /// Columns of the terminal; nil when nobody looks.
    private var width: Int?

    /// Removes the line above the cursor (ECMA-48, "CUU", "EL").
    private static let removing = "\u{1B}[A\u{1B}[2K"
    /// On narrower terminals lines may wrap, and then the line above is only the end of one.
    private static let fewestColumns = 40

    /// - Parameters:
    ///   - hasDetails: parameters under each line.
    ///   - isFolding: repetitions in one line; only for a terminal.
    ///   - isPairing: a request and its answer in one line.
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

    /// The terminal is so wide now; what was written for another width stays as it is.
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

    /// Goes below the message it is about, which may not be shown yet.
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

    /// What is no message, and may stand between a request and its answer.
    mutating func add(_ note: TraceNote) {
        addPaired(TailMessage(note))
    }

    /// Requests that are held back are shown, because nothing that follows can answer them.
    mutating func finish() {
        for message in pairs?.rest() ?? [] { addPaired(message) }
    }

    /// Something that is not of this page was printed, or will be.
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

    /// What stands under a line: parameters, or the payload of a control frame.
    private func details(_ message: JSONObject) -> [String] {
        let problems = MessageProblem.all(of: message)
        guard let parameters = message.object("params") ?? message.object("payload"),
            !parameters.members.isEmpty || !problems.isEmpty
        else { return problems.map { "    " + $0.line(style) } }
        return MarkedJSON.lines(parameters, problems: problems, style: style).map { "    " + $0 }
    }
}
