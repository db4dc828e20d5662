import ControlAPI
import NIOCore
import SDLProtocol

/// relayd's stream of messages. After an interruption, also a restart of relayd, reading resumes where it
/// stopped. Used by `tail`, `top` and `run`.
struct MessageStream {
    enum Event: Sendable {
        /// A message, and the line it arrived in.
        case message(JSONObject, ByteBuffer)
        /// Advice about an earlier message, and the line it arrived in.
        case advice(TailAdvice, ByteBuffer)
        /// This many were dropped before this reader took them.
        case missed(Int)
        /// relayd can no longer be reached; reported once.
        case gone
        /// The same relayd can be reached again.
        case back
        /// relayd was restarted: its messages count from 1 again.
        case restarted
    }

    private let client: ControlClient
    private let query: MessageQuery
    private let beginning: MessageQuery
    private let isFollowing: Bool
    private let pause: () async throws -> Void

    /// The run of relayd that was read last, and its last number.
    private var instance: String?
    private var cursor = 0
    /// Whether `gone` was reported.
    private var isAway = false

    /// - Parameters:
    ///   - query: Which messages to show, and in which form.
    ///   - beginning: Which past messages to begin with.
    ///   - isFollowing: Whether to go on after the past messages.
    ///   - pause: Waits before the next attempt to reach relayd.
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

    /// Reads until `body` stops it, or to the end if it is not to follow.
    ///
    /// - Parameter body: Gets events that arrived together in one call; returns false to stop.
    /// - Returns: False if `body` stopped it.
    /// - Throws: `ControlClientError` if relayd was never reached or waiting does not help, or if the
    ///   answer breaks off and it is not to follow; also what `pause` and `body` throw.
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

    /// Reads one connection to its end.
    private mutating func follow(_ body: ([Event]) throws -> Bool) async throws -> Bool {
        var goesOn = true
        let path = path
        // The closure cannot change `self` while `self.client` is in use.
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
        // A follower reconnects; any other reader would not know that there was more.
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
            guard let advice = TailAdvice(object) else { return take(note: object, &events) }
            // The message itself may have been filtered out.
            cursor = max(cursor, advice.entry)
            return events.append(.advice(advice, line))
        }
        // A request shown because of its answer directly precedes it, after messages with higher numbers.
        cursor = max(cursor, number)
        events.append(.message(object, line))
    }

    private mutating func take(note object: JSONObject, _ events: inout [Event]) {
        if let name = object.string("instance") { found(instance: name, &events) }
        if let missed = object.integer("missed") { events.append(.missed(missed)) }
        if let next = object.integer("next") { cursor = next }
    }

    private mutating func found(instance name: String, _ events: inout [Event]) {
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
    /// Whether waiting may help: relayd is being restarted, or has no room at the moment.
    var mayPass: Bool {
        switch self {
        case .notRunning, .timedOut, .crowded, .hungUp, .brokenOff: true
        case .notRelayd, .refused, .notUnderstood: false
        }
    }
}
