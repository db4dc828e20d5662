// The script that Wireshark starts, with a running relayd at the other end.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@Suite("Wireshark captures from the built relayd", .serialized)
struct WiresharkLiveTests {
    /// A home with the dissector and the script in it.
    private struct Home {
        let path: String
        let environment: [String: String]
        let script: String
        let dissector: String

        init(_ directory: TemporaryDirectory, socket: String) async throws {
            path = directory.file("home")
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
            environment = Program.environment([
                "HOME": path, "LC_ALL": "C.UTF-8", ControlSocket.environmentVariable: socket,
            ])
            let done = try await ChildProcess.run(
                Program.relayctl.path(), ["wireshark", "--install", "--json"],
                environment: environment)
            try #require(done.ending == .exited(0), "\(done.errors)")
            let report = try JSONDecoder().decode(Report.self, from: Data(done.output.utf8))
            func file(_ kind: String) throws -> String {
                try #require(report.files.first { $0.file == kind }?.path, "\(done.output)")
            }
            (script, dissector) = (try file("interfaces"), try file("dissector"))
        }

        func remove() { try? FileManager.default.removeItem(atPath: path) }

        /// As Wireshark starts it.
        func start(_ arguments: [String]) async throws -> ChildProcess {
            try await ChildProcess.start(script, arguments, environment: environment)
        }
    }

    private struct Report: Decodable {
        struct File: Decodable {
            var file: String
            var path: String
        }

        var files: [File]
    }

    private static func run(
        _ body: (Relayd, Home, _ headUnit: FramePeer, _ app: FramePeer) async throws -> Void
    ) async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                let home = try await Home(relayd.directory, socket: relayd.controlSocket)
                defer { home.remove() }
                try await body(relayd, home, headUnit, app)
            }
        }
    }

    /// What the trace has so far, frame by frame.
    private static func frames(_ path: String) throws -> [Frame] {
        var reader = TraceReader()
        reader.append(ByteBuffer(bytes: try Data(contentsOf: URL(filePath: path))))
        var frames: [Frame] = []
        while let entry = try reader.next() {
            if case .frame(let tapped, _, _) = entry.content { frames.append(tapped.frame) }
        }
        return frames
    }

    @Test(
        "the installed script lists relayd and writes what passes into the pipe, until Wireshark closes it"
    )
    func capture() async throws {
        try await Self.run { relayd, home, headUnit, app in
            let list = try await home.start(["--extcap-interfaces", "--extcap-version=4.0"])
            #expect(try await list.ended() == .exited(0))
            _ = try await list.output.first(containing: "interface {value=relayd}")

            let (wireshark, script, file) = try await Self.capture(relayd, home)
            for number in 1...50 as ClosedRange<UInt32> {
                try await headUnit.checkBothWays(app, session: 1, number)
            }
            let expected = (1...50 as ClosedRange<UInt32>).flatMap {
                [FramePeer.request($0, 1), FramePeer.response($0, 1)]
            }
            // Before them comes the start of the session that was there already.
            let earlier = 2
            let found = try await DirectoryWatch.until(relayd.directory.path) {
                let seen = try Self.frames(file)
                return seen.count < earlier + expected.count ? nil : seen
            }
            let seen = try #require(found)
            #expect(
                seen.prefix(earlier).map(\.info) == [1, 2], "StartService and its ACK")
            #expect(Array(seen.dropFirst(earlier)) == expected)

            // The user stops the capture: nobody reads the next bytes.
            wireshark.signal(SIGKILL)
            _ = try await wireshark.ended()
            var number: UInt32 = 100
            while script.isRunning {
                number += 1
                try await headUnit.checkBothWays(app, session: 1, number)
            }
            #expect(try await script.ended() == .exited(0), "\(script.errors.all)")
            try await relayd.until("nobody looks on") { $0.apps.count == 1 }
            try await Self.checkByTshark(file, home)
        }
    }

    /// Starts a capture and returns once its first bytes are in the file.
    private static func capture(_ relayd: Relayd, _ home: Home) async throws -> (
        wireshark: ChildProcess, script: ChildProcess, file: String
    ) {
        let (pipe, file) = (relayd.directory.file("pipe"), relayd.directory.file("seen"))
        #expect(mkfifo(pipe, 0o600) == 0)
        let wireshark = try await ChildProcess.start(
            "/bin/sh", ["-c", "exec cat <\"$0\" >\"$1\"", pipe, file],
            environment: Program.environment())
        let script = try await home.start([
            "--capture", "--extcap-interface", "relayd", "--fifo", pipe,
        ])
        try await untilFilled(file, in: relayd.directory)
        return (wireshark, script, file)
    }

    private static func untilFilled(
        _ file: String, in directory: TemporaryDirectory
    ) async throws {
        let size = try await DirectoryWatch.until(directory.path) {
            let size = try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
            return size ?? 0 > 0 ? size : nil
        }
        try #require(size != nil, "nothing came")
    }

    /// Checks the file with tshark, where it is installed.
    private static func checkByTshark(_ file: String, _ home: Home) async throws {
        guard access("/usr/bin/tshark", X_OK) == 0 else { return }
        let done = try await ChildProcess.run(
            "/usr/bin/tshark",
            [
                "-X", "lua_script:\(home.dissector)", "-r", file, "-T", "fields", "-e",
                "sdl.rpc.function", "-Y", "sdl.rpc.function == \"Show\"",
            ], environment: home.environment)
        let lines = done.output.split(separator: "\n")
        #expect(lines.count == 100 && lines.allSatisfy { $0 == "Show" }, "\(done.errors)")
    }

    @Test("when relayd stops, the trace in the pipe has its end, and the script ends")
    func relaydStops() async throws {
        try await Self.run { relayd, home, headUnit, app in
            let (wireshark, script, file) = try await Self.capture(relayd, home)
            try await headUnit.checkBothWays(app, session: 1)
            relayd.process.signal(SIGTERM)
            _ = try await relayd.process.ended()
            #expect(try await script.ended() == .exited(0), "\(script.errors.all)")
            #expect(try await wireshark.ended() == .exited(0))
            #expect(
                try Self.frames(file).dropFirst(2).prefix(2) == [
                    FramePeer.request(100, 1), FramePeer.response(100, 1),
                ])
            let bytes = try Data(contentsOf: URL(filePath: file))
            #expect(bytes.range(of: Data(#""record":"end""#.utf8)) != nil)
        }
    }
}
