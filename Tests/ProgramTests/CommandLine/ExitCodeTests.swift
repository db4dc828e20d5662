// Every exit code that the help of a command promises, produced with the built programs. Runs that end
// with 0, lack a relayd or have a wrong option are in `CommandWalkTests`.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import NIOPosix
import RelayTesting
import Testing

@Suite("relayctl's exit codes", .serialized)
struct ExitCodeTests {
    /// A command's exit code and the words it prints with it.
    private struct Row {
        var arguments: [String]
        var code: Int32
        var words: String
    }

    /// Against a relayd that waits for its head unit, with one app that is not registered.
    private static let waiting = [
        Row(arguments: ["status"], code: 1, words: "nothing listens on 127.0.0.1"),
        Row(arguments: ["doctor"], code: 1, words: "✗ head unit"),
        Row(arguments: ["dashboard"], code: 1, words: "dashboard"),
        Row(arguments: ["show", "99999"], code: 1, words: "99999"),
        Row(arguments: ["permissions", "1", "Show"], code: 1, words: "Show"),
        Row(arguments: ["permissions", "1"], code: 1, words: "has not said what"),
        Row(arguments: ["app", "nosuch"], code: 3, words: "there is no app \"nosuch\""),
        Row(arguments: ["permissions", "nosuch", "Show"], code: 3, words: "there is no app"),
        Row(arguments: ["permissions", "1", "Shw"], code: 3, words: "Shw"),
        Row(arguments: ["disconnect", "nosuch"], code: 3, words: "there is no app \"nosuch\""),
        Row(arguments: ["record", "stop"], code: 3, words: "nothing is being recorded"),
        Row(arguments: ["record", "mark", "here"], code: 3, words: "nothing is being recorded"),
        Row(arguments: ["record", "save"], code: 3, words: "set record.last in relayd.yaml"),
        Row(arguments: ["record", "mark", ""], code: 3, words: "a line of 1 to 500"),
        Row(arguments: ["log-level", "loud"], code: 3, words: "expected one of error"),
        Row(arguments: ["log"], code: 1, words: "writes to its terminal; use relayctl tail"),
        Row(arguments: ["tail", "--rpc", "Shw"], code: 64, words: "relayctl tail --help"),
        Row(arguments: ["tail", "--type", "x"], code: 64, words: "relayctl tail --help"),
    ]

    /// Without relayd.
    private static let alone = [
        Row(arguments: ["devices", "usb:ffff:fffe"], code: 1, words: "ffff:fffe"),
        Row(arguments: ["usb", "usb:ffff:fffe"], code: 1, words: "ffff:fffe"),
        Row(
            arguments: ["devices", "/dev/relayd-none"], code: 1,
            words: "/dev/relayd-none does not exist"),
        Row(arguments: ["devices", "tcp:127.0.0.1:1"], code: 64, words: "is not a device"),
        Row(arguments: ["log"], code: 1, words: "journalctl cannot be run"),
        Row(arguments: ["log", "app:radio"], code: 1, words: "journalctl cannot be run"),
        Row(arguments: ["log", "param.a=1"], code: 64, words: "the journal has none"),
        Row(arguments: ["filter", "rm", "no-such"], code: 1, words: "no filter is saved as"),
        Row(arguments: ["filter", "save", "a", "rcp:Show"], code: 64, words: "  ^^^"),
        Row(arguments: ["filter", "save", "a b", "ok"], code: 64, words: "cannot be a name"),
        Row(arguments: ["tail", "rcp:Show"], code: 64, words: "did you mean 'rpc'?"),
        Row(arguments: ["trace", "info", "/nonexistent"], code: 3, words: "cannot be opened"),
        Row(
            arguments: ["replay", "/nonexistent", "--to", "relayd"], code: 3,
            words: "cannot be opened"),
        Row(
            arguments: ["replay", "a.pcapng", "--to", "relayd", "--speed", "0"], code: 64,
            words: "between 0.1 and 100, or max"),
        Row(arguments: ["trace", "show", "/dev/null", "rcp:Show"], code: 64, words: "'rpc'?"),
        Row(
            arguments: ["sample-app", "--connect", "127.0.0.1:1"], code: 1,
            words: "cannot connect to 127.0.0.1:1: connection refused"),
        Row(arguments: ["sample-app"], code: 2, words: "relayd is not running"),
        Row(arguments: ["app", ""], code: 64, words: "<app> is empty"),
        Row(arguments: ["permissions", "", "Show"], code: 64, words: "<app> is empty"),
        Row(arguments: ["permissions", "1", ""], code: 64, words: "<rpc> is empty"),
        Row(arguments: ["disconnect", ""], code: 64, words: "<app> is empty"),
        Row(arguments: ["send", "--app", "", "Show"], code: 64, words: "--app is empty"),
        Row(arguments: ["send", "--app", "1", "Show", "hello"], code: 64, words: "has no value"),
        Row(
            arguments: ["send", "--app", "1", "Show", "--timeout", "2h"], code: 64,
            words: "expected 10ms to 60s"),
        Row(
            arguments: ["stream", "--app", "1", "a.h264", "--rate", "8000"], code: 64,
            words: "about audio"),
        Row(
            arguments: ["stream", "--app", "1", "-", "--loop"], code: 64, words: "not a pipe"),
        Row(
            arguments: ["stream", "--app", "1", "/nonexistent/a.h264"], code: 64,
            words: "cannot be read"),
        Row(arguments: ["request", "rm", "no-such"], code: 1, words: "no request is saved as"),
        Row(arguments: ["send", "@no-such"], code: 1, words: "no request is saved as"),
        Row(arguments: ["send", "@-1000"], code: 1, words: "fewer than 1000 requests"),
        Row(arguments: ["send", "@-x"], code: 64, words: "expected @NAME, or @-1"),
        Row(arguments: ["request", "save", "a b", "Show"], code: 64, words: "cannot be a name"),
        Row(
            arguments: ["request", "export", "-o", "/nonexistent/a"], code: 3,
            words: "cannot be written"),
        Row(arguments: ["inject", "--app", "1", "hmi", "HALF"], code: 64, words: "one of FULL"),
    ]

