import ControlAPI
import NIOCore
import NIOHTTP1
import NIOPosix

/// Asks relayd: HTTP/1.1 over its Unix socket, one connection per question.
///
/// Used by every command that needs the daemon. It tries the usual places in order (see `ControlSocket`)
/// and keeps what it found at each for the error message.
struct ControlClient: Sendable {
    let sockets: [ControlSocket]
    var timeout: TimeAmount = defaultTimeout
    /// Whether a question is withdrawn when its task is cancelled: relayd then stops work that takes
    /// long. Otherwise its answer is waited for.
    var endsWithTask = false
    var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

    /// How long relayctl waits for an answer: `AnswerTimeout` of the environment.
    @TaskLocal static var defaultTimeout = AnswerTimeout.ofEnvironment.time

    /// An answer that is one JSON document, and the JSON itself.
    struct Answer<Value: Sendable>: Sendable {
        let value: Value
        let json: String
    }

    func status() async throws(ControlClientError) -> Answer<StatusSnapshot> {
        try await ask(StatusSnapshot.self, Routes.status)
    }

    /// Asks for a route whose ":" segments are filled in.
    func ask<Value: Decodable & Sendable>(
        _ type: Value.Type, _ path: String
    ) async throws(ControlClientError) -> Answer<Value> {
        try await ask(type, ControlQuestion(path: path))
    }

    /// Asks relayd to change something.
    ///
    /// - Throws: `ControlClientError`, including `refused` with relayd's own words.
    func change<Value: Decodable & Sendable>(
        _ type: Value.Type, _ method: String, _ path: String, _ body: (any Encodable)? = nil
    ) async throws -> Answer<Value> {
        let body = try body.map { try APICoding.encodeLine($0) } ?? []
        return try await ask(type, ControlQuestion(method: method, path: path, body: body))
    }

    /// Asks relayd to change something, and prints what was done.
    func changeAndTell(
        _ output: OutputOptions, _ method: String, _ path: String, _ body: (any Encodable)? = nil
    ) async throws {
        let answer = try await change(ActionReport.self, method, path, body)
        Output.current.write(
            output.json
                ? JSONText.safe(answer.json) : SafeText.clean(answer.value.summary) + "\n")
    }

    private func ask<Value: Decodable & Sendable>(
        _ type: Value.Type, _ question: ControlQuestion
    ) async throws(ControlClientError) -> Answer<Value> {
        let (socket, answer) = try await ask(question)
        do {
            return Answer(
                value: try APICoding.decode(type, from: answer.body),
                json: String(decoding: answer.body, as: UTF8.self))
        } catch {
            throw .notUnderstood(socket.path, server: answer.server, problem: Self.problem(error))
        }
    }

    /// The successful answer to `GET path` from the first relayd found.
    func get(
        _ path: String
    ) async throws(ControlClientError) -> (socket: ControlSocket, answer: ControlAnswer) {
        try await ask(ControlQuestion(path: path))
    }

    /// The successful answer from the first relayd found. The question is sent only once: a change is not
    /// requested again at another socket.
    func ask(
        _ question: ControlQuestion
    ) async throws(ControlClientError) -> (socket: ControlSocket, answer: ControlAnswer) {
        var findings: [ControlClientError.Finding] = []
        for socket in sockets {
            do {
                try socket.checkDirectoryIsOurs()
                let answer = try await ask(socket.path, question)
                try Self.check(answer, from: socket.path, to: question.path)
                return (socket, answer)
            } catch let error as ControlClientError {
                throw error
            } catch let error as ControlExchange.Failure {
                throw ControlClientError(error, at: socket.path)
            } catch ChannelError.ioOnClosedChannel {
                // The connection was closed after it was made and before it was used.
                throw ControlClientError(.closedEarly, at: socket.path)
            } catch {
                findings.append(.init(path: socket.path, error: error))
            }
        }
        throw .notRunning(findings)
    }

    private func ask(
        _ socketPath: String, _ question: ControlQuestion
    ) async throws -> ControlAnswer {
        let loop = eventLoopGroup.next()
        let answer = loop.makePromise(of: ControlAnswer.self)
        let timeout = timeout
        // A slow name server does not mean that relayd is stuck.
        let patience = timeout + TimeAmount(AnswerTime.extra(for: question.path))
        let connection = ControlConnection.open(socketPath, on: loop, within: timeout) { pipeline in
            try pipeline.addHTTPClientHandlers()
            try pipeline.addHandler(ControlExchange(question, timeout: patience, promise: answer))
        }
        connection.whenFailure { answer.fail($0) }
        guard endsWithTask else { return try await answer.futureResult.get() }
        return try await withTaskCancellationHandler {
            try await answer.futureResult.get()
        } onCancel: {
            connection.whenSuccess { $0.close(promise: nil) }
        }
    }

    static func check(
        _ answer: ControlAnswer, from socketPath: String, to path: String
    ) throws(ControlClientError) {
        guard answer.server.hasPrefix("relayd/") else {
            throw .notRelayd(socketPath, "it calls itself \"\(SafeText.clean(answer.server))\"")
        }
        // 503 is the answer of health for "no", with a full body.
        if answer.status == 200 || answer.status == 503 { return }
        let detail = try? APICoding.decode(APIError.self, from: answer.body).error
        throw .refused(
            socketPath, path: path, status: answer.status, server: answer.server,
            code: detail?.code, message: SafeText.clean(detail?.message ?? "no reason given"))
    }

    static func problem(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let (context, what): (DecodingError.Context, String) =
            switch error {
            case .keyNotFound(let key, let context): (context, "\"\(key.stringValue)\" is missing")
            case .typeMismatch(_, let context): (context, context.debugDescription)
            case .valueNotFound(_, let context): (context, context.debugDescription)
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (.init(codingPath: [], debugDescription: ""), "\(error)")
            }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return SafeText.clean(path.isEmpty ? what : "at \(path): \(what)")
    }
}
