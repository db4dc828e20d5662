// Answers that arrive in pieces or lines for as long as relayd has something to send.

import ControlAPI
import NIOCore
import NIOHTTP1

extension ControlClient {
    /// Asks the first relayd found for `path` and hands over the lines of its answer as they arrive.
    ///
    /// While `body` works, lines wait: relayd's connection fills up, and relayd counts the messages that
    /// this reader misses.
    ///
    /// - Parameter body: Gets lines without their ends, those that arrived together in one call; returns
    ///   false to stop.
    /// - Returns: How it ended.
    /// - Throws: `ControlClientError`, or what `body` throws.
    @discardableResult
    func lines(
        of path: String, _ body: ([ByteBuffer]) throws -> Bool
    ) async throws -> AnswerEnd {
        try await lines(of: ControlQuestion(path: path), body)
    }

    /// The same for a question that may change something while its answer lasts.
    @discardableResult
    func lines(
        of question: ControlQuestion, _ body: ([ByteBuffer]) throws -> Bool
    ) async throws -> AnswerEnd {
        var splitter = LineSplitter()
        return try await bytes(of: question) { bytes, socketPath in
            guard splitter.append(bytes) else {
                throw ControlClientError.notRelayd(
                    socketPath, "it sent a line of more than \(LineSplitter.maximumBytes) bytes")
            }
            var lines: [ByteBuffer] = []
            while let line = splitter.next() { lines.append(line) }
            return try lines.isEmpty || body(lines)
        }
    }

    /// Asks the first relayd found for `path` and hands over its answer in the pieces in which it
    /// arrives.
    ///
    /// - Parameter body: Gets a piece, and the path of the socket it came from; returns false to stop.
    ///   While it works, the rest waits in relayd's connection.
    /// - Returns: How it ended.
    /// - Throws: `ControlClientError`, or what `body` throws.
    @discardableResult
    func bytes(
        of path: String, _ body: (ByteBuffer, String) throws -> Bool
    ) async throws -> AnswerEnd {
        try await bytes(of: ControlQuestion(path: path), body)
    }

    private func bytes(
        of question: ControlQuestion, _ body: (ByteBuffer, String) throws -> Bool
    ) async throws -> AnswerEnd {
        var findings: [ControlClientError.Finding] = []
        for socket in sockets {
            let channel: NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>
            do {
                try socket.checkDirectoryIsOurs()
                channel = try await connect(socket.path, asking: question)
            } catch let error as ControlClientError {
                throw error
            } catch ChannelError.ioOnClosedChannel {
                // The connection was closed after it was made and before it was used.
                throw ControlClientError(.closedEarly, at: socket.path)
            } catch {
                findings.append(.init(path: socket.path, error: error))
                continue
            }
            return try await channel.executeThenClose { inbound, _ in
                try await read(inbound, from: socket.path, question.path, body)
            }
        }
        throw ControlClientError.notRunning(findings)
    }

    /// Connects and asks. The event loop writes the question and keeps the time: a machine too busy to
    /// run this program's tasks must not use up relayd's time.
    private func connect(
        _ socketPath: String, asking question: ControlQuestion
    ) async throws -> NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart> {
        let timeout = timeout + TimeAmount(AnswerTime.extra(for: question.path))
        let loop = eventLoopGroup.next()
        return try await ControlConnection.open(socketPath, on: loop, within: timeout) { pipeline in
            try pipeline.addHTTPClientHandlers()
            try pipeline.addHandler(AnswerDeadline(timeout))
        }
        // Wrapped only now: an asynchronous channel must not be dropped, as that of a failed attempt is.
        .flatMapThrowing { channel in
            let wrapped = try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                wrappingChannelSynchronously: channel)
            // In one go: relayd answers once it has the head, and may close before it has the end. A
            // failed write shows as a missing answer.
            channel.write(HTTPClientRequestPart.head(Self.head(question)), promise: nil)
            if !question.body.isEmpty {
                let body = ByteBuffer(bytes: question.body)
                channel.write(HTTPClientRequestPart.body(.byteBuffer(body)), promise: nil)
            }
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            return wrapped
        }
        .get()
    }

    private static func head(_ question: ControlQuestion) -> HTTPRequestHead {
        var head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: question.method), uri: question.path)
        head.headers = [
            "Host": "relayd", "User-Agent": "relayctl/\(Version.current)", "Connection": "close",
        ]
        if !question.body.isEmpty {
            head.headers.add(name: "Content-Length", value: "\(question.body.count)")
        }
        return head
    }

    private func read(
        _ inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>, from socketPath: String,
        _ path: String, _ body: (ByteBuffer, String) throws -> Bool
    ) async throws -> AnswerEnd {
        var answer = StreamedAnswer(socketPath: socketPath, path: path)
        do {
            for try await part in inbound {
                if let bytes = try answer.receive(part) {
                    guard try body(bytes, socketPath) else { return .enough }
                }
                // The other side may keep the connection open.
                if case .end = part { return .whole }
            }
        } catch is HTTPParserError where answer.head != nil {
            // The connection broke: the answer ends here.
        } catch is IOError where answer.head != nil {
            // The connection broke as well.
        } catch HTTPParserError.invalidEOFState {
            throw ControlClientError(.closedEarly, at: socketPath)
        } catch is HTTPParserError {
            throw ControlClientError(.notHTTP, at: socketPath)
        } catch let failure as ControlExchange.Failure {
            throw ControlClientError(failure, at: socketPath)
        } catch is IOError {
            // The other side closed before reading the question, which the kernel reports as a reset.
            throw ControlClientError(.closedEarly, at: socketPath)
        }
        if answer.head == nil { throw ControlClientError(.closedEarly, at: socketPath) }
        return .brokenOff(at: socketPath)
    }
}

