// The names of relayd's threads, and which of them give way to others.

import ControlAPI
import Foundation
import Glibc
import RelayTesting
import Testing

@Suite("The built relayd's threads")
struct ThreadTests {
    @Test("what relays gives way a little, and what decodes and logs gives way to it")
    func niceness() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("the link is open") { $0.accessory.state == .open }
            let threads = try Self.threads(of: relayd.process.pid)
            let own = try #require(threads["relayd"]?.first, "as nice as it was started")
            #expect(threads["tasks"] == [own])
            #expect(threads["relay"] == [min(own + 5, 19)])
            for name in ["observers", "control", "log"] {
                let found = try #require(threads[name], "\(threads.keys)")
                #expect(found.allSatisfy { $0 == min(own + 10, 19) }, "\(name): \(found)")
            }
        }
    }

    @Test("the control API is answered by a thread of its own, not by the one that decodes")
    func control() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("the link is open") { $0.accessory.state == .open }
            let before = try Self.ticks(of: relayd.process.pid)
            var spent: [String: Int] = [:]
            // A quarter of a second of their processor time, whatever the machine.
            while spent["control", default: 0] + spent["observers", default: 0] < 25 {
                for _ in 0..<20 { _ = try await relayd.status() }
                spent = try Self.ticks(of: relayd.process.pid)
                    .merging(before) { now, earlier in now - earlier }
            }
            #expect(spent["control", default: 0] >= 20, "\(spent)")
        }
    }

    @Test("no thread is woken every second: the system's thread pool has not been started")
    func noPool() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            // The observers write this line, with all tasks running; and the status has been asked for.
            try await relayd.process.output.first(containing: "link opened")
            _ = try await relayd.status()
            try relayd.expectNoThreadPool()
        }
    }

    @Test("what shows traffic gives way to it as well, and says nothing about that")
    func tail() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            // nice(1) says how nice it is itself, and that is what relayctl begins with.
            let tail = try await ChildProcess.start(
                "/bin/sh",
                [
                    "-c",
                    "nice; exec '\(try Program.relayctl.path())' tail --socket '\(relayd.controlSocket)'",
                ], environment: Program.environment())
            defer { tail.signal(SIGKILL) }
            try await tail.output.first(containing: "link opened")
            let own = try #require(tail.output.all.first.flatMap { CInt($0) })
            let nice = min(own + 10, 19)
            let threads = try Self.threads(of: tail.pid)
            // Not libdispatch's threads, which begin later, and which root may make less nice again.
            for name in ["relayctl", "NIO-SGLTN"] {
                let known = try #require(threads[name])
                #expect(known.allSatisfy { $0 == nice }, "\(name): \(known)")
            }
            #expect(tail.errors.all.isEmpty)
        }
    }

    @Test(
        "what moves bytes to and from USB is no nicer than what relays",
        .enabled("needs umockdev: apt-get install umockdev libumockdev-dev") {
            await FakeUSB.isAvailable.value
        })
    func usb() async throws {
        try await USBBench.run("usb:1bc4:0001", before: ["plug 1-1 openxc -"]) { bench in
            _ = try await bench.connect()
            let all = try Self.threads(of: bench.relayd.process.pid)
            let own = try #require(all["relayd"]?.first, "as nice as it was started")
            for name in ["usb", "libusb_event"] {
                let threads = try #require(all[name], "\(all.keys)")
                #expect(threads == [min(own + 5, 19)], "\(name)")
            }
        }
    }

    /// How nice the threads of each name are.
    private static func threads(of process: Int32) throws -> [String: [CInt]] {
        // proc(5): field 19.
        try stats(of: process).reduce(into: [:]) { found, thread in
            guard let nice = thread.fields.dropFirst(16).first.flatMap({ CInt($0) }) else { return }
            found[thread.name, default: []].append(nice)
        }
    }

    /// Processor time of the threads of each name, in hundredths of a second.
    private static func ticks(of process: Int32) throws -> [String: Int] {
        // proc(5): fields 14 and 15, user and system.
        try stats(of: process).reduce(into: [:]) { found, thread in
            found[thread.name, default: 0] += thread.fields.dropFirst(11).prefix(2)
                .reduce(0) { $0 + (Int($1) ?? 0) }
        }
    }

    /// For each thread, the first two words of its name, and the fields after the name, from field 3 on.
    private static func stats(
        of process: Int32
    ) throws -> [(name: String, fields: [Substring])] {
        let directory = "/proc/\(process)/task"
        return try FileManager.default.contentsOfDirectory(atPath: directory).compactMap { thread in
            // "pid (comm) state ...", and the name may hold anything; a thread may have ended by now.
            guard
                let stat = try? String(
                    contentsOfFile: "\(directory)/\(thread)/stat", encoding: .utf8),
                let open = stat.firstIndex(of: "("), let close = stat.lastIndex(of: ")")
            else { return nil }
            let words = stat[stat.index(after: open)..<close].split(separator: "-").prefix(2)
            let fields = stat[close...].split(separator: " ").dropFirst()
            return (words.joined(separator: "-"), Array(fields))
        }
    }
}
