// A built relayd with a directory and ports of its own, which most of these tests use.

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import Testing

/// A running relayd. Gone when `run` returns, whatever happened.
struct Relayd {
    let process: ChildProcess
    let directory: TemporaryDirectory
    /// Where apps connect.
    let port: Int

    var controlSocket: String { directory.file("relayd.sock") }

    /// The configuration unless a test has its own: fake head units do not confirm a goodbye.
    static let quickGoodbyes = """
        sessions:
          farewell_timeout: 100ms

        """

    /// Starts relayd, runs `body`, ends relayd with SIGTERM unless the body has ended it, and expects
    /// it to end well.
    ///
    /// - Parameters:
    ///   - arguments: added to the usual ones.
    ///   - readsOutput: false leaves its standard output unread.
    ///   - ending: how it is expected to end instead.
    static func run(
        accessory: String, config: String = quickGoodbyes, _ arguments: [String] = [],
        environment: [String: String] = [:], readsOutput: Bool = true,
        endsBy ending: ChildProcess.Ending = .exited(0),
        _ body: (Relayd) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.run { directory in
            let file = try directory.write(config, to: "relayd.yaml")
            // Nobody else gets the port while relayd has closed it.
            try await UnusedPort.run { port in
                let process = try await Program.relayd.start(
                    [
                        "--config", file, "--accessory", accessory,
                        "--listen", "127.0.0.1:\(port)",
                        "--control-socket", directory.file("relayd.sock"),
                    ] + arguments,
                    environment: ["STATE_DIRECTORY": directory.path].merging(environment) { $1 },
                    readsOutput: readsOutput)
                try await run(process, in: directory, endsBy: ending, body)
            }
        }
    }

    /// Does the same for a relayd that the test has started in its own way.
    static func run(
        _ process: ChildProcess, in directory: TemporaryDirectory,
        endsBy expected: ChildProcess.Ending = .exited(0), _ body: (Relayd) async throws -> Void
    ) async throws {
        do {
            let port = try await process.errors.wait(for: "the port apps connect to") {
                Self.port($0)
            }
            let relayd = Relayd(process: process, directory: directory, port: port)
            try await onOwnThread { try await body(relayd) }
            if process.isRunning { process.signal(SIGTERM) }
            let ending = try await process.ended()
            #expect(
                ending == expected,
                "relayd said: \(process.errors.all.suffix(20).joined(separator: "\n"))")
        } catch {
            process.signal(SIGKILL)
            _ = try? await process.ended()
            Issue.record(
                """
                relayd said:
                \((process.errors.all + process.output.all.suffix(20)).joined(separator: "\n"))
                """)
            throw error
        }
    }

    /// The port in relayd's first line.
    private static func port(_ lines: [String]) -> Int? {
        for line in lines {
            let place = #/(?:apps|clients) connect by TCP to [0-9.]+:(\d+)/#
            guard let match = line.firstMatch(of: place) else { continue }
            return Int(match.1)
        }
        return nil
    }

    func connectApp() async throws -> FramePeer {
        try await FramePeer.connect(port: port)
    }

    /// Its answer to GET /v1/status.
    func status() async throws -> StatusSnapshot {
        let answer = try await ControlRequest.get(Routes.status, at: controlSocket)
        return try APICoding.decode(StatusSnapshot.self, from: answer.body)
    }

    /// Asks until the status is as described.
    @discardableResult
    func until(
        _ what: String, _ isSo: (StatusSnapshot) -> Bool
    ) async throws -> StatusSnapshot {
        try await until(what, ask: status, isSo)
    }

    /// Asks until `count` messages have been decoded.
    func untilSeen(messages count: Int) async throws {
        let route = Routes.path(Routes.message, "\(count)")
        let ask = { try await ControlRequest.get(route, at: self.controlSocket).statusLine }
        try await until("\(count) messages have been decoded", ask: ask) { $0.contains(" 200 ") }
    }

    /// Asks again and again. Only for what leaves no trace on a wire, no line in a log and no change in a
    /// file: there is no event to wait for.
    @discardableResult
    func until<Answer>(
        _ what: String, ask: () async throws -> Answer, _ isSo: (Answer) -> Bool
    ) async throws -> Answer {
        let deadline = NIODeadline.now() + FramePeer.patience
        var latest = try await ask()
        while !isSo(latest) {
            guard NIODeadline.now() < deadline else {
                throw NeverSo(what: what, latest: "\(latest)")
            }
            // Leaves the processor to relayd.
            try await Task.sleep(for: .milliseconds(5))
            latest = try await ask()
        }
        return latest
    }

    struct NeverSo: Error, CustomStringConvertible {
        let what: String
        let latest: String

        var description: String { "never so: \(what); the latest answer:\n\(latest)" }
    }

    /// Runs the built relayctl against this relayd.
    func relayctl(_ arguments: String...) async throws -> ChildProcess.Finished {
        try await Program.relayctl.run(
            arguments, environment: [ControlSocket.environmentVariable: controlSocket])
    }
}
