import ControlAPI
import NIOCore
import SDLProtocol

/// `relayctl tail`, once its options are understood: reads relayd's stream of messages and prints
/// it, also across a restart of relayd.
///
/// The cursor makes it whole: after an interruption reading goes on where it stopped, and what
/// relayd could not keep that long is counted on standard error.
struct TailFollower {
    /// How a message is shown.
    enum Form: Sendable, Equatable {
        /// A line each.
        case text
        /// The line, and its parameters under it.
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
    /// What to show.
    private let filters: MessageQuery
    private let beginning: MessageQuery
    private let isFollowing: Bool
    private let pause: () async throws -> Void

    /// Who was read last, and how far.
    private var instance: String?
    private var cursor = 0
    /// The reader was told that relayd is gone.
    private var isAway = false
    private var hasEnough = false
    /// Lines to be written next: of JSON, and for people.
    private var page = ""
    private var text: TailText

    /// - Parameters:
    ///   - beginning: Key and value of the query that choose what of the past to begin with.
    ///   - hasAdvice: Whether what is probably wrong is shown behind the messages.
    ///   - isFolding: Whether a terminal shows repetitions as one line.
    ///   - pause: Time until relayd is looked for again.
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
            style: style, hasDetails: form == .verbose, isFolding: isFolding && output.isTerminal,
            isPairing: form == .pairs)
    }

    /// Returns when nobody reads any more, or everything is shown and there is no more to follow.
    mutating func run() async throws {
        while true {
            do {
                try await follow()
                if hasEnough { return }
                guard isFollowing else {
                    text.finish()
                    output.write(takePage())
                    return
                }
            } catch let error as ControlClientError {
                guard instance != nil, isFollowing, error.mayPass else { throw error }
                if !isAway { note("relayd is gone; waiting for it to come back") }
                isAway = true
            }
            try await pause()
        }
    }

    /// One connection, to its end.
    private mutating func follow() async throws {
        var enough = false
        let path = query.path(Routes.messageStream)
        // The closure cannot change `self` while `self.client` runs.
        var reader = self
        defer {
            self = reader
            hasEnough = enough
        }
        try await client.lines(of: path) { lines in
            let goesOn = try reader.take(lines)
            enough = !goesOn
            return goesOn
        }
    }

    private var query: MessageQuery {
        var query = filters
        switch form {
        case .json: break
        case .text, .pairs: query.add(.format, "summary")
        case .verbose: query.add(.format, "both")
        }
        if form != .json, style.isOn { query.add(.color, "1") }
        if !isFollowing { query.add(.follow, "0") }
        if let instance {
            query.add(.instance, instance)
            query.add(.after, "\(cursor)")
        } else {
            query.add(contentsOf: beginning)
        }
        return query
    }

    // MARK: Lines

    /// Lines that came together are written together. False when nobody reads any more.
    private mutating func take(_ lines: [ByteBuffer]) throws -> Bool {
        if output.isTerminal { text.fit(columns: output.size().columns) }
        do {
            for line in lines { try take(line) }
        } catch {
            output.write(takePage())
            throw error
        }
        return output.write(takePage())
    }

    private mutating func takePage() -> String {
        defer { page = "" }
        return page + text.takePage()
    }

    private mutating func take(_ line: ByteBuffer) throws {
        let object: JSONObject
        do {
            object = try JSONObject(line)
        } catch {
            throw ControlClientError.notUnderstood(
                client.sockets.map(\.path).joined(separator: ", "), server: "relayd",
                problem: "a line is not JSON (\(error))")
        }
        guard let number = object.integer("n") else {
            if let advice = TailAdvice(object) { return take(advice, line) }
            return take(note: object)
        }
        // A request that is shown for its answer comes right before that.
        cursor = max(cursor, number)
        guard form == .json else { return text.add(object) }
        page += JSONText.safe(String(buffer: line)) + "\n"
    }

    private mutating func take(_ advice: TailAdvice, _ line: ByteBuffer) {
        guard hasAdvice else { return }
        guard form == .json else { return text.add(advice) }
        page += JSONText.safe(String(buffer: line)) + "\n"
    }

    private mutating func take(note object: JSONObject) {
        if let name = object.string("instance") { hasFound(instance: name) }
        if let missed = object.integer("missed") {
            let count = Units.count(missed, "message")
            let verb = missed == 1 ? "was" : "were"
            note("\(count) \(verb) missed: relayd keeps only so many, and this reader was too slow")
        }
        if let next = object.integer("next") { cursor = next }
    }

    private mutating func hasFound(instance name: String) {
        let isOther = instance != nil && instance != name
        if isOther {
            text.finish()
            note("relayd was restarted; its messages count from 1 again")
            cursor = 0
        } else if isAway {
            note("relayd is back")
        }
        isAway = false
        instance = name
    }

    /// Behind the lines that came before it.
    private mutating func note(_ text: String) {
        output.write(takePage())
        self.text.endFold()
        output.write("relayctl: \(text)\n", to: .error)
    }
}

extension ControlClientError {
    /// Waiting may help: relayd is being restarted, or has no place at the moment.
    fileprivate var mayPass: Bool {
        switch self {
        case .notRunning, .timedOut, .crowded, .hungUp: true
        case .notRelayd, .refused, .notUnderstood: false
        }
    }
}
