// The built relayd keeps the latest traffic in memory and writes it on request, or by itself.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd's flight recorder", .serialized)
struct FlightRecorderTests {
    private static func config(_ record: String, _ rest: String = "") -> String {
        Relayd.quickGoodbyes + "apps:\n  frames_per_second: 0\n" + rest + "record:\n" + record
    }

    private static func shown(_ path: String) async throws -> [String] {
        let shown = try await Program.relayctl.run(
            ["trace", "show", "--json", path], environment: [:])
        #expect(shown.ending == .exited(0), "\(shown.errors)")
        return shown.output.split(separator: "\n").map(String.init)
    }

    private static func report(_ relayd: Relayd) async throws -> RecordReport {
        let answer = try await ControlRequest.get(Routes.record, at: relayd.controlSocket)
        return try APICoding.decode(RecordReport.self, from: answer.body)
    }

    /// The file that a log line with these words names.
    private static func saved(_ relayd: Relayd, _ words: String) async throws -> String {
        try await relayd.process.errors.wait(for: "a file about \(words)") { lines in
            for line in lines where line.contains(words) {
                if let file = line.firstMatch(of: #/saved (/\S+\.pcapng)/#)?.1 {
                    return String(file)
                }
            }
            return nil
        }
    }

    /// Frames of bulk data from the app to the head unit, which reads them.
    private static func flood(
        _ app: FramePeer, _ headUnit: FramePeer, bytes: Int, times: Int
    ) async throws {
        for start in stride(from: 0, to: times, by: 50) {
            for number in start..<min(times, start + 50) {
                try await app.send(.data(session: 1, message: UInt32(number + 1), bytes: bytes))
            }
            for _ in start..<min(times, start + 50) { _ = try await headUnit.next() }
        }
    }

    @Test(
        "what is saved begins with who was there, long after they came, and ends with the present")
    func save() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: Self.config("  last: 4 MiB\n")
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.register(app, session: 1, name: "Radio")
                // Pushes out all of the above.
                try await Self.flood(app, headUnit, bytes: 60_000, times: 150)
                // On a busy machine the flood is faster than the recorder, and a gap may follow. After a
                // save the queue is empty, and there is no gap.
                let settled = try await relayd.relayctl("record", "save", "--name", "flood")
                #expect(settled.ending == .exited(0), "\(settled.errors)")
                try await headUnit.checkBothWays(app, session: 1, 7)
                _ = try await relayd.relayctl("record", "mark", "now")

