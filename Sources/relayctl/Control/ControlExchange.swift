import ControlAPI
import NIOCore
import NIOHTTP1

/// A question to relayd.
struct ControlQuestion: Sendable, Equatable {
    var method: String = "GET"
    let path: String
    /// JSON, or empty.
    var body: [UInt8] = []
}

struct ControlAnswer: Sendable, Equatable {
    let status: Int
    /// The `Server` header, "relayd/0.1.0".
    let server: String
    let body: [UInt8]
}

/// One request and its answer on one connection; belongs to `ControlClient`.
///
/// Sits at the end of NIO's HTTP/1.1 client pipeline. The promise is completed exactly once: by a whole
/// answer, an error, the end of the connection, or the deadline. An answer is handed over when relayd has
/// closed the connection, as requested, so that the slot is free for the caller's next connection. If
/// relayd does not close within `closing`, the answer is handed over all the same.
final class ControlExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    enum Failure: Error, Equatable {
        case timedOut
        /// The other side does not speak HTTP/1.1.
        case notHTTP
        case closedEarly
        case tooLarge
    }

    /// Largest answer accepted: a status with some hundred apps is far smaller.
    static let maximumBodyBytes = 8 << 20

    /// Time for the other side to close the connection after its answer.
    private static let closing = TimeAmount.seconds(1)

    private let request: ControlQuestion
    private let timeout: TimeAmount
    private var promise: EventLoopPromise<ControlAnswer>?
    private var deadline: Scheduled<Void>?
    private var head: HTTPResponseHead?
    private var body: [UInt8] = []
    /// The whole answer, waiting only for the end of the connection.
    private var answer: ControlAnswer?

    init(
        _ request: ControlQuestion, timeout: TimeAmount, promise: EventLoopPromise<ControlAnswer>
    ) {
        self.request = request
        self.timeout = timeout
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
            self.finish(.failure(Failure.timedOut), context)
        }
        var head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: request.path)
        head.headers = [
            "Host": "relayd", "User-Agent": "relayctl/\(Version.current)", "Connection": "close",
        ]
        if !request.body.isEmpty {
            head.headers.add(name: "Content-Type", value: "application/json")
            head.headers.add(name: "Content-Length", value: "\(request.body.count)")
        }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !request.body.isEmpty {
            let body = context.channel.allocator.buffer(bytes: request.body)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
        case .body(let part):
            body += part.readableBytesView
            if body.count > Self.maximumBodyBytes {
                finish(.failure(Failure.tooLarge), context)
            }
        case .end:
            guard let head else { return finish(.failure(Failure.notHTTP), context) }
            answer = ControlAnswer(
                status: Int(head.status.code), server: head.headers.first(name: "server") ?? "",
                body: body)
            deadline?.cancel()
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: Self.closing) {
                self.finish(.failure(Failure.timedOut), context)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        // The stream ended before an answer did.
        case HTTPParserError.invalidEOFState: finish(.failure(Failure.closedEarly), context)
        case is HTTPParserError: finish(.failure(Failure.notHTTP), context)
        // The other side closed before reading the question, which the kernel reports as a reset.
        case is IOError: finish(.failure(Failure.closedEarly), context)
        default: finish(.failure(error), context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(Failure.closedEarly), context)
    }

    private func finish(
        _ result: Result<ControlAnswer, any Error>, _ context: ChannelHandlerContext
    ) {
        guard let promise else { return }
        self.promise = nil
        deadline?.cancel()
        promise.completeWith(answer.map(Result.success) ?? result)
        context.close(promise: nil)
    }
}
