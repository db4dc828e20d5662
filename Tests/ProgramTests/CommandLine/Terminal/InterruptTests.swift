// ^C at commands that do something before they end.

import ControlAPI
import RelayTesting
import Testing

@Suite(
    "^C on a terminal", .serialized,
    .enabled(if: Tmux.isHere, "there is no tmux (Debian package tmux)"))
struct InterruptTests {
    @Test("a tail that holds requests back is ended by it as one that does not")
    func pairs() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await Tmux.run(
                in: relayd.directory,
                environment: [
                    ControlSocket.environmentVariable: relayd.controlSocket,
                    "RELAYCTL": Program.relayctl.path(),
                ]
            ) { tmux in
                for options in ["", "--pairs"] {
                    try await tmux.type("clear; $RELAYCTL tail \(options)")
                    try await tmux.until("a message") { $0.contains { $0.hasPrefix("    1 ") } }
                    try await tmux.press("C-c")
                    try await tmux.until("the shell is back") { $0.last { !$0.isEmpty } == ">" }
                    try await tmux.type("echo code $?")
                    try await tmux.until("code 130")
                }
            }
        }
    }
}
