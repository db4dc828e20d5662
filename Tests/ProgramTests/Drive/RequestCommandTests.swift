// Requests that relayctl keeps and sends again, with the built programs.

import ControlAPI
import Foundation
import RelayTesting
import SDLProtocol
import Testing

@Suite("relayctl request in the built programs", .serialized)
struct RequestCommandTests {
    /// relayctl with a home of its own.
    private struct Tool {
        let directory: TemporaryDirectory
        var socket: String?

        func callAsFunction(_ arguments: String...) async throws -> ChildProcess.Finished {
            var environment = [
                "XDG_CONFIG_HOME": directory.file("config"),
                "XDG_STATE_HOME": directory.file("state"),
            ]
            if let socket { environment[ControlSocket.environmentVariable] = socket }
            return try await Program.relayctl.run(arguments, environment: environment)
        }
    }

    @Test("a saved request is filled in and sent; what was sent is in the history, and sent again")
    func send() async throws {
        try await Relayd.run(accessory: "sim:?lenient=on", config: Relayd.driving) { relayd in
            let tool = Tool(directory: relayd.directory, socket: relayd.controlSocket)
            let (app, _) = try await relayd.registered("Radio")
            let saved = try await tool(
                "request", "save", "hello", "--app", "radio", "Show", "mainField1={text}",
                "mainField2={second=}")
            #expect(saved.ending == .exited(0), "\(saved.errors)")
            #expect(saved.output.hasPrefix("saved; it is sent as @hello text=VALUE second=VALUE"))
            let blank = try await tool("send", "@hello")
            #expect(blank.ending == .exited(64))
            #expect(blank.errors.contains("text=VALUE"), "\(blank.errors)")
            let done = try await tool("send", "@hello", "text=Hi {there}", "alignment=CENTERED")
            #expect(done.ending == .exited(0), "\(done.errors)")
            #expect(done.output.hasPrefix("SUCCESS"))
            try await relayd.process.output.first(containing: "Hi {there}")
            let refused = try await tool("send", "--app", "radio", "DeleteFile", "syncFileName=no")
            #expect(refused.ending == .exited(1), "\(refused.errors)")
            let history = try await tool("request", "history")
            let lines = history.output.split(separator: "\n")
            #expect(lines.count == 2, "\(history.output)")
            #expect(lines.first?.hasPrefix("@-2 ") == true)
            #expect(lines.first?.hasSuffix("-> SUCCESS") == true)
            #expect(lines.last?.contains("--app radio DeleteFile syncFileName=no  -> ") == true)
            // Braces that were sent are not placeholders now.
            let again = try await tool("send", "@-2")
            #expect(again.ending == .exited(0), "\(again.errors)")
            let latest = try await tool("request", "history", "--json")
            #expect(latest.output.contains("mainField1=Hi {{there}"), "\(latest.output)")
            let other = try await tool("send", "--app", "nobody", "@hello", "text=x")
            #expect(other.ending == .exited(3) && other.errors.contains("there is no app"))
            await app.close()
        }
    }

    @Test("what is exported is imported elsewhere; a damaged file is told of and stays")
    func export() async throws {
        try await TemporaryDirectory.run { here in
            try await TemporaryDirectory.run { there in
                let (tool, other) = (Tool(directory: here), Tool(directory: there))
                #expect(
                    try await tool("request", "save", "a", "Show", "mainField1={x}").ending
                        == .exited(0))
                #expect(try await tool("request", "save", "b", "ListFiles").ending == .exited(0))
                let file = here.file("requests.json")
                let written = try await tool("request", "export", "a", "-o", file)
                #expect(written.output.hasPrefix("1 request written"), "\(written.errors)")
                #expect(try await tool("request", "export", "-o", file).ending == .exited(3))
                #expect(try await other("request", "import", file).output == "1 request imported")
                let twice = try await other("request", "import", file)
                #expect(twice.output == "0 requests imported; 1 were there already")
                #expect(try await other("request", "save", "a", "Alert").ending == .exited(0))
                let taken = try await other("request", "import", file)
                #expect(taken.ending == .exited(1) && taken.errors.contains("--replace"))
                #expect(try await other("request", "list").output == "a  Alert")
                #expect(
                    try await other("request", "import", file, "--replace").ending == .exited(0))
                #expect(try await other("request", "list").output == "a  Show 'mainField1={x}'")
                let kept = there.file("config/relayd/requests.json")
                try "{".write(toFile: kept, atomically: true, encoding: .utf8)
                for command in [["list"], ["save", "c", "Show"], ["rm", "a"], ["import", file]] {
                    let done = try await Program.relayctl.run(
                        ["request"] + command,
                        environment: ["XDG_CONFIG_HOME": there.file("config")])
                    #expect(done.ending == .exited(1) && done.errors.contains("it is no JSON"))
                }
                #expect(try String(contentsOfFile: kept, encoding: .utf8) == "{")
            }
        }
    }
}
