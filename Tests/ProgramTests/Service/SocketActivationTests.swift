// The built relayd started by its sockets, as systemd does it (systemd-socket-activate(1)).

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd takes over sockets", .serialized)
struct SocketActivationTests {
    private static let activator = "/usr/bin/systemd-socket-activate"

    /// systemd-socket-activate hands on only the environment variables that it is told to.
    private static let handedOn = (["PATH"] + Sanitizer.environment.keys).map { "--setenv=\($0)" }

    @Test(
        "an app that connects before relayd runs is served, and the status says whose socket it is",
        .enabled(if: access(activator, X_OK) == 0, "there is no systemd-socket-activate"))
    func earlyApp() async throws {
        try await TemporaryDirectory.run { directory in
            try await UnusedPort.run { port in
                let control = directory.file("control.sock")
                let process = try await ChildProcess.start(
                    Self.activator,
                    Self.handedOn + [
                        "--listen=127.0.0.1:\(port)", "--listen=\(control)",
                        "--fdname=apps:control", Program.relayd.path(), "--accessory", "sim:",
                        "--listen", "127.0.0.1:1",
                    ], environment: Program.environment())
                // relayd is not started before a client connects.
                try await process.errors.first(containing: "Listening on \(control)")
                let app = try await FramePeer.connect(port: port)
                try await app.send(.startService())
                #expect(try await app.next().controlType == .startServiceACK)
                let line = try await process.errors.first(containing: "sockets are systemd's")
                #expect(line.contains("listen in the configuration (127.0.0.1:1) is ignored"))
                let answer = try await ControlRequest.get(Routes.status, at: control)
                let status = try APICoding.decode(StatusSnapshot.self, from: answer.body)
                #expect(status.server.inherited == true)
                #expect(status.server.endpoints == ["127.0.0.1:\(port)"])
                process.signal(SIGTERM)
                #expect(try await process.ended() == .exited(0))
                // The file belongs to the program that made the socket.
                #expect(access(control, F_OK) == 0)
            }
        }
    }

    @Test(
        "a socket without a name relayd knows is refused with what to write",
        .enabled(if: access(activator, X_OK) == 0, "there is no systemd-socket-activate"))
    func wrongName() async throws {
        try await UnusedPort.run { port in
            let process = try await ChildProcess.start(
                Self.activator,
                Self.handedOn + [
                    "--listen=127.0.0.1:\(port)", "--fdname=web", Program.relayd.path(),
                ],
                environment: Program.environment())
            try await process.errors.first(containing: "Listening on")
            // relayd may have refused the socket, and closed it, before the connection is established.
            let app = try? await FramePeer.connect(port: port)
            let line = try await process.errors.first(containing: "systemd passed a socket")
            #expect(line.contains(#"called "web"; expected apps or control"#))
            // The unit is wrong, and stays so.
            #expect(try await process.ended() == .exited(78))
            await app?.close()
        }
    }

    @Test(
        "who waits for a relayd that does not start is not left on the socket, but told why",
        .enabled(if: access(activator, X_OK) == 0, "there is no systemd-socket-activate"))
    func refusedConfiguration() async throws {
        try await TemporaryDirectory.run { directory in
            let control = directory.file("control.sock")
            let process = try await ChildProcess.start(
                Self.activator,
                Self.handedOn + [
                    "--listen=\(control)", "--fdname=control", Program.relayd.path(),
                    "--accessory", "nonsense:",
                ], environment: Program.environment())
            try await process.errors.first(containing: "Listening on \(control)")
            let answer = try await ControlRequest.get(Routes.status, at: control)
            let refusal = try APICoding.decode(APIError.self, from: answer.body).error
            #expect(refusal.code == .conflict)
            // From this relayctl knows that relayd is answering.
            #expect(answer.headers.contains("Server: relayd/\(Version.current)"))
            #expect(
                refusal.message.hasPrefix("relayd does not start: ")
                    && refusal.message.contains("nonsense"))
            #expect(try await process.ended() == .exited(78))
        }
    }
}