    /// Without a home, and without tshark to ask for the folders.
    private static let homeless = [
        Row(
            arguments: ["wireshark", "--install"], code: 1, words: "/dev/null/.local cannot be made"
        ),
        Row(arguments: ["wireshark", "--uninstall"], code: 0, words: "not installed"),
    ]

    /// Against a relayd that refuses everything.
    private static let refused = [
        ["status"], ["apps"], ["app", "1"], ["stats"], ["config"], ["dashboard"], ["api"],
        ["tail"], ["show", "1"], ["doctor"], ["advice"], ["permissions", "1", "Show"],
        ["log-level", "debug"], ["reload"], ["disconnect", "1"], ["reopen"], ["server", "off"],
        ["sample-app"], ["record"], ["vi"], ["send", "--app", "1", "Show"],
        ["stream", "--app", "1", "/dev/null"], ["inject", "--app", "1", "press", "OK"], ["fault"],
    ].map { Row(arguments: $0, code: 3, words: "not today") }

    private static func check(_ rows: [Row], _ environment: [String: String]) async throws {
        for row in rows {
            let done = try await Program.relayctl.run(row.arguments, environment: environment)
            let said = "\(row.arguments): \(done.output)\n\(done.errors)"
            #expect(done.ending == .exited(row.code), "\(said)")
            #expect((done.output + done.errors).contains(row.words), "\(said)")
        }
    }

    @Test("every code that a command's help names is in these tables or in the walk")
    func complete() async throws {
        try await TemporaryDirectory.run { directory in
            let rows = Self.waiting + Self.alone + Self.homeless + Self.refused
            for walk in CommandWalkTests.walks(port: 1, directory: directory) {
                var seen: Set<Int32> = [0, walk.alone, 64]
                for row in rows where row.arguments[0] == walk.name { seen.insert(row.code) }
                if walk.name == "status" { seen.insert(74) }
                if walk.name == "bugreport" { seen.insert(3) }
                // Traces that differ: TraceDiffTests has them.
                if walk.name == "trace" { seen.insert(1) }
                // What a vehicle interface refuses: VehicleCommandTests has it.
                if walk.name == "vi" { seen.insert(1) }
                // What a head unit refuses: DriveProgramTests has it.
                if walk.name == "send" { seen.insert(1) }
                // What fails, and a report that cannot be written: ScenarioProgramTests has them.
                if walk.name == "run" { seen.formUnion([1, 74]) }
                // A scenario that cannot be read: ScenarioProgramTests has it.
                if walk.name == "scenario" { seen.insert(2) }
                // What fails or is refused there needs root and a kernel with configfs; no test sees it.
                if walk.name == "setup" { seen.formUnion([1, 3]) }
                // Answers that differ: ProgramReplayTests has them.
                if walk.name == "replay" { seen.insert(1) }
                // On a terminal, which TopTests has.
                if walk.isScreen { seen.formUnion([2, 3]) }
                let help = try await Program.relayctl.run([walk.name, "--help"]).output
                #expect(seen == CommandWalkTests.documentedCodes(help), "\(walk.name)")
            }
        }
    }

