// What relayctl asks about apps. Used by the commands `app`, `permissions` and `advice`.

import ArgumentParser
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

    /// The same about one app; when relayd knows no such app or RPC, its own words are all that is
    /// worth saying.
    ///
    /// - Throws: `ExitCode` after the message was written, or `ControlClientError`.
    func askAboutApp<Value: Decodable & Sendable>(
        _ type: Value.Type, _ path: String
    ) async throws -> Answer<Value> {
        do throws(ControlClientError) {
            return try await ask(type, path)
        } catch {
            guard case .refused(_, _, let status, let server, let message) = error,
                status == 404 || status == 409, server == "relayd/\(Version.current)"
            else { throw error }
            Output.current.write("relayctl: \(message)\n", to: .error)
            throw ExitCode(ExitStatus.notRunning.rawValue)
        }
    }
}
