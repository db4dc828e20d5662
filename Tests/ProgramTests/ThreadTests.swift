// What relayd's threads are called, and which gives way to which.

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
            for name in ["observers", "log"] {
                let found = try #require(threads[name], "\(threads.keys)")
                #expect(found.allSatisfy { $0 == min(own + 10, 19) }, "\(name): \(found)")
            }
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
            // Not libdispatch's, which begin later, and which root may make less nice again.
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
        try await USBBench.run("usb:openxc", before: ["plug 1-1 openxc -"]) { bench in
            _ = try await bench.connect()
            let all = try Self.threads(of: bench.relayd.process.pid)
            let own = try #require(all["relayd"]?.first, "as nice as it was started")
            for name in ["usb", "libusb_event"] {
                let threads = try #require(all[name], "\(all.keys)")
                #expect(threads == [min(own + 5, 19)], "\(name)")
            }
        }
    }

    /// Niceness of each thread, by the first word of its name.
    private static func threads(of process: Int32) throws -> [String: [CInt]] {
        let directory = "/proc/\(process)/task"
        var found: [String: [CInt]] = [:]
        for thread in try FileManager.default.contentsOfDirectory(atPath: directory) {
            let stat = try String(contentsOfFile: "\(directory)/\(thread)/stat", encoding: .utf8)
            // proc(5): "pid (comm) state ...", the name may hold anything; nice is field 19.
            guard let open = stat.firstIndex(of: "("), let close = stat.lastIndex(of: ")") else {
                continue
            }
            let name = stat[stat.index(after: open)..<close]
            let fields = stat[close...].split(separator: " ").dropFirst()
            guard let nice = fields.dropFirst(16).first.flatMap({ CInt($0) }) else { continue }
            let words = name.split(separator: "-").prefix(2)
            found[words.joined(separator: "-"), default: []].append(nice)
        }
        return found
    }
}
