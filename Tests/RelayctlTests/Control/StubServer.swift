import ControlAPI
import Glibc
import NIOCore
import NIOPosix
import Testing

/// A Unix socket that gives a fixed answer once the first bytes of a request arrive.
final class StubServer: Sendable {
    let path: String
    private let directory: String
    private let channel: any Channel

    enum Behaviour: Sendable {
        /// Answers and leaves the connection open.
        case answer(String)
        /// Answers and closes, as relayd does for "Connection: close".
        case answerAndClose(String)
        /// The same once the future succeeds.
        case answerAfter(EventLoopFuture<Void>, String)
        case close
        /// Closes the connection before a request can be read.
        case closeUnread
        case silence

        fileprivate var leavesRequestsUnread: Bool {
            if case .closeUnread = self { true } else { false }
        }
    }

    init(_ behaviour: Behaviour) async throws {
        var template = Array("/tmp/relayctl-test-XXXXXX".utf8CString)
        directory = String(cString: try #require(mkdtemp(&template)))
        path = directory + "/c.sock"
        channel = try await Self.bootstrap(behaviour).bind(unixDomainSocketPath: path).get()
    }

    /// Takes over and serves a socket that is already listening.
    init(_ behaviour: Behaviour, listening: ListeningSocket) async throws {
        (path, directory) = (listening.path, listening.directory)
        channel = try await Self.bootstrap(behaviour)
            .withBoundSocket(listening.descriptor).get()
    }

    private static func bootstrap(_ behaviour: Behaviour) -> ServerBootstrap {
        ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: !behaviour.leavesRequestsUnread)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answering(behaviour))
                }
            }
    }

    static func relayd(_ body: String, status: String = "200 OK", version: String = Version.current)
        -> Behaviour
    {
        .answerAndClose(answer(body, status: status, version: version))
    }

    static func answer(
        _ body: String, status: String = "200 OK", version: String = Version.current
    ) -> String {
        "HTTP/1.1 \(status)\r\nServer: relayd/\(version)\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    static func relayd(_ snapshot: StatusSnapshot) throws -> Behaviour {
        relayd(String(decoding: try APICoding.encode(snapshot), as: UTF8.self))
    }

    func stop() async throws {
        try await channel.close()
        unlink(path)
        rmdir(directory)
    }

    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let behaviour: Behaviour

        init(_ behaviour: Behaviour) { self.behaviour = behaviour }

        func channelActive(context: ChannelHandlerContext) {
            if case .closeUnread = behaviour { context.close(promise: nil) }
            context.fireChannelActive()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch behaviour {
            case .silence, .closeUnread: break
            case .close: context.close(promise: nil)
            case .answer(let text):
                context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
            case .answerAndClose(let text):
                context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
                context.close(promise: nil)
            case .answerAfter(let event, let text):
                let channel = context.channel
                event.hop(to: channel.eventLoop).whenComplete { _ in
                    channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
                    channel.close(promise: nil)
                }
            }
        }
    }
}
