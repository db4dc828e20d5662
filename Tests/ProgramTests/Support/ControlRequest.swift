// HTTP on the control socket by raw bytes, as `curl --unix-socket` sends it.

import NIOCore
import NIOPosix
import RelayTesting
import Testing

/// One request on one connection, and the whole answer.
enum ControlRequest {
    struct Answer {
        let statusLine: String
        let headers: [String]
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    static func get(_ path: String, at socket: String) async throws -> Answer {
        try await answer(
            to: "GET \(path) HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n\r\n", at: socket)
    }

    static func post(_ path: String, _ body: String, at socket: String) async throws -> Answer {
        try await answer(to: posted(path, body), at: socket)
    }

    /// Sends a request and reads none of the answer.
    ///
    /// - Returns: The connection, to be closed.
    static func unread(
        _ path: String, _ body: String, at socket: String
    ) async throws -> any Channel {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .connect(unixDomainSocketPath: socket).get()
        try await channel.writeAndFlush(ByteBuffer(string: posted(path, body)))
        return channel
    }

    private static func posted(_ path: String, _ body: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static func answer(to request: String, at socket: String) async throws -> Answer {
        let text = try await send(request, at: socket)
        let end = try #require(text.firstRange(of: Array("\r\n\r\n".utf8)))
        let head = String(decoding: text[..<end.lowerBound], as: UTF8.self)
            .split(separator: "\r\n").map(String.init)
        return Answer(
            statusLine: try #require(head.first), headers: Array(head.dropFirst()),
            body: Array(text[end.upperBound...]))
    }

    private static func send(_ request: String, at socket: String) async throws -> [UInt8] {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: [UInt8].self)
        let timeout = loop.scheduleTask(in: FramePeer.patience) {
            answer.fail(FramePeer.Failure.nothingCame)
        }
        defer { timeout.cancel() }
        do {
            let channel = try await ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Collector(answer))
                    }
                }
                .connect(unixDomainSocketPath: socket).get()
            try await channel.writeAndFlush(ByteBuffer(string: request))
        } catch {
            answer.fail(error)
        }
        return try await answer.futureResult.get()
    }

    /// Keeps what comes until the other side closes.
    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let answer: EventLoopPromise<[UInt8]>
        private var bytes: [UInt8] = []

        init(_ answer: EventLoopPromise<[UInt8]>) {
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes += unwrapInboundIn(data).readableBytesView
        }

        func channelInactive(context: ChannelHandlerContext) {
            answer.succeed(bytes)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            answer.fail(error)
            context.close(promise: nil)
        }
    }
}
