package import ControlAPI
import Logging
import NIOCore
import Synchronization

/// How often the control API had no room for another client: counted by `ControlServer` and
/// `ControlShares`, reported by `StatusReporter`.
package final class ControlOverflow: Sendable {
    /// The limit that was reached. The names are those of the options, and appear in the status as
    /// in `API.md`.
    package struct Limit: Sendable, Hashable {
        /// What is counted; the raw value is the option's key.
        package enum Kind: String, Sendable, CaseIterable {
            /// All connections of an endpoint.
            case connections
            /// Those of one user or address.
            case connectionsPerPeer = "connections_per_peer"
            /// The streams of one user or address.
            case streamsPerPeer = "streams_per_peer"
        }

        package let name: String
        package let value: Int
        private let kind: Kind

        /// - Parameter section: of the configuration.
        package init(_ section: String, _ kind: Kind, _ value: Int) {
            name = "\(section).\(kind.rawValue)"
            self.value = value
            self.kind = kind
        }

        /// The answer to a client whose connection exceeds the limit.
        package var refusal: String {
            switch kind {
            case .connections:
                """
                all connections to relayd are taken (\(name): \(value)), except any that are kept for root; \
                try again, or see who has them (ss -xp, ss -tp)
                """
            case .connectionsPerPeer, .streamsPerPeer:
                """
                this client has its share of connections to relayd (\(name): \(value)); close one of \
                them, or try again
                """
            }
        }

        /// The same in a few words, for the log.
        package var reason: String {
            switch kind {
            case .connections: "all connections are taken (\(name): \(value))"
            case .connectionsPerPeer, .streamsPerPeer: "it has its share (\(name): \(value))"
            }
        }

        package static let names = ["control", "dashboard"].flatMap { section in
            Kind.allCases.map { Limit(section, $0, 0).name }
        }
    }

    private struct Hits {
        var count = 0
        var limit = 0
        var lastAt = Timestamp.now
        var beganAt = Timestamp.now
    }
    private let state = Mutex<[String: Hits]>([:])
    private let onHit: @Sendable (_ name: String, _ count: Int) -> Void

    /// - Parameter onHit: called for the first hit, and for hits 2, 4, 8, …
    package init(onHit: @escaping @Sendable (_ name: String, _ count: Int) -> Void = { _, _ in }) {
        self.onHit = onHit
    }

    /// The hits as reported in the status; empty if there was always room.
    package var hits: [ControlAPI.LimitHit] {
        state.withLock { $0 }.sorted { $0.key < $1.key }.map { name, hits in
            ControlAPI.LimitHit(
                name: name, limit: hits.limit, count: hits.count, lastAt: hits.lastAt,
                beganAt: hits.beganAt)
        }
    }

    /// Counts a client that came when the limit was reached: it waits, or was turned away, or is
    /// relayd's own user and exceeded the limit.
    package func countHit(of limit: Limit) {
        let count = state.withLock { state in
            var hits = state[limit.name] ?? Hits()
            hits.count += 1
            hits.limit = limit.value
            let now = Timestamp.now
            if !(0...ControlAPI.LimitHit.pause).contains(now.seconds(since: hits.lastAt)) {
                hits.beganAt = now
            }
            hits.lastAt = now
            state[limit.name] = hits
            return hits.count
        }
        if count & (count - 1) == 0 { onHit(limit.name, count) }
    }
}

/// Accepts as many clients as one socket has room for, plus those being turned away; the others wait
/// in the kernel's queue. `ControlServer` puts one into the pipeline of each listening socket.
final class ControlPlaces: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never
    typealias OutboundOut = Never

    private let limit: ControlOverflow.Limit
    private let overflow: ControlOverflow
    private let logger: Logger
    private var taken = 0
    /// A read was withheld, so a client may be waiting.
    private var isHeldBack = false

    init(_ limit: ControlOverflow.Limit, overflow: ControlOverflow, logger: Logger) {
        self.limit = limit
        self.overflow = overflow
        self.logger = logger
    }

    private var places: Int { limit.value + ControlShares.maximumTurnedAway }

    func read(context: ChannelHandlerContext) {
        isHeldBack = taken >= places
        if !isHeldBack { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        taken += 1
        if taken == places {
            logger.debug(
                "\(taken) connections are taken (\(limit.name): \(limit.value)), others wait")
            overflow.countHit(of: limit)
        }
        let loop = context.eventLoop
        let here = NIOLoopBound((handler: self, context: context), eventLoop: loop)
        // A client's connection may be on another loop.
        unwrapInboundIn(data).closeFuture.hop(to: loop).whenComplete { _ in
            let (handler, context) = here.value
            handler.taken -= 1
            if handler.isHeldBack { handler.read(context: context) }
        }
        context.fireChannelRead(data)
    }
}