                let saved = try await relayd.relayctl("record", "save", "--name", "freeze")
                #expect(saved.ending == .exited(0), "\(saved.errors)")
                let path = try String(#require(saved.output.firstMatch(of: #/(/\S+\.pcapng)/#)?.1))
                #expect(path.hasSuffix("-freeze.pcapng"))
                let lines = try await Self.shown(path)
                let show = try #require(lines.last { $0.contains("\"Show\"") })
                #expect(show.contains(#""app_name":"Radio""#), "\(show)")
                #expect(lines.contains { $0.contains("RegisterAppInterface") })
                #expect(lines.last?.contains(#""text":"now""#) == true)
                let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
                // Batches take up to twice the room of what is in them.
                #expect((1 << 20)...(5 << 20) ~= size ?? 0)

                // Meanwhile recordings work as usual, and no file is overwritten.
                let again = try await relayd.relayctl("record", "save", "--name", "freeze")
                #expect(again.ending == .exited(0) && !again.output.contains(path))
                let state = try await relayd.relayctl("record", "status")
                #expect(state.output.contains("In memory"))
                #expect(state.output.contains(path))
                let report = try await Self.report(relayd)
                #expect(report.flight?.saved.count == 3 && report.recording == nil)
                #expect((report.flight?.keptBytes ?? 0) <= 4 << 20)
            }
        }
    }

    @Test("an app that crashes has a file written, with its last words and what followed")
    func crash() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: Self.config("  last: 4 MiB\n  save_on: [app_crash]\n")
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.checkBothWays(app, session: 1, 7)
                try await app.reset()
                let path = try await Self.saved(relayd, "#1: ")
                #expect(path.contains("app_crash"))
                let lines = try await Self.shown(path)
                #expect(lines.contains { $0.contains("app_left") || $0.contains("app_closed") })
                let report = try await Self.report(relayd)
                #expect(report.flight?.saved.first?.triggers == ["app_crash"])
            }
        }
    }

    @Test("a lost link has a file written, one that is reopened by hand has none")
    func linkLost() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: Self.config("  last: 4 MiB\n  save_on: [link_lost]\n")
            ) { relayd in
                _ = try await accessory.nextLink()
                _ = try await relayd.relayctl("reopen")
                let second = try await accessory.nextLink()
                try await relayd.until("open again") { $0.accessory.openedCount == 2 }
                await second.close()
                let path = try await Self.saved(relayd, "the link was lost")
                #expect(path.contains("link_lost"))
                // The first end would have been saved by now, or be in the same file.
                let files = relayd.process.errors.all.filter { $0.contains("saved /") }
                #expect(files.count == 1 && !files[0].contains("reopened"))
            }
        }
    }

    @Test("advice of a chosen code has a file written, other advice has none")
    func advice() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: Self.config("  last: 4 MiB\n  save_on: [advice:foreign_session]\n")
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await app.send(.data(session: 9, message: 1, bytes: 10))
                let path = try await Self.saved(relayd, "advice foreign_session")
                let lines = try await Self.shown(path)
                #expect(lines.contains { $0.contains(#""code":"foreign_session""#) })
            }
        }
    }

    @Test("it is switched on and off by a reload, and so is record.always")
    func reload() async throws {
        try await Relayd.run(accessory: "sim:", config: Self.config("  last: 0\n")) { relayd in
            func reload(_ record: String) async throws -> String {
                _ = try relayd.directory.write(Self.config(record), to: "relayd.yaml")
                let done = try await relayd.relayctl("reload", "--json")
                #expect(done.ending == .exited(0), "\(done.errors)")
                return done.output
            }
            let none = try await relayd.relayctl("record", "save")
            #expect(none.ending == .exited(3))
            let on = try await reload("  last: 8 MiB\n  always: true\n  files: 3\n")
            #expect(on.contains("record.last") && on.contains("record.always"))
            #expect(on.contains("record.files") && !on.contains(#""record.files" need"#))
            var report = try await Self.report(relayd)
            #expect(report.flight?.limit == 8 << 20 && report.recording != nil)
            #expect(try await relayd.relayctl("record", "save").ending == .exited(0))

            _ = try await reload("  last: 0\n  always: false\n")
            _ = try await relayd.process.errors.wait(for: "the end of the recording") { lines in
                lines.contains { $0.contains("recorded /") } ? true : nil
            }
            report = try await Self.report(relayd)
            #expect(report.flight == nil && report.recording == nil)
        }
    }

    @Test("it takes no more memory than it may, with small frames and with large ones")
    func memory() async throws {
        let without = try await allocatedBytes(keeping: "0").allocated
        let (with, kept) = try await allocatedBytes(keeping: "24 MiB")
        #expect(with - without < 24 << 20, "\(without) and \(with)")
        #expect(kept > 11 << 20, "\(kept)")
    }

    /// The bytes that a relayd and its allocator hold after a flood of several times what it may keep, and how many
    /// of them are kept frames. Its memory as a whole also has the parts of the program that happen to be loaded,
    /// which differ from run to run.
    private func allocatedBytes(
        keeping last: String
    ) async throws -> (allocated: Int, kept: Int) {
        var (bytes, kept) = (0, 0)
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: Self.config(
                    "  last: \(last)\n", "limits:\n  ring: 0\n  tap_queue: 1 MiB\n")
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await Self.flood(app, headUnit, bytes: 100, times: 4000)
                try await Self.flood(app, headUnit, bytes: 60_000, times: 500)
                try await Self.flood(app, headUnit, bytes: 4000, times: 1500)
                let status = try String(
                    contentsOfFile: "/proc/\(relayd.process.pid)/status", encoding: .utf8)
                let line = try #require(status.firstMatch(of: #/RssAnon:\s+(\d+) kB/#)?.1)
                bytes = try #require(Int(line)) * 1024
                kept = try await Self.report(relayd).flight?.keptBytes ?? 0
            }
        }
        return (bytes, kept)
    }
}
