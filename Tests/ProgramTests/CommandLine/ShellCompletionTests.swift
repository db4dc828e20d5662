// What bash offers with the script that relayctl prints for it, beside a running relayd. The script's
// requests to relayctl are in `CompletionsTests`.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Completion in bash") struct ShellCompletionTests {
    /// Completes the line given as its argument, and prints what is offered.
    private static let script = """
        source <("$RELAYCTL" --generate-completion-script bash)
        COMP_LINE=$1 COMP_POINT=${#1}
        read -ra COMP_WORDS <<<"$1"
        [[ $1 == *' ' ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _relayctl relayctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"

        """

    private static func offered(_ line: String, _ relayd: Relayd) async throws -> [String] {
        // The script calls relayctl by the name that was typed.
        let path = try Program.relayctl.path()
        let folder = URL(filePath: path).deletingLastPathComponent().path
        let done = try await ChildProcess.run(
            "/bin/bash", ["-c", script, "bash", line],
            environment: Program.environment([
                "XDG_CONFIG_HOME": relayd.directory.file("config"),
                "RELAYCTL": path, ControlSocket.environmentVariable: relayd.controlSocket,
                "PATH": "\(folder):\(Program.environment()["PATH"] ?? "/usr/bin:/bin")",
            ]))
        return done.output.split(separator: "\n").map(String.init)
    }

    /// Names of apps come from relayd, for which a shell does not wait long: asks again, like a user who presses
    /// Tab again on a busy machine.
    private static func offersSoon(
        _ name: String, for line: String, _ relayd: Relayd
    ) async throws -> Bool {
        let deadline = NIODeadline.now() + FramePeer.patience
        while NIODeadline.now() < deadline {
            if try await offered(line, relayd).contains(name) { return true }
        }
        return false
    }

    @Test("commands, names of apps, RPCs, and codes of advice") func words() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let app = try await relayd.connectApp()
            try await app.register("Radio", session: app.startSession().sessionID)
            try await relayd.until("registered") { $0.apps.first?.appName == "Radio" }
            #expect(try await Self.offered("relayctl expl", relayd) == ["explain"])
            #expect(try await Self.offersSoon("Radio", for: "relayctl app ", relayd))
            #expect(try await Self.offersSoon("Radio", for: "relayctl tail --app Ra", relayd))
            #expect(try await Self.offered("relayctl tail --rpc PutF", relayd) == ["PutFile"])
            let codes = try await Self.offered("relayctl explain request_", relayd)
            #expect(codes.contains("request_in_none"))
            #expect(codes.allSatisfy { $0.hasPrefix("request_") })
            let saved = try await Program.relayctl.run(
                ["request", "save", "greeting", "Show"],
                environment: ["XDG_CONFIG_HOME": relayd.directory.file("config")])
            #expect(saved.ending == .exited(0), "\(saved.errors)")
            #expect(try await Self.offered("relayctl send @gr", relayd) == ["@greeting"])
            #expect(try await Self.offered("relayctl send PutF", relayd) == ["PutFile"])
            #expect(try await Self.offered("relayctl request rm gr", relayd) == ["greeting"])
            await app.close()
        }
    }
}
