import Media
import NIOCore
import NIOPosix
import Synchronization

/// A TCP port of this machine where ffplay, mpv and VLC get the passing video. Every client gets an H.264
/// byte stream; data from players is ignored.
final class VideoPort: Sendable {
    private struct State {
        var feed = VideoFeed()
        var channels: [VideoFeed.Player: any Channel] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let server = Mutex<(any Channel)?>(nil)
    private let loop: any EventLoop

    /// This machine only: anybody who reaches the port sees what apps show.
    static let host = "127.0.0.1"

    /// - Parameter loop: The loop of the players' sockets.
    init(on loop: any EventLoop) {
        self.loop = loop
    }

    /// Starts listening.
    ///
    /// - Parameter port: 0 for any.
    /// - Throws: `MediaFailure` if the port is not available.
    func open(_ port: Int) async throws(MediaFailure) {
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 16)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(PlayerHandler(self))
                }
            }
        do {
            let channel = try await bootstrap.bind(host: Self.host, port: port).get()
            server.withLock { $0 = channel }
        } catch {
            throw MediaFailure(
                "no video for players: \(Self.host):\(port) cannot be opened: \(error); set media.video_port to "
                    + "a free port")
        }
    }

    /// The address it listens on.
    var address: String? {
        server.withLock { $0?.localAddress?.port }.map { "\(Self.host):\($0)" }
    }

    var playerCount: Int { state.withLock { $0.feed.playerCount } }

    /// Closes the port, and its players once everything has been written to them.
    func close() {
        server.withLock { $0.take() }?.close(promise: nil)
        let channels = state.withLock { state in
            // A player that was accepted a moment ago may not have joined yet.
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels {
            // Closes after the writes; a player that does not read must not delay this.
            channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
            loop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
        }
    }

    // MARK: Pictures

    func began(_ stream: MediaID) { state.withLock { $0.feed.began(stream) } }

    func entry(_ stream: MediaID, _ bytes: ByteBuffer) {
        state.withLock { $0.feed.entry(stream, bytes) }
    }

    func picture(_ stream: MediaID, _ bytes: ByteBuffer) {
        send { $0.picture(stream, bytes) }
    }

    func ended(_ stream: MediaID) { state.withLock { $0.feed.ended(stream) } }

    /// Sends pieces in the order in which the feed decided.
    private func send(_ decide: (inout VideoFeed) -> [VideoFeed.Piece]) {
        state.withLock { state in
            for piece in decide(&state.feed) {
                guard let channel = state.channels[piece.player] else { continue }
                write(piece, to: channel)
            }
        }
    }

    private func write(_ piece: VideoFeed.Piece, to channel: any Channel) {
        // On the loop itself, a write might complete before this function returns.
        loop.execute {
            channel.writeAndFlush(piece.bytes).whenComplete { _ in
                self.state.withLock { $0.feed.took(piece.bytes.readableBytes, piece.player) }
            }
        }
    }

    // MARK: Players

    /// - Returns: Its number; nil if there are too many players, or the port is closed.
    func joined(_ channel: any Channel) -> VideoFeed.Player? {
        state.withLock { state in
            guard !state.isClosed, let (player, pieces) = state.feed.joined() else { return nil }
            state.channels[player] = channel
            for piece in pieces { write(piece, to: channel) }
            return player
        }
    }

    fileprivate func left(_ player: VideoFeed.Player) {
        state.withLock { state in
            state.feed.left(player)
            state.channels[player] = nil
        }
    }
}

/// A player's socket.
private final class PlayerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let port: VideoPort
    private var player: VideoFeed.Player?

    init(_ port: VideoPort) { self.port = port }

    func channelActive(context: ChannelHandlerContext) {
        player = port.joined(context.channel)
        if player == nil { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let player { port.left(player) }
        player = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
