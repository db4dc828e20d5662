// Sends a body as it is produced, and reads the answer. Used by `relayctl stream`.

import ControlAPI
import NIOCore
import NIOHTTP1

extension ControlClient {
    /// Sends a body piece by piece to the first relayd found. If the answer arrives before all of it is
    /// sent, the rest is not sent. The duration is not limited.
    ///
    /// - Parameters:
    ///   - path: With its query, if any.
    ///   - next: Returns the next piece, or nil at the end. Called from one task.
    /// - Throws: `ControlClientError`, or what `next` throws.
    func upload<Value: Decodable & Sendable>(
        _ type: Value.Type, to path: String,
        _ next: @escaping @Sendable () async throws -> ByteBuffer?
    ) async throws -> Answer<Value> {
        var findings: [ControlClientError.Finding] = []
        for socket in sockets {
            let channel: NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>
            do {
                try socket.checkDirectoryIsOurs()
                channel = try await connect(socket.path)
            } catch let error as ControlClientError {
                throw error
            } catch {
                findings.append(.init(path: socket.path, error: error))
                continue
            }
            let answer = try await channel.executeThenClose { inbound, outbound in
                try await exchange(inbound, outbound, at: socket.path, path, next)
            }
            try Self.check(answer, from: socket.path, to: path)
            do {
                return Answer(
                    value: try APICoding.decode(type, from: answer.body),
                    json: String(decoding: answer.body, as: UTF8.self))
            } catch {
                throw ControlClientError.notUnderstood(
                    socket.path, server: answer.server, problem: Self.problem(error))
            }
        }
        throw ControlClientError.notRunning(findings)
    }

    private func connect(
        _ socketPath: String
    ) async throws -> NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart> {
        try await ControlConnection.open(
            socketPath, on: eventLoopGroup.next(), within: timeout
        ) { pipeline in
            try pipeline.addHTTPClientHandlers()
        }
        .flatMapThrowing { channel in
            try NIOAsyncChannel(wrappingChannelSynchronously: channel)
        }
        .get()
    }

    /// Works in both directions at once: relayd may refuse in the middle of the body.
    private func exchange(
        _ inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>,
        _ outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>,
        at socketPath: String, _ path: String,
        _ next: @escaping @Sendable () async throws -> ByteBuffer?
    ) async throws -> ControlAnswer {
        try await withThrowingTaskGroup(of: ControlAnswer?.self) { group in
            group.addTask {
                try await Self.send(path, next, outbound)
                return nil
            }
            group.addTask { try await Self.answer(inbound, at: socketPath) }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let answer = result { return answer }
            }
            throw ControlClientError(.closedEarly, at: socketPath)
        }
    }

    private static func send(
        _ path: String, _ next: @Sendable () async throws -> ByteBuffer?,
        _ outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
    ) async throws {
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: path)
        head.headers = [
            "Host": "relayd", "User-Agent": "relayctl/\(Version.current)", "Connection": "close",
            "Content-Type": "application/octet-stream", "Transfer-Encoding": "chunked",
        ]
        guard await write(.head(head), outbound) else { return }
        while let piece = try await next() {
            guard await write(.body(.byteBuffer(piece)), outbound) else { return }
        }
        _ = await write(.end(nil), outbound)
    }

    /// - Returns: False when relayd accepts no more; its answer says why.
    private static func write(
        _ part: HTTPClientRequestPart,
        _ outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
    ) async -> Bool {
        do {
            try await outbound.write(part)
            return true
        } catch {
            return false
        }
    }

    private static func answer(
        _ inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>, at socketPath: String
    ) async throws -> ControlAnswer {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
        do {
            for try await part in inbound {
                switch part {
                case .head(let first): head = first
                case .body(let bytes):
                    body += bytes.readableBytesView
                    if body.count > ControlExchange.maximumBodyBytes {
                        throw ControlClientError(.tooLarge, at: socketPath)
                    }
                case .end:
                    guard let head else { break }
                    return ControlAnswer(
                        status: Int(head.status.code),
                        server: head.headers.first(name: "server") ?? "", body: body)
                }
            }
        } catch HTTPParserError.invalidEOFState {
            throw ControlClientError(.closedEarly, at: socketPath)
        } catch is HTTPParserError {
            throw ControlClientError(.notHTTP, at: socketPath)
        } catch is IOError {
            throw ControlClientError(.closedEarly, at: socketPath)
        }
        throw ControlClientError(.closedEarly, at: socketPath)
    }
}
