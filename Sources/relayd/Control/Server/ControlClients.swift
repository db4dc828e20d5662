import ControlAPI
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Synchronization

/// Sets up and serves the clients of one endpoint, each from its pipeline to its last answer. Nothing
/// here needs a socket.
struct ControlClients: Sendable {
    let endpoint: ControlEndpoint
    let responder: ControlResponder
    /// The patience with clients that are being answered when relayd stops.
    var endPatience = EndPatience()
    let logger: Logger
    private let refusals = RefusalLog()

    /// Makes the pipeline of a connection, or turns away a peer that has its share already. Called
    /// on the channel's loop.
    ///
    /// - Parameter peer: Who is at the other end; nil if it has left already.
    func accept(
        _ channel: any Channel, from peer: ControlShares.Peer?
    ) -> EventLoopFuture<AcceptedClient> {
        // Nobody is left to be told why.
        guard let peer else { return turnAway(channel, endpoint.shares.limits.ofPeer, nil) }
        let place: ControlShares.Place
        do throws(ControlShares.Full) {
            place = try endpoint.shares.connect(peer)
        } catch {
            refusals.warn("a connection from \(peer) refused: \(error.limit.reason)", logger)
            return turnAway(channel, error.limit, endpoint.shares.turnAway())
        }
        return channel.eventLoop.makeCompletedFuture {
            AcceptedClient(try Self.makePipeline(of: channel, place), peer)
        }
    }

    /// Builds the HTTP pipeline with its limits, from the socket inwards.
    private static func makePipeline(
        of channel: any Channel, _ place: ControlShares.Place
    ) throws -> AcceptedClient.Connection {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = ControlLimits.headerFieldBytes
        limits.maxHeaderListSize = ControlLimits.headerBytes
        limits.maxHeaderFieldCount = ControlLimits.headerFields
        let bytes = PlaceHandler(place)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(bytes)
        // `converse` takes one request at a time, and answers input that is not HTTP.
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false,
            withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
        try pipeline.addHandlers([
            LastAnswerHandler(bytes), StalledClientHandler(ControlLimits.stall),
            IdleClientHandler(ControlLimits.idle), BodyEndHandler(),
        ])
        return try NIOAsyncChannel(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true))
    }

    /// - Parameter place: The place the client keeps while it is told why; without one the
    ///   connection is closed at once.
    private func turnAway(
        _ channel: any Channel, _ limit: ControlOverflow.Limit, _ place: ControlShares.Place?
    ) -> EventLoopFuture<AcceptedClient> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(TurnAwayHandler(limit, place))
            return AcceptedClient()
        }
    }

    /// Serves one client until it leaves. At shutdown an idle client is closed at once; one that is
    /// being answered gets as long as `EndPatience` allows.
    func serve(_ accepted: AcceptedClient) async {
        guard let client = accepted.take() else { return }
        let channel = client.channel
        let peer = accepted.peer
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await converse(with: client, from: peer) }
                // An answer that waits for news does not notice that its client has left.
                group.addTask { try? await channel.closeFuture.get() }
                await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            channel.eventLoop.execute { end(channel, endPatience) }
        }
    }

    /// Closes the connection of a client that does not take its last answer or does not send the rest
    /// of its request. Called on the channel's loop.
    private func end(
        _ channel: any Channel, _ patience: EndPatience, since before: ClientProgress? = nil
    ) {
        guard let before = before ?? ClientProgress(of: channel) else { return }
        channel.eventLoop.scheduleTask(in: TimeAmount(patience.interval)) {
            guard channel.isActive, let progress = ClientProgress(of: channel) else { return }
            var patience = patience
            guard patience.spendLook(isTaking: progress.goesOn(since: before)) else {
                return channel.close(promise: nil)
            }
            end(channel, patience, since: progress)
        }
    }

    // MARK: Answering

    /// Answers request by request, until one side ends the connection.
    private func converse(
        with client: AcceptedClient.Connection, from peer: ControlShares.Peer
    ) async {
        let channel = client.channel
        do {
            try await withTaskCancellationHandler {
                try await client.executeThenClose { inbound, outbound in
                    do {
                        try await answer(RequestParts(inbound), outbound, on: channel, from: peer)
                    } catch let error as HTTPParserError {
                        logger.debug("a client of the control API sent something that is not HTTP")
                        try await ResponseWriter(outbound).write(Self.refusal(error))
                    }
                    outbound.finish()
                    try await channel.closeFuture.get()
                }
            } onCancel: {
                channel.close(mode: .input, promise: nil)
            }
        } catch {
            // The client has left.
            logger.trace("the connection of a client ended: \(error)")
        }
    }

    /// The answer to a request that could not be read to its end.
    private static func refusal(_ error: HTTPParserError) throws -> ControlResponse {
        guard error == .headerOverflow else {
            return ControlResponse(.badRequest, ["Connection": "close"])
        }
        let problem = APIError(
            .badRequest,
            """
            the request is too long: its head may have \(ControlLimits.headerBytes >> 10) KiB and \
            \(ControlLimits.headerFields) fields
            """)
        var response = try ControlResponse.json(problem, status: .badRequest)
        response.headers.add(name: "Server", value: "relayd/\(Version.current)")
        response.headers.add(name: "Connection", value: "close")
        return response
    }

    private func answer(
        _ parts: RequestParts, _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>,
        on channel: any Channel, from peer: ControlShares.Peer
    ) async throws {
        while let head = try await parts.head() {
            let hasBody = head.hasBody
            let deadline = hasBody ? BodyDeadline(on: channel) : nil
            let request = ControlRequest(
                head: head, body: RequestBody(parts, deadline: deadline))
            var response = try await responder.respond(
                to: request, at: endpoint, on: channel, from: peer, logger)
            deadline?.cancel()
            DashboardPage.harden(&response.headers)
            response.headers.add(name: "Server", value: "relayd/\(Version.current)")
            // The rest of a body must not be read as another request.
            if hasBody { response.headers.add(name: "Connection", value: "close") }
            try await ResponseWriter(outbound).write(response)
            if hasBody { channel.close(mode: .output, promise: nil) }
            guard head.isKeepAlive else { return }
        }
    }
}

/// A client between being accepted and being served.
///
/// When the server is cancelled, clients that wait to be served are dropped. NIO ends the process
/// if an asynchronous channel is dropped without being closed, so they are closed here.
final class AcceptedClient: Sendable {
    typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    let peer: ControlShares.Peer
    private let client: Mutex<Connection?>

    init(_ client: Connection, _ peer: ControlShares.Peer) {
        self.client = Mutex(client)
        self.peer = peer
    }

    /// A client that was turned away: there is nothing to serve.
    init() {
        client = Mutex(nil)
        peer = .user(nil)
    }

    /// The client, once.
    func take() -> Connection? {
        client.withLock { $0.take() }
    }

    deinit {
        guard let client = take() else { return }
        // Nobody is left to wait for it.
        Task(executorPreference: LoopExecutor.shared) {
            try? await client.executeThenClose { _, _ in }
        }
    }
}