/// How an answer that arrives line by line ended.
enum AnswerEnd: Equatable {
    /// relayd has sent everything.
    case whole
    /// The reader stopped it.
    case enough
    /// The connection to the relayd at this socket broke in the middle.
    case brokenOff(at: String)
}

private struct StreamedAnswer {
    let socketPath: String
    let path: String
    private(set) var head: HTTPResponseHead?
    /// Body of a refusal.
    private var refusal: [UInt8] = []

    init(socketPath: String, path: String) {
        self.socketPath = socketPath
        self.path = path
    }

    /// - Returns: The bytes of the answer in this part.
    /// - Throws: `ControlClientError` when the other side is not relayd, or relayd refuses.
    mutating func receive(_ part: HTTPClientResponsePart) throws -> ByteBuffer? {
        switch part {
        case .head(let head):
            self.head = head
            // A refusal is thrown once its reason has arrived.
            if isSuccess || !server.hasPrefix("relayd/") { try check() }
        case .body(let bytes) where isSuccess: return bytes
        case .body(let bytes):
            let room = ControlExchange.maximumBodyBytes - refusal.count
            refusal += bytes.readableBytesView.prefix(room)
        case .end:
            if !isSuccess { try check() }
        }
        return nil
    }

    private var isSuccess: Bool { head?.status == .ok }
    private var server: String { head?.headers.first(name: "server") ?? "" }

    private func check() throws {
        let answer = ControlAnswer(
            status: Int(head?.status.code ?? 0), server: server, body: refusal)
        try ControlClient.check(answer, from: socketPath, to: path)
    }
}

/// Splits pieces of data into lines.
struct LineSplitter {
    /// Four times the largest message relayd assembles by default.
    static let maximumBytes = 64 << 20

    private var pending = ByteBuffer()
    /// Bytes of `pending` that are known to contain no line end.
    private var scanned = 0

    /// Returns false when a line is too long.
    mutating func append(_ bytes: ByteBuffer) -> Bool {
        pending.discardReadBytes()
        pending.writeImmutableBuffer(bytes)
        return pending.readableBytes <= Self.maximumBytes
    }

    mutating func next() -> ByteBuffer? {
        let rest = pending.readableBytesView.dropFirst(scanned)
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
            scanned = pending.readableBytes
            return nil
        }
        scanned = 0
        let line = pending.readSlice(length: end - pending.readerIndex)
        pending.moveReaderIndex(forwardBy: 1)
        return line
    }
}

/// Closes a connection on which no answer begins in time.
private final class AnswerDeadline: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private let limit: TimeAmount
    private var deadline: Scheduled<Void>?

    init(_ limit: TimeAmount) {
        self.limit = limit
    }

    func channelActive(context: ChannelHandlerContext) {
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            context.fireErrorCaught(ControlExchange.Failure.timedOut)
            context.close(promise: nil)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        deadline?.cancel()
        deadline = nil
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
        context.fireChannelInactive()
    }
}
