// One client of the control API, from its pipeline to its last answer. `ControlServer` accepts clients
// and hands them in; nothing here needs a socket.

import ControlAPI
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Synchronization

/// Sets up and serves the clients that come by one door.
struct ControlClients: Sendable {
    let door: ControlDoor
    let responder: ControlResponder
    let logger: Logger

    /// Makes the pipeline of a connection, or says no to a peer that has its share. On the channel's
    /// loop.
    ///
    /// - Parameter peer: Who is at the other end; nil when it has left already.
    func accept(
        _ channel: any Channel, from peer: ControlShares.Peer?
    ) -> EventLoopFuture<AcceptedClient> {
        guard let peer else { return turnAway(channel, door.shares.limits.ofPeer) }
        let place: ControlShares.Place
        do throws(ControlShares.Full) {
            place = try door.shares.connect(peer)
        } catch {
            return turnAway(channel, error.limit)
        }
        // Sets the pipeline up; answers are given by one that knows who asks.
        let http = Self.http { _, _ in Response(status: .internalServerError) }
        return http.setup(channel: channel, logger: logger).flatMapThrowing { client in
            // Before anything is made of what came: what is no path never becomes one, and two
            // hosts never one of them.
            let decoder = try channel.pipeline.syncOperations.handler(
                type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try channel.pipeline.syncOperations.addHandler(
                StrictHeadHandler(), position: .after(decoder))
            try channel.pipeline.syncOperations.addHandler(PlaceHandler(place), position: .first)
            return AcceptedClient(client, peer)
        }
    }

    private func turnAway(
        _ channel: any Channel, _ limit: ControlCrowd.Limit
    ) -> EventLoopFuture<AcceptedClient> {
        logger.debug("a client is turned away: \(limit.name) is \(limit.value)")
        let place = door.shares.turnAway()
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(TurnAwayHandler(limit, place))
            return AcceptedClient()
        }
    }

    /// One client, until it leaves. At shutdown an idle one is closed at once, one that is being
    /// answered is waited for as long as `EndPatience` allows.
    func serve(_ accepted: AcceptedClient) async {
        guard let client = accepted.take() else { return }
        let channel = client.channel
        let (door, responder, logger, peer) = (door, responder, logger, accepted.peer)
        let http = Self.http { request, channel in
            try await responder.respond(to: request, at: door, on: channel, from: peer, logger)
        }
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await http.handle(value: client, logger: logger) }
                // An answer that waits for news would not notice that its client left.
                group.addTask { try? await channel.closeFuture.get() }
                await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            channel.eventLoop.execute { Self.end(channel) }
        }
    }

    /// Closes the connection of a client that does not take its last answer. On the channel's loop.
    private static func end(
        _ channel: any Channel, _ patience: EndPatience = EndPatience(), unsent before: Int? = nil
    ) {
        let before = before ?? unsentBytes(of: channel)
        channel.eventLoop.scheduleTask(in: TimeAmount(EndPatience.interval)) {
            guard channel.isActive else { return }
            let unsent = unsentBytes(of: channel)
            var patience = patience
            // Without unsent bytes it is the answer that is late, not the client.
            guard patience.goesOn(isTaking: unsent == 0 || unsent != before) else {
                return channel.close(promise: nil)
            }
            end(channel, patience, unsent: unsent)
        }
    }

    /// What the client has not taken: bytes that the kernel has no room for.
    private static func unsentBytes(of channel: any Channel) -> Int {
        (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    // MARK: Answering

    private static func http(
        _ answer: @escaping @Sendable (Request, any Channel) async throws -> Response
    ) -> HTTP1Channel {
        HTTP1Channel(
            responder: { request, writer, channel in
                let length = request.headers[.contentLength] ?? "0"
                let hasBody = length != "0" || request.headers[.transferEncoding] != nil
                let deadline = hasBody ? BodyDeadline(on: channel) : nil
                var response = try await BodyDeadline.$current.withValue(deadline) {
                    try await answer(request, channel)
                }
                deadline?.isMet()
                DashboardPage.harden(&response.headers)
                response.headers[.server] = "relayd/\(Version.current)"
                // What is left of a body is not waited for.
                if hasBody { response.headers[.connection] = "close" }
                try await writer.write(response: response.head, body: response.body)
                if hasBody { channel.close(promise: nil) }
            },
            configuration: .init(
                additionalChannelHandlers: [StalledClientHandler(ControlLimits.stall)],
                idleTimeout: ControlLimits.idle,
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: ControlLimits.headerFieldBytes,
                    maxHeaderListSize: ControlLimits.headerBytes,
                    maxHeaderFieldCount: ControlLimits.headerFields)))
    }
}

/// A client between being accepted and being served.
///
/// When the server is cancelled, clients that wait to be served are dropped; an asynchronous
/// channel must not be dropped, or NIO ends the process. So they are closed here.
final class AcceptedClient: Sendable {
    let peer: ControlShares.Peer
    private let client: Mutex<HTTP1Channel.Value?>

    init(_ client: HTTP1Channel.Value, _ peer: ControlShares.Peer) {
        self.client = Mutex(client)
        self.peer = peer
    }

    /// One that was turned away: there is nothing to serve.
    init() {
        client = Mutex(nil)
        peer = .user(nil)
    }

    /// The client, once.
    func take() -> HTTP1Channel.Value? {
        client.withLock { $0.take() }
    }

    deinit {
        guard let client = take() else { return }
        // Nobody is left to wait for it.
        Task { try? await client.executeThenClose { _, _ in } }
    }
}
