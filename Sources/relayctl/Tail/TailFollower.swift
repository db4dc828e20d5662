import ControlAPI
import NIOCore
import SDLProtocol

/// Runs `relayctl tail` after its options are parsed: reads relayd's stream of messages and prints it,
/// also across a restart of relayd.
///
/// The cursor keeps it complete: after an interruption, reading resumes where it stopped, and messages
/// that relayd could not keep that long are counted on standard error.
struct TailFollower {
    /// How a message is shown.
    enum Form: Sendable, Equatable {
        /// One line each.
        case text
        /// The line, with its parameters below.
        case verbose
        /// A request and its answer as one line.
        case pairs
        /// relayd's JSON, untouched.
        case json
    }

    private let client: ControlClient
    private let output: Output
    private let form: Form
    private let hasAdvice: Bool
    private let style: Style
    /// Which messages to show.
    private let filters: MessageQuery
    private let beginning: MessageQuery
    private let isFollowing: Bool
    private let pause: () async throws -> Void

    /// Lines to be written next: JSON, and text for people.
    private var page = ""
    private var text: TailText

    /// - Parameters:
    ///   - beginning: Key and value of the query that choose where in the past to begin.
    ///   - hasAdvice: Whether advice is shown after the messages it is about.
    ///   - isFolding: Whether a terminal shows repetitions as one line.
    ///   - pause: Waits before the next attempt to reach relayd.
    init(
        client: ControlClient, output: Output, form: Form, hasAdvice: Bool = true,
        isFolding: Bool = true, style: Style,
        filters: MessageQuery, beginning: MessageQuery, isFollowing: Bool = true,
        pause: @escaping () async throws -> Void
    ) {
        self.client = client
        self.output = output
        self.form = form
        self.hasAdvice = hasAdvice
        self.style = style
        self.filters = filters
        self.beginning = beginning
        self.isFollowing = isFollowing
        self.pause = pause
        text = TailText(
            style: style, hasDetails: form == .verbose, isFolding: isFolding && output.isScreen,
            isPairing: form == .pairs)
    }

    /// Returns when the reader is gone, or when all is shown and `isFollowing` is false.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, and `ControlClientError`; held-back
    ///   messages are shown first.
    mutating func run() async throws {
        do {
            try await read()
        } catch {
            text.finish()
            output.write(takePage())
            throw error
        }
    }

    private mutating func read() async throws {
        var stream = MessageStream(
            client: client, query: query, beginning: beginning, isFollowing: isFollowing,
            pause: pause)
        // The closure cannot change `self`, from which `stream` was made.
        var reader = self
        defer { self = reader }
        guard try await stream.run({ events in reader.take(events) }) else { return }
        reader.text.finish()
        output.write(reader.takePage())
    }

    private var query: MessageQuery {
        var query = filters
        switch form {
        case .json: break
        case .text, .pairs: query.add(.format, "summary")
        case .verbose: query.add(.format, "both")
        }
        if form != .json, style.isOn { query.add(.color, "1") }
        return query
    }

    // MARK: What comes

    /// Writes lines that arrived together in one call. Returns false when the reader is gone.
    private mutating func take(_ events: [MessageStream.Event]) -> Bool {
        if output.isTerminal { text.fit(columns: output.size().columns) }
        for event in events { take(event) }
        return output.write(takePage())
    }

    private mutating func takePage() -> String {
        defer { page = "" }
        return page + text.takePage()
    }

    private mutating func take(_ event: MessageStream.Event) {
        switch event {
        case .message(_, let line) where form == .json:
            page += JSONText.safe(String(buffer: line)) + "\n"
        case .message(let message, _): text.add(message)
        case .advice(_, _) where !hasAdvice: break
        case .advice(_, let line) where form == .json:
            page += JSONText.safe(String(buffer: line)) + "\n"
        case .advice(let advice, _): text.add(advice)
        case .missed(let missed):
            let count = Units.count(missed, "message")
            let verb = missed == 1 ? "was" : "were"
            note(
                "\(count) \(verb) missed: relayd keeps a limited number, and this reader was too slow"
            )
        case .gone: note("relayd is gone; waiting for it to come back")
        case .back: note("relayd is back")
        case .restarted:
            text.finish()
            note("relayd was restarted; its messages count from 1 again")
        }
    }

    /// Writes the note after the preceding lines.
    private mutating func note(_ text: String) {
        output.write(takePage())
        self.text.endFold()
        output.write("relayctl: \(text)\n", to: .error)
    }
}
