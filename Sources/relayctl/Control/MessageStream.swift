import ControlAPI
import NIOCore
import SDLProtocol

/// relayd's stream of messages, also across a restart of relayd: after an interruption reading goes on
/// where it stopped. `tail` and `top` read it.
struct MessageStream {
    enum Event: Sendable {
        /// A message, and the line it came in.
        case message(JSONObject, ByteBuffer)
        /// What is probably wrong, behind the message that shows it, and the line it came in.
        case advice(TailAdvice, ByteBuffer)
        /// So many came and went before this reader took them.
        case missed(Int)
        /// relayd cannot be reached any more; told once.
        case gone
        /// The same relayd is there again.
        case back
        /// Another relayd is there: its messages count from 1 again.
        case restarted
    }

    private let client: ControlClient
    private let query: MessageQuery
    private let beginning: MessageQuery
    private let isFollowing: Bool
    private let pause: () async throws -> Void

    /// Who was read last, and how far.
    private var instance: String?
    private var cursor = 0
    /// The reader was told that relayd is gone.
    private var isAway = false

    /// - Parameters:
    ///   - query: What to show, and in which form.
    ///   - beginning: What of the past to begin with.
    ///   - isFollowing: Whether to go on when the past is shown.
    ///   - pause: Time until relayd is looked for again.
    init(
        client: ControlClient, query: MessageQuery, beginning: MessageQuery,
        isFollowing: Bool = true, pause: @escaping () async throws -> Void
    ) {
        self.client = client
        self.query = query
        self.beginning = beginning
        self.isFollowing = isFollowing
        self.pause = pause
    }

    /// Reads until `body` has enough, or everything is read and there is no more to follow.
    ///
    /// - Parameter body: Gets what came together in one call; false when that is enough.
    /// - Returns: False when `body` had enough.
    /// - Throws: `ControlClientError` when relayd was never reached or waiting does not help, or the answer
    ///   breaks off and there is no more to follow; what `pause` throws, and what `body` throws.
    mutating func run(_ body: ([Event]) throws -> Bool) async throws -> Bool {
        while true {
            do {
                guard try await follow(body) else { return false }
                guard isFollowing else { return true }
            } catch let error as ControlClientError {
                guard instance != nil, isFollowing, error.mayPass else { throw error }
                if !isAway {
                    isAway = true
                    guard try body([.gone]) else { return false }
                }
            }
            try await pause()
        }
    }

    /// One connection, to its end.
    private mutating func follow(_ body: ([Event]) throws -> Bool) async throws -> Bool {
        var goesOn = true
        let path = path
        // The closure cannot change `self` while `self.client` runs.
        var reader = self
        defer { self = reader }
        let end = try await client.lines(of: path) { lines in
            var events: [Event] = []
            do {
                for line in lines { try reader.take(line, &events) }
            } catch {
                _ = try body(events)
                throw error
            }
            goesOn = try body(events)
            return goesOn
        }
        // Who follows comes again; nobody else would know that there was more.
        if !isFollowing, case .brokenOff(let socket) = end {
            throw ControlClientError.brokenOff(socket)
        }
        return goesOn
    }

    private var path: String {
        var query = query
        if !isFollowing { query.add(.follow, "0") }
        if let instance {
            query.add(.instance, instance)
            query.add(.after, "\(cursor)")
        } else {
            query.add(contentsOf: beginning)
        }
        return query.path(Routes.messageStream)
    }

    // MARK: Lines

    private mutating func take(_ line: ByteBuffer, _ events: inout [Event]) throws {
        let object: JSONObject
        do {
            object = try JSONObject(line)
        } catch {
            throw ControlClientError.notUnderstood(
                client.sockets.map(\.path).joined(separator: ", "), server: "relayd",
                problem: "a line is not JSON (\(error))")
        }
        guard let number = object.integer("n") else {
            if let advice = TailAdvice(object) { return events.append(.advice(advice, line)) }
            return take(note: object, &events)
        }
        // A request that is shown for its answer comes right before that.
        cursor = max(cursor, number)
        events.append(.message(object, line))
    }

    private mutating func take(note object: JSONObject, _ events: inout [Event]) {
        if let name = object.string("instance") { hasFound(instance: name, &events) }
        if let missed = object.integer("missed") { events.append(.missed(missed)) }
        if let next = object.integer("next") { cursor = next }
    }

    private mutating func hasFound(instance name: String, _ events: inout [Event]) {
        if instance != nil, instance != name {
            events.append(.restarted)
            cursor = 0
        } else if isAway {
            events.append(.back)
        }
        isAway = false
        instance = name
    }
}

extension ControlClientError {
    /// Waiting may help: relayd is being restarted, or has no place at the moment.
    var mayPass: Bool {
        switch self {
        case .notRunning, .timedOut, .crowded, .hungUp, .brokenOff: true
        case .notRelayd, .refused, .notUnderstood: false
        }
    }
}