    @Test("where the head unit is missing, and where there is no such app, function or message")
    func waiting() async throws {
        try await UnusedPort.run { port in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)") { relayd in
                let app = try await relayd.connectApp()
                try await relayd.until("connected, and without head unit") {
                    $0.apps.count == 1 && $0.accessory.reason != nil
                }
                try await Self.check(
                    Self.waiting, [ControlSocket.environmentVariable: relayd.controlSocket])
                await app.close()
            }
        }
    }

    @Test("without relayd, without journalctl, and with empty arguments") func alone() async throws
    {
        try await TemporaryDirectory.run { directory in
            try await Self.check(
                Self.alone,
                [
                    ControlSocket.environmentVariable: directory.file("nobody.sock"),
                    "PATH": directory.path,
                ])
            try await Self.check(
                Self.homeless,
                ["PATH": directory.path, "HOME": "/dev/null", "XDG_CONFIG_HOME": "/dev/null"])
        }
    }

    @Test("a relayd that refuses is another code than one that is not there")
    func refusals() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("c.sock")
            let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Refusing())
                    }
                }
                .bind(unixDomainSocketPath: path).get()
            try await Self.check(Self.refused, [ControlSocket.environmentVariable: path])
            try await server.close()
        }
    }

    @Test(
        "who may look but not change anything hears so from every command that changes something",
        .enabled(if: OrdinaryUser.isAnother, "only root can become somebody else"))
    func otherUser() async throws {
        let config = Relayd.quickGoodbyes + "control:\n  mode: \"0666\"\n"
        try await Relayd.run(accessory: "sim:", config: config) { relayd in
            let program = try await OrdinaryUser.copy(.relayctl, in: relayd.directory)
            let app = try await relayd.connectApp()
            try await relayd.until("connected") { $0.apps.count == 1 }
            for arguments in [
                ["reopen"], ["reload"], ["server", "off"], ["log-level", "debug"],
                ["disconnect", "1"], ["dashboard"], ["status"],
            ] {
                let done = try await OrdinaryUser.run(
                    program, arguments + ["--socket", relayd.controlSocket])
                guard arguments != ["status"] else {
                    #expect(done.ending == .exited(0), "\(done.errors)")
                    continue
                }
                #expect(done.ending == .exited(3), "\(arguments): \(done.errors)")
                #expect(done.errors.hasPrefix("relayctl: ") && done.output.isEmpty, "\(arguments)")
                #expect(!done.errors.contains("answered"), "\(arguments): \(done.errors)")
            }
            #expect(try await relayd.status().apps.count == 1)
            await app.close()
        }
    }

    @Test("what cannot be written to a full disk is no success") func fullDisk() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let done = try await ChildProcess.run(
                "/bin/sh",
                [
                    "-c", "exec \"$0\" status --socket \"$1\" >/dev/full", Program.relayctl.path(),
                    relayd.controlSocket,
                ], environment: Program.environment())
            #expect(done.ending == .exited(74))
            #expect(
                done.errors
                    == "relayctl: the output cannot be written: No space left on device")
        }
    }

    /// Answers every request as a relayd does that refuses it.
    private final class Refusing: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let body = #"{"schema":1,"error":{"code":"forbidden","message":"not today"}}"#
            let answer = """
                HTTP/1.1 403 Forbidden\r\nServer: relayd/\(Version.current)\r\n\
                Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\
                Connection: close\r\n\r\n\(body)
                """
            let buffer = ByteBuffer(string: answer)
            context.writeAndFlush(NIOAny(buffer), promise: nil)
        }
    }

    @Test("a RELAYD_TIMEOUT that is no time is told by those who would wait, and by nobody else")
    func timeout() async throws {
        let rows = [
            Row(arguments: ["status"], code: 64, words: "RELAYD_TIMEOUT is \"0.5\""),
            Row(arguments: ["--help"], code: 0, words: "USAGE"),
            Row(arguments: ["explain", "putfile_crc"], code: 0, words: "crc"),
        ]
        try await Self.check(rows, ["RELAYD_TIMEOUT": "0.5"])
    }
}
