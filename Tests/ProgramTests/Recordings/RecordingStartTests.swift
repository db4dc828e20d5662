// Recordings of the built relayd that cannot begin, and those that begin after a reload.

import ControlAPI
import Foundation
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd begins to record", .serialized)
struct RecordingStartTests {
    private static func report(_ relayd: Relayd) async throws -> RecordReport {
        let answer = try await ControlRequest.get(Routes.record, at: relayd.controlSocket)
        return try APICoding.decode(RecordReport.self, from: answer.body)
    }

    @Test("a disk that takes nothing at all leaves no empty file, and the traffic goes on")
    func fullFromTheStart() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let limited = try await ChildProcess.run(
                    "prlimit", ["--pid", "\(relayd.process.pid)", "--fsize=0"],
                    environment: Program.environment([:]))
                #expect(limited.ending == .exited(0), "\(limited.errors)")
                let started = try await relayd.relayctl("record", "start")
                #expect(started.ending != .exited(0), "\(started.output)")
                #expect(started.errors.contains("nothing is recorded: /"), "\(started.errors)")
                #expect(started.errors.contains("cannot be written: File too large; set record."))
                let path = try ProgramRecordingTests.file(in: started.errors)
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.checkBothWays(app, session: 1)
                #expect(!FileManager.default.fileExists(atPath: path))
            }
        }
    }

    @Test("a folder that cannot be made is told in words, and relayd runs without the recording")
    func noFolder() async throws {
        try await TemporaryDirectory.run { directory in
            let path = try directory.write("mine", to: "file")
            try await Relayd.run(
                accessory: "sim:", config: "record: { always: true, directory: \(path) }\n"
            ) { relayd in
                let line = try await relayd.process.errors.first(containing: "record.always")
                #expect(
                    line.contains("record.always: nothing is recorded: \(path)/relayd-"), "\(line)")
                #expect(
                    line.contains(".pcapng cannot be made: Not a directory; relayd tries again"))
                try await relayd.until("open") { $0.accessory.state == .open }
                try await relayd.until("the reason is shown") {
                    $0.recordingProblem?.contains("Not a directory") == true
                }
                let status = try await relayd.relayctl("status")
                #expect(status.ending == .exited(0))
                #expect(status.output.contains("record.always is true"), "\(status.output)")
                let doctor = try await relayd.relayctl("doctor")
                #expect(doctor.output.contains("nothing is recorded: "), "\(doctor.output)")
                let said = try await relayd.relayctl("record", "status").output
                #expect(said.contains("no, although record.always is true"), "\(said)")
                // The folder can be made now.
                try FileManager.default.removeItem(atPath: path)
                try await relayd.until("it records") { $0.recordingProblem == nil }
                #expect(try await Self.report(relayd).recording?.file.hasPrefix(path) == true)
                try relayd.expectNoThreadPool()
            }
        }
    }

    @Test("one of record.always that a full disk has ended begins again when there is room")
    func resumes() async throws {
        try await TemporaryDirectory.run { directory in
            try await FakeAccessory.run { accessory in
                try await Relayd.run(
                    accessory: "tcp:127.0.0.1:\(accessory.port)",
                    config: Relayd.quickGoodbyes
                        + "record: { always: true, directory: \(directory.path) }\n"
                ) { relayd in
                    func limit(_ bytes: String) async throws {
                        let limited = try await ChildProcess.run(
                            "prlimit", ["--pid", "\(relayd.process.pid)", "--fsize=\(bytes)"],
                            environment: Program.environment([:]))
                        #expect(limited.ending == .exited(0), "\(limited.errors)")
                    }
                    let headUnit = try await accessory.nextLink()
                    let app = try await relayd.connectApp()
                    try await headUnit.start(1, for: app)
                    let first = try #require(try await Self.report(relayd).recording?.file)
                    try await limit("0:")
                    var round: UInt32 = 1
                    while try await Self.report(relayd).problem == nil {
                        try await headUnit.checkBothWays(app, session: 1, round)
                        round += 1
                    }
                    _ = try await relayd.process.errors.first(
                        containing: "the recording ended early")
                    try await limit("unlimited:")
                    try await relayd.until("it records again") { $0.recordingProblem == nil }
                    let second = try #require(try await Self.report(relayd).recording?.file)
                    #expect(second != first)
                    try await headUnit.checkBothWays(app, session: 1, round)
                    // Turning it off clears the problem.
                    _ = try relayd.directory.write(Relayd.quickGoodbyes, to: "relayd.yaml")
                    let reload = try await relayd.relayctl("reload")
                    #expect(reload.ending == .exited(0), "\(reload.errors)")
                    #expect(try await Self.report(relayd).problem == nil)
                }
            }
        }
    }

    @Test("a reload changes how the next recording is made, and not the one that runs")
    func reload() async throws {
        func config(_ folder: String, _ more: String) -> String {
            Relayd.quickGoodbyes + "record:\n  directory: \(folder)\n  last: 16 MiB\n" + more
        }
        try await TemporaryDirectory.run { folders in
            let (first, second) = (folders.file("first"), folders.file("second"))
            try await FakeAccessory.run { accessory in
                try await Relayd.run(
                    accessory: "tcp:127.0.0.1:\(accessory.port)", config: config(first, "")
                ) { relayd in
                    let headUnit = try await accessory.nextLink()
                    let app = try await relayd.connectApp()
                    try await headUnit.start(1, for: app)
                    func record() async throws -> String {
                        let started = try await relayd.relayctl("record", "start")
                        return try ProgramRecordingTests.file(in: started.output)
                    }
                    let running = try await record()
                    #expect(running.hasPrefix(first + "/"))
                    _ = try relayd.directory.write(
                        config(
                            second,
                            """
                              mask: [mainField1]
                              streams: headers
                              when_behind: miss
                              queue: 2 MiB
                              file_size: 1 MiB
                              file_time: 1h
                              save_on: [app_crash]

                            """), to: "relayd.yaml")
                    let done = try await relayd.relayctl("reload", "--json")
                    #expect(done.ending == .exited(0), "\(done.errors)")
                    for key in [
                        "directory", "mask", "streams", "when_behind", "queue", "file_size",
                        "file_time", "save_on",
                    ] { #expect(done.output.contains("record.\(key)"), "\(key)") }
                    #expect(!done.output.contains("restart_needed\" : [\"record"), "\(done.output)")
                    #expect(done.output.contains("to the next recording"), "\(done.output)")
                    try await headUnit.checkBothWays(app, session: 1, 1)
                    // The report tells how the running recording works.
                    let kept = try await Self.report(relayd)
                    #expect(kept.directory == first && kept.masked == [])
                    #expect(kept.streams == "all" && kept.whenBehind == "wait")
                    let said = try await relayd.relayctl("record", "status").output
                    let lines = said.split(separator: "\n")
                    #expect(lines.contains("Directory     \(first)"), "\(said)")
                    #expect(!said.contains("Overwritten"), "\(said)")
                    _ = try await relayd.relayctl("record", "stop")
                    #expect(try await Self.report(relayd).masked == ["mainField1"])

                    let next = try await record()
                    #expect(next.hasPrefix(second + "/"))
                    let listed = try await ControlRequest.get(
                        Routes.recordings, at: relayd.controlSocket)
                    let list = try APICoding.decode(RecordingList.self, from: listed.body)
                    #expect(list.directory == second && list.recordings.map(\.name).count == 1)
                    try await headUnit.checkBothWays(app, session: 1, 2)
                    let report = try await Self.report(relayd)
                    #expect(report.directory == second && report.masked == ["mainField1"])
                    #expect(report.streams == "headers" && report.whenBehind == "miss")
                    _ = try await relayd.relayctl("record", "stop")
                    func bytes(_ path: String) throws -> Data {
                        try Data(contentsOf: URL(filePath: path))
                    }
                    #expect(try bytes(running).range(of: Data("round 1".utf8)) != nil)
                    #expect(try bytes(next).range(of: Data("round 2".utf8)) == nil)
                    #expect(try bytes(next).range(of: Data("xxxxxxx".utf8)) != nil)
                }
            }
        }
    }
}
