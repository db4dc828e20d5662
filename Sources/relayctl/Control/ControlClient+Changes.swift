// What relayctl has relayd do. Used by the commands that change something.

import ArgumentParser
import ControlAPI

extension ControlClient {
    /// Asks relayd to change something.
    ///
    /// - Throws: `ExitCode` after relayd's own words were written, when it refuses; or
    ///   `ControlClientError`.
    func change<Value: Decodable & Sendable>(
        _ type: Value.Type, _ method: String, _ path: String, _ body: (any Encodable)? = nil
    ) async throws -> Answer<Value> {
        let question = ControlQuestion(
            method: method, path: path, body: try body.map { try APICoding.encodeLine($0) } ?? [])
        do throws(ControlClientError) {
            let (socket, answer) = try await ask(question)
            do {
                return Answer(
                    value: try APICoding.decode(type, from: answer.body),
                    json: String(decoding: answer.body, as: UTF8.self))
            } catch {
                throw .notUnderstood(
                    socket.path, server: answer.server, problem: Self.problem(error))
            }
        } catch {
            guard case .refused(_, _, _, let server, let message) = error,
                server == "relayd/\(Version.current)"
            else { throw error }
            Output.current.write("relayctl: \(message)\n", to: .error)
            throw ExitCode(ExitStatus.refused.rawValue)
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
