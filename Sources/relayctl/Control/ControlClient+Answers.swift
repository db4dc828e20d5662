// Questions to relayd whose answer is one JSON document. Used by the commands that show it.

import ControlAPI

extension ControlClient {
    /// An answer, and the JSON it came in.
    struct Answer<Value: Sendable>: Sendable {
        let value: Value
        let json: String
    }

    /// Asks for a route whose ":" segments are filled in.
    func ask<Value: Decodable & Sendable>(
        _ type: Value.Type, _ path: String
    ) async throws(ControlClientError) -> Answer<Value> {
        let (socket, answer) = try await get(path)
        do {
            return Answer(
                value: try APICoding.decode(type, from: answer.body),
                json: String(decoding: answer.body, as: UTF8.self))
        } catch {
            throw .notUnderstood(socket.path, server: answer.server, problem: Self.problem(error))
        }
    }
}
