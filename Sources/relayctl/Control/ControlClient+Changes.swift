// What relayctl has relayd do. Used by the commands that change something.

import ControlAPI

extension ControlClient {
    /// Asks relayd to change something.
    ///
    /// - Throws: `ControlClientError`, `refused` with relayd's own words among them.
    func change<Value: Decodable & Sendable>(
        _ type: Value.Type, _ method: String, _ path: String, _ body: (any Encodable)? = nil
    ) async throws -> Answer<Value> {
        let question = ControlQuestion(
            method: method, path: path, body: try body.map { try APICoding.encodeLine($0) } ?? [])
        let (socket, answer) = try await ask(question)
        do {
            return Answer(
                value: try APICoding.decode(type, from: answer.body),
                json: String(decoding: answer.body, as: UTF8.self))
        } catch {
            throw ControlClientError.notUnderstood(
                socket.path, server: answer.server, problem: Self.problem(error))
        }
    }

    /// The same, and tells what was done.
    func changeAndTell(
        _ output: OutputOptions, _ method: String, _ path: String, _ body: (any Encodable)? = nil
    ) async throws {
        let answer = try await change(ActionReport.self, method, path, body)
        Output.current.write(
            output.json
                ? JSONText.safe(answer.json) : SafeText.clean(answer.value.summary) + "\n")
    }
}
