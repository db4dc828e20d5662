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
    /// How long a client may take nothing of its last answer.
    private let endInterval: Duration
    private let refusals = RefusalLog()

    init(
        door: ControlDoor, responder: ControlResponder,
        endInterval: Duration = EndPatience.interval, logger: Logger
    ) {
        self.door = door
        self.responder = responder
        self.endInterval = endInterval
        self.logger = logger
    }

    /// Makes the pipeline of a connection, or says no to a peer that has its share. On the channel's
    /// loop.
    ///
    /// - Parameter peer: Who is at the other end; nil when it has left already.
    func accept(
        _ channel: any Channel, from peer: ControlShares.Peer?
    ) -> EventLoopFuture<AcceptedClient> {
        // Nobody is left to hear why.
        guard let peer else { return turnAway(channel, door.shares.limits.ofPeer, nil) }
        let place: ControlShares.Place
        do throws(ControlShares.Full) {
            place = try door.shares.connect(peer)
        } catch {
            refusals.warn("a connection from \(peer) refused: \(error.limit.reason)", logger)
            return turnAway(channel, error.limit, door.shares.turnAway())
        }
        // Sets the pipeline up; answers are given by one that knows who asks.
        let http = Self.http { _, _ in Response(status: .internalServerError) }
        return http.setup(channel: channel, logger: logger).flatMapThrowing { client in
            let pipeline = channel.pipeline.syncOperations
            // Before anything is made of what came: what is no path never becomes one, and two
            // hosts never one of them.
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let bytes = PlaceHandler(place)
            try pipeline.addHandlers(
                [StrictHeadHandler(), LastAnswerHandler(bytes)], position: .after(decoder))
            let encoder = try pipeline.handler(type: HTTPResponseEncoder.self)
            try pipeline.addHandler(bytes, position: .before(encoder))
            return AcceptedClient(client, peer)
        }
    }

    /// - Parameter place: To hear why; without one the connection is closed at once.
    private func turnAway(
        _ channel: any Channel, _ limit: ControlCrowd.Limit, _ place: ControlShares.Place?
    ) -> EventLoopFuture<AcceptedClient> {
        channel.eventLoop.makeCompletedFuture {
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
            channel.eventLoop.execute { end(channel) }
        }
    }

    /// Closes the connection of a client that does not do its part: does not take its last answer, or
    /// does not send the rest of its request. On the channel's loop.
    private func end(
        _ channel: any Channel, _ patience: EndPatience = EndPatience(),
        since before: ClientProgress? = nil
    ) {
        guard let before = before ?? ClientProgress(of: channel) else { return }
        channel.eventLoop.scheduleTask(in: TimeAmount(endInterval)) {
            guard channel.isActive, let progress = ClientProgress(of: channel) else { return }
            var patience = patience
            guard patience.goesOn(isTaking: progress.goesOn(since: before)) else {
                return channel.close(promise: nil)
            }
            end(channel, patience, since: progress)
        }
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
                // What is left of a body is not read as another request.
                if hasBody { response.headers[.connection] = "close" }
                try await writer.write(response: response.head, body: response.body)
                if hasBody { channel.close(mode: .output, promise: nil) }
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
