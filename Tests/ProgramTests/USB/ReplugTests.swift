// A device that is plugged in and unplugged again and again, under traffic.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite(
    "The built relayd and a loose plug", .serialized,
    .enabled("needs umockdev: apt-get install umockdev libumockdev-dev") {
        await FakeUSB.isAvailable.value
    })
struct ReplugTests {
    /// `Scripts/bench usb-replug` does a thousand.
    private static let rounds = 140

    /// The first rounds fill buffers and rings, and let malloc reach its size.
    private static let settledRounds = 80

    /// The other rounds are measured in parts of this many rounds, and the least growth counts. A busy machine
    /// shows jumps of some hundred KiB in either direction; a leak makes every part larger than the one before.
    private static let readRounds = 10

    /// The KiB that a round may cost. A leaked transfer buffer adds 16.
    private static let toleratedGrowth = 12.0

    /// One arena of malloc instead of one for each thread that ever had to wait for another.
    private static let oneArena = ["MALLOC_ARENA_MAX": "1"]

    @Test("every round works, frames keep their order, and memory does not grow")
    func replugs() async throws {
        let config = Relayd.quickGoodbyes + "limits:\n  ring: 64 KiB\n"
        try await USBBench.run("usb:1bc4:0001", config: config, environment: Self.oneArena) {
            bench in
            var sizes: [Int] = []
            let descriptorsBefore = try Self.descriptors(bench.relayd.process.pid)
            for round in 1...Self.rounds {
                try bench.usb.tell("plug 1-\(round % 4 + 1) openxc -")
                let (headUnit, app) = try await bench.connect()
                try await headUnit.register(app, session: 1, name: "Loose")
                for number in 1...10 as ClosedRange<UInt32> {
                    let frame = Frame.data(session: 1, message: number, bytes: Int(number) * 700)
                    try await app.send(frame)
                    try await headUnit.send(frame)
                }
                for number in 1...10 as ClosedRange<UInt32> {
                    let frame = Frame.data(session: 1, message: number, bytes: Int(number) * 700)
                    try #require(try await headUnit.next() == frame)
                    try #require(try await app.next() == frame)
                }
                // In the middle of a transfer.
                try await app.send(.data(session: 1, bytes: 30_000))
                try await headUnit.send(.data(session: 1, bytes: 30_000))
                try bench.usb.tell("unplug 1-\(round % 4 + 1)")
                try await app.closed()
                if round > Self.settledRounds {
                    sizes.append(try Self.anonymousKiB(bench.relayd.process.pid))
                }
            }
            let status = try await bench.relayd.until("all rounds") {
                $0.accessory.openedCount == Self.rounds && $0.accessory.state == .waiting
            }
            #expect(status.accessory.garbageBytes == 0)
            try await bench.expectAllBytesCounted()
            let least = stride(from: 0, to: sizes.count, by: Self.readRounds).compactMap {
                sizes[$0...].prefix(Self.readRounds).min()
            }
            let growths = zip(least, least.dropFirst())
                .map { Double($1 - $0) / Double(Self.readRounds) }.sorted()
            // One part may have given some memory back.
            let growth = try #require(growths.dropFirst().first)
            // A sanitizer keeps freed memory for a while, and its own records of it.
            if Sanitizer.isAbsent {
                #expect(growth < Self.toleratedGrowth, "KiB: \(sizes)")
            }
            let descriptors = try Self.descriptors(bench.relayd.process.pid)
            #expect(descriptors <= descriptorsBefore + 8)
        }
    }

    /// Memory not backed by a file: what the program has allocated.
    private static func anonymousKiB(_ pid: Int32) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("Anonymous:") })
        return try #require(line.split(separator: " ").compactMap { Int($0) }.first)
    }

    private static func descriptors(_ pid: Int32) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }
}
