// The built programs record: what apps and head unit said is in the file, even when relayd is killed.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd records", .serialized)
struct ProgramRecordingTests {
    /// The frames in a file, read without any code of relayd: block by block, as pcapng defines them.
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

    static func file(in output: String) throws -> String {
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
                #expect(again.errors.contains("a recording is already running"))

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
                let words = "recorder: recorded \(path): 202 frames"
                _ = try await relayd.process.errors.wait(for: "the end of the recording") { lines in
                    lines.contains { $0.hasSuffix(words) } ? true : nil
                }
                let nothing = try await relayd.relayctl("record", "stop")
                #expect(nothing.ending == .exited(3))
            }
        }
    }

    @Test(
        "a recording is listed, downloaded as it is, and read as messages, while it runs and after")
    func readAgain() async throws {
        try await Relayd.run(accessory: "sim:?lenient=on") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            func get(_ path: String) async throws -> String {
                let arguments = ["-sS", "--fail-with-body", "--unix-socket", relayd.controlSocket]
                return try await ChildProcess.run(
                    "/usr/bin/curl", arguments + ["http://relayd\(path)"],
                    environment: Program.environment()
                ).output
            }
            let started = try await relayd.relayctl("record", "start", "--name", "again")
            let path = try Self.file(in: started.output)
            let app = try await relayd.connectApp()
            let session = try await app.startSession().sessionID
            try await app.register("Kept", session: session)
            // The message is written as it passes, so it is there before long.
            var running = ""
            while !running.contains(#""function":"RegisterAppInterface""#) {
                running = try await get("/v1/recordings/latest/messages")
                #expect(running.contains(#""at_end":true"#))
                try Task.checkCancellation()
            }
            let list = try await relayd.relayctl("record", "list", "--json")
            #expect(
                list.output.contains(#""is_recording" : true"#)
                    || list.output.contains(#""is_recording":true"#))
            _ = try await relayd.relayctl("record", "stop")
            let text = try await relayd.relayctl("record", "list")
            let name = String(path.split(separator: "/").last ?? "")
            #expect(text.ending == .exited(0) && text.output.contains(name.prefix(20)), "\(text)")
            let copy = relayd.directory.file("copy.pcapng")
            let curl = try await ChildProcess.run(
                "/usr/bin/curl",
                [
                    "-sS", "--fail", "-o", copy, "--unix-socket", relayd.controlSocket,
                    "http://relayd/v1/recordings/\(name)",
                ], environment: Program.environment())
            #expect(curl.ending == .exited(0), "\(curl.errors)")
            let sent = try Data(contentsOf: URL(filePath: copy))
            #expect(try sent == Data(contentsOf: URL(filePath: path)) && !sent.isEmpty)
            let found = try await get(
                "/v1/recordings/\(name)/messages?filter=rpc:RegisterAppInterface")
            #expect(found.contains(#""app_name":"Kept""#), "\(found)")
            #expect(try await get("/v1/recordings/\(name)/info").contains("Kept"))
            #expect(
                try await get("/v1/recordings/\(name)/stats")
                    .contains("RegisterAppInterface"))
            let none = try await get("/v1/recordings/..%2F\(name)")
            #expect(none.contains(#""not_found""#), "\(none)")
            await app.close()
        }
    }

    /// Asks until `count` frames are written: from then on they are in the file, whatever happens to relayd.
    private static func untilWritten(_ count: Int, _ relayd: Relayd) async throws -> String {
        try await relayd.until(
            "\(count) frames are written",
            ask: {
                let answer = try await ControlRequest.get(Routes.record, at: relayd.controlSocket)
                let report = try APICoding.decode(RecordReport.self, from: answer.body)
                return try #require(report.recording)
            }, { $0.frames >= count }
        ).file
    }

    @Test(
        "killed at any moment, it leaves all that it said is written, and of the rest whole frames only"
    )
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
                    var sent: [Frame] = [.startService(), .startServiceACK(session: 1)]
                    for number in 1...count {
                        try await headUnit.checkBothWays(app, session: 1, number)
                        sent += [FramePeer.request(number, 1), FramePeer.response(number, 1)]
                    }
                    let path = try await Self.untilWritten(sent.count, relayd)
                    let written = sent.count
                    // In the middle of traffic: nothing waits for these.
                    let more = UInt32.random(in: 1...300, using: &random)
                    for number in 1...more {
                        // Of hundreds of frames, some are in reserved space.
                        let frame = Frame.data(
                            session: 1, message: number, bytes: 16_000, filledWith: 7)
                        sent.append(frame)
                        try await app.send(frame)
                    }
                    relayd.process.signal(9)
                    _ = try await relayd.process.ended()
                    let (frames, _) = try Self.frames(path)
                    #expect(written...sent.count ~= frames.count, "\(frames.count)")
                    let expected = sent.map { Data($0.wire.readableBytesView) }
                    #expect(frames == Array(expected.prefix(frames.count)))
                    let shown = try await Program.relayctl.run(
                        ["trace", "info", path], environment: [:])
                    #expect(shown.ending == .exited(0), "\(shown.errors)")
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

    @Test("a mark and the advice that was given stand in it, between the frames they came between")
    func notes() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let path = try Self.file(in: try await relayd.relayctl("record", "start").output)
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.checkBothWays(app, session: 1, 1)
                let marked = try await relayd.relayctl("record", "mark", "the screen\nfroze")
                #expect(marked.ending == .exited(0), "\(marked.errors)")
                #expect(marked.output == "marked: the screen froze")
                try await headUnit.checkBothWays(app, session: 1, 2)
                // A session that nobody has.
                try await app.send(.data(session: 9, message: 1, bytes: 10))
                try await relayd.until("advised") { $0.apps.first?.advice != nil }
                _ = try await relayd.relayctl("record", "stop")
                let shown = try await Program.relayctl.run(
                    ["trace", "show", "--json", path], environment: [:])
                let lines = shown.output.split(separator: "\n").map(String.init)
                let mark = try #require(lines.firstIndex { $0.contains("the screen froze") })
                #expect(lines[mark].contains(#""event":"mark""#))
                #expect(mark > 0 && mark < lines.count - 1)
                #expect(lines.contains { $0.contains(#""code":"foreign_session""#) })
            }
        }
    }

    @Test("a file that is removed meanwhile is no recording, and stop says so")
    func removed() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let path = try Self.file(in: try await relayd.relayctl("record", "start").output)
            #expect(unlink(path) == 0)
            let stopped = try await relayd.relayctl("record", "stop")
            #expect(stopped.output.contains("it ended early: \(path) was removed"))
            try await relayd.process.errors.first(
                containing: "the recording ended early: \(path) was removed")
            let log = relayd.process.errors.all
            #expect(!log.contains { $0.contains("recorded \(path)") })
        }
    }

    @Test(
        "a file that may not grow any more is readable to its last packet, and the error helps",
        arguments: [50_000, 3_000_000])
    func full(limit: Int) async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let path = try Self.file(in: try await relayd.relayctl("record", "start").output)
                let limited = try await ChildProcess.run(
                    "prlimit", ["--pid", "\(relayd.process.pid)", "--fsize=\(limit)"],
                    environment: Program.environment([:]))
                #expect(limited.ending == .exited(0), "\(limited.errors)")
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                for number in 1...UInt32(clamping: limit / 16_000) {
                    let frame = Frame.data(session: 1, message: number, bytes: 16_000)
                    try await app.send(frame)
                    #expect(try await headUnit.next() == frame)
                }
                // The traffic continues after the recording has ended.
                for number in 1...1000 as ClosedRange<UInt32> {
                    try await headUnit.checkBothWays(app, session: 1, number)
                }
                let words = "\(path) cannot be written: File too large; set record.file_size"
                _ = try await relayd.process.errors.wait(for: "the end of the recording") { lines in
                    lines.contains { $0.contains(words) && $0.contains("until then: at least ") }
                        ? true : nil
                }
                let (frames, rest) = try Self.frames(path)
                #expect(rest == 0 && frames.count > limit / 20_000)
                var status = stat()
                try #require(stat(path, &status) == 0)
                // Short of the limit by no more than the frame that did not fit.
                #expect(limit - 17_000...limit ~= Int(status.st_size))
                // Space reserved beyond its end is given back.
                #expect(status.st_blocks * 512 <= limit + 65_536)
            }
        }
    }

    @Test("a flood goes through a ring: every file by itself, no frame twice, the oldest make room")
    func ring() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: Relayd.quickGoodbyes + """
                    apps: { frames_per_second: 0 }
                    record: { file_size: 1 MiB, files: 3 }

                    """
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let first = try Self.file(in: try await relayd.relayctl("record", "start").output)
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                for start in stride(from: UInt32(1), to: 1000, by: 50) {
                    for number in start..<start + 50 {
                        try await app.send(.data(session: 1, message: number, bytes: 16_000))
                    }
                    for _ in 0..<50 { _ = try await headUnit.next() }
                }
                _ = try await relayd.relayctl("record", "stop")
                let folder = URL(filePath: first).deletingLastPathComponent().path
                let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                #expect(files.count == 3 && !files.contains { first.hasSuffix($0) })
                var numbers: [UInt32] = []
                for file in files {
                    let (frames, rest) = try Self.frames(folder + "/" + file)
                    #expect(rest == 0)
                    // Each begins with the session's grant.
                    let data = frames.drop { $0[0] & 7 == 0 }
                    #expect(frames.count - data.count == 2)
                    numbers += data.map { frame in
                        frame.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
                    }
                }
                #expect(numbers == Array((1001 - UInt32(numbers.count))...1000))
            }
        }
    }

    @Test("a recording that begins late, and each file of a ring, knows the apps by their names")
    func names() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: Relayd.quickGoodbyes + """
                    apps: { frames_per_second: 0 }
                    record: { file_size: 1 MiB, files: 3 }

                    """
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.register(app, session: 1, name: "Radio")
                let first = try Self.file(in: try await relayd.relayctl("record", "start").output)
                for start in stride(from: UInt32(1), to: 300, by: 50) {
                    for number in start..<start + 50 {
                        try await app.send(.data(session: 1, message: number, bytes: 16_000))
                    }
                    for _ in 0..<50 { _ = try await headUnit.next() }
                }
                _ = try await relayd.relayctl("record", "stop")
                let folder = URL(filePath: first).deletingLastPathComponent().path
                let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                    .map { folder + "/" + $0 }
                #expect(files.count == 3)
                for file in files {
                    let info = try await Program.relayctl.run(
                        ["trace", "info", "--json", file], environment: [:])
                    #expect(info.output.contains("\"Radio\""), "\(info.output)")
                    #expect(try await Self.registrations(file) == 2)
                }
                // Merged they are one recording, which has the registration once.
                #expect(try await Self.registrations(files) == 2)
                let merged = folder + "/merged.pcapng"
                let done = try await Program.relayctl.run(
                    ["trace", "merge"] + files + ["-o", merged], environment: [:])
                #expect(done.ending == .exited(0), "\(done.errors)")
                #expect(try await Self.registrations(merged) == 2)
            }
        }
    }

    /// The number of registration requests and answers that `trace show` prints for these files.
    private static func registrations(_ files: [String]) async throws -> Int {
        let shown = try await Program.relayctl.run(
            ["trace", "show", "--json"] + files, environment: [:])
        #expect(shown.ending == .exited(0), "\(shown.errors)")
        return shown.output.split(separator: "\n")
            .count { $0.contains("\"RegisterAppInterface\"") }
    }

    private static func registrations(_ file: String) async throws -> Int {
        try await registrations([file])
    }

    @Test("a link that is lost and comes back and an app that crashes are in one recording")
    func losses() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let first = try await accessory.nextLink()
                let path = try Self.file(in: try await relayd.relayctl("record", "start").output)
                let app = try await relayd.connectApp()
                try await first.start(1, for: app)
                try await first.checkBothWays(app, session: 1, 1)
                await first.close()
                try await app.closed()
                let second = try await accessory.nextLink()
                let next = try await relayd.connectApp()
                try await second.start(2, for: next)
                try await second.checkBothWays(next, session: 2, 2)
                try await next.reset()
                try await relayd.until("gone") { $0.apps.isEmpty }
                _ = try await relayd.relayctl("reopen")
                let third = try await accessory.nextLink()
                let last = try await relayd.connectApp()
                try await third.start(3, for: last)
                try await third.checkBothWays(last, session: 3, 3)
                let stopped = try await relayd.relayctl("record", "stop")
                #expect(stopped.ending == .exited(0), "\(stopped.errors)")
                let shown = try await Program.relayctl.run(
                    ["trace", "show", "--json", path], environment: [:])
                let lines = shown.output.split(separator: "\n")
                for round in 1...3 {
                    #expect(lines.contains { $0.contains("round \(round)") }, "\(round)")
                }
                let events = ["link_opened", "link_closed", "app_connected"]
                for event in events {
                    let count = lines.count { $0.contains("\"\(event)\"") }
                    #expect(count >= 2, "\(event): \(count)")
                }
            }
        }
    }
}
