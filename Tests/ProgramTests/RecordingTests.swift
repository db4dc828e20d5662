// The built programs record: what apps and head unit said is in the file, also when relayd is killed.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd records", .serialized)
struct ProgramRecordingTests {
    /// Frames in a file, read without any code of relayd's: block by block, as pcapng has it.
    private static func frames(_ path: String) throws -> (frames: [Data], rest: Int) {
        let file = try Data(contentsOf: URL(filePath: path))
        func number(_ at: Int) -> Int {
            Int(file[at]) | Int(file[at + 1]) << 8 | Int(file[at + 2]) << 16 | Int(file[at + 3])
                << 24
        }
        var frames: [Data] = []
        var at = 0
        while at + 12 <= file.count {
            let length = number(at + 4)
            guard length >= 12, at + length <= file.count else { break }
            #expect(number(at + length - 4) == length, "block at \(at)")
            if number(at) == 6 {
                let captured = number(at + 20)
                let data = file[at + 28..<at + 28 + captured]
                if data.prefix(8).elementsEqual([0, 12, 0, 4] + Array("sdl\0".utf8)) {
                    frames.append(Data(data.dropFirst(12)))
                }
            }
            at += length
        }
        return (frames, file.count - at)
    }

    private static func file(in output: String) throws -> String {
        try String(#require(output.firstMatch(of: #/(/\S+\.pcapng)/#)?.1))
    }

    @Test("a session from beginning to end: every frame both ways, in order, and nothing else")
    func session() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let started = try await relayd.relayctl("record", "start", "--name", "my app")
                #expect(started.ending == .exited(0), "\(started.errors)")
                let path = try Self.file(in: started.output)
                #expect(path.hasSuffix("-my-app.pcapng"))
                let again = try await relayd.relayctl("record", "start")
                #expect(again.ending == .exited(3))
                #expect(again.errors.contains("a recording runs already"))

                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                for number in 1...100 as ClosedRange<UInt32> {
                    try await headUnit.checkBothWays(app, session: 1, number)
                }
                let state = try await relayd.relayctl("record", "status")
                #expect(state.output.contains("Recording     since "))
                let stopped = try await relayd.relayctl("record", "stop")
                #expect(stopped.ending == .exited(0), "\(stopped.errors)")
                let (frames, rest) = try Self.frames(path)
                #expect(rest == 0)
                // StartService and its answer, then each message both ways.
                #expect(frames.count == 202)
                #expect(stopped.output.contains("202 frames"))
                let nothing = try await relayd.relayctl("record", "stop")
                #expect(nothing.ending == .exited(3))
            }
        }
    }

    @Test("killed at any moment, it leaves a file that is readable up to a whole frame")
    func killed() async throws {
        var random = SeededGenerator(seed: 1)
        let rounds = ProcessInfo.processInfo.environment["RELAY_TESTS"] == "full" ? 50 : 8
        for _ in 0..<rounds {
            let count = UInt32.random(in: 1...60, using: &random)
            try await FakeAccessory.run { accessory in
                try await Relayd.run(
                    accessory: "tcp:127.0.0.1:\(accessory.port)",
                    config: Relayd.quickGoodbyes + "record:\n  always: true\n",
                    endsBy: .killed(by: 9)
                ) { relayd in
                    let headUnit = try await accessory.nextLink()
                    let app = try await relayd.connectApp()
                    try await headUnit.start(1, for: app)
                    for number in 1...count {
                        try await headUnit.checkBothWays(app, session: 1, number)
                    }
                    let report = try await relayd.relayctl("record", "status", "--json")
                    let path = try Self.file(in: report.output.replacing("\\/", with: "/"))
                    relayd.process.signal(9)
                    _ = try await relayd.process.ended()
                    let (frames, _) = try Self.frames(path)
                    #expect(frames.count <= 2 + 2 * Int(count))
                }
            }
        }
    }

    @Test("when relayd stops, the recording has an end, with its goodbye to the head unit in it")
    func stops() async throws {
        try await FakeAccessory.run { accessory in
            var path = ""
            var bytes = Data()
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: Relayd.quickGoodbyes + "record:\n  always: true\n"
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                let report = try await relayd.relayctl("record", "status", "--json")
                path = try Self.file(in: report.output.replacing("\\/", with: "/"))
                relayd.process.signal(15)
                _ = try await relayd.process.ended()
                bytes = try Data(contentsOf: URL(filePath: path))
                let (frames, rest) = try Self.frames(path)
                #expect(rest == 0 && frames.count > 2)
            }
            #expect(bytes.range(of: Data(#""record":"end""#.utf8)) != nil)
        }
    }

    @Test("live to standard output, for as long as somebody reads")
    func live() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let done = try await ChildProcess.run(
                "/bin/sh",
                ["-c", "\(Program.relayctl.path()) record --stdout | head -c 200 | od -An -tx1"],
                environment: Program.environment(["RELAYD_SOCKET": relayd.controlSocket]))
            #expect(done.output.hasPrefix(" 0a 0d 0d 0a"), "\(done.errors)")
        }
    }
}
