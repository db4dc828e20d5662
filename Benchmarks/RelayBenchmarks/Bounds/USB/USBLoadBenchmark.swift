// What 1 MB/s over USB costs relayd itself, without the cost of the fake device.

import Foundation
import Glibc

/// relayd on a simulated device, compared with relayd on TCP and socat on TCP.
enum USBLoadBenchmark: Benchmark {
    static let name = "usb-load"
    static let summary = "a USB device: processor time at 1 MB/s, beside TCP (umockdev)"

    private static let notes = [
        "a fake device under real libusb: each ioctl is a message to its process and back, some 50 us",
        "of relayd's processor time, where a kernel takes a few. \"without the rig\": its time outside",
        "these ioctls, which a library in front of it measures",
    ]

    static func run(_ setting: Setting) async throws -> Findings {
        guard FakeUSB.isAvailable else {
            return Findings(notes: ["needs umockdev: apt-get install umockdev libumockdev-dev"])
        }
        var findings = Findings(notes: notes)
        for frameBytes in [1 << 10, 16 << 10] {
            let lanes = try Lanes(setting)
            for directions in StreamDirection.allCases.map({ [$0] }) + [StreamDirection.allCases] {
                try measure(lanes, Load(frameBytes, directions), setting, &findings)
            }
        }
        return findings
    }

    private struct Lanes {
        let usb: Lane
        let tcp: Lane
        let socat: Lane

        init(_ setting: Setting) throws {
            usb = try Lane.relayd(setting, link: .usb)
            tcp = try Lane.relayd(setting)
            socat = try Lane.socat(setting)
        }
    }

    /// The traffic over a lane.
    private struct Load {
        let frameBytes: Int
        let directions: [StreamDirection]
        let bytesPerSecond = 1_000_000

        init(_ frameBytes: Int, _ directions: [StreamDirection]) {
            (self.frameBytes, self.directions) = (frameBytes, directions)
        }

        var text: String {
            let way = directions.count == 1 ? directions[0].rawValue : "each way"
            return "1 MB/s \(way), \(Report.size(frameBytes)) frames"
        }
    }

    // MARK: Measuring

    /// The promised processor use, in per cent of one core.
    private static let promisedShare = 5.0
    /// The least rate in the slower direction, in MB/s: less traffic costs less, and proves nothing. The
    /// rest is the granularity of the sending side's timer.
    private static let leastRate = 0.95

    private static func measure(
        _ lanes: Lanes, _ load: Load, _ setting: Setting, _ findings: inout Findings
    ) throws {
        let seconds = setting.isQuick ? 0.5 : 1.5
        var shares: [String: [Share]] = [:]
        let contestants = [
            ("relayd, usb:", lanes.usb), ("relayd, tcp:", lanes.tcp), ("socat, TCP", lanes.socat),
        ]
        // Processor time varies less than rates do.
        for _ in 0..<min(setting.rounds, 5) {
            for (name, lane) in contestants {
                shares[name, default: []].append(try share(of: lane, load, seconds))
            }
        }
        for (name, _) in contestants {
            let shares = shares[name] ?? []
            findings.add(load.text, name, "of one core", shares.map(\.percent), "%")
            findings.add(load.text, name, "slower way", shares.map(\.rate), "MB/s")
        }
        let usb = shares["relayd, usb:"] ?? []
        let own = usb.map(\.own)
        findings.add(load.text, "relayd, usb:", "without the rig", own, "%")
        findings.add(load.text, "relayd, usb:", "transfers", usb.map(\.transfers), "1/s")
        findings.bound(
            "\(name), \(load.text): rate", usb.map(\.rate).median, .atLeast, leastRate, "MB/s")
        findings.bound(
            "\(name), \(load.text): relayd's own time", own.median, .atMost, promisedShare,
            "% of a core")
    }

    private struct Share {
        /// The processor use, in per cent of one core.
        var percent: Double
        /// The same without the time in the fake device's ioctls.
        var own: Double
        /// The actual rate in the slower direction, in MB/s.
        var rate: Double
        /// Transfers per second on USB, in both directions together.
        var transfers: Double
    }

    private static func share(of lane: Lane, _ load: Load, _ seconds: Double) throws -> Share {
        let frame = Traffic.wire([
            Traffic.video(session: lane.session, bytes: load.frameBytes, message: 1)
        ])
        let ways: [(Socket, Socket)] = load.directions.map { direction in
            direction == .fromApp ? (lane.app, lane.headUnit) : (lane.headUnit, lane.app)
        }
        let floods = ways.map { source, _ in
            Flood([frame], bytesPerSecond: load.bytesPerSecond) { try source.write($0) }
        }
        let sinks = ways.map { Drain($1) }
        usleep(200_000)
        let (begin, used) = (Clock.now(), lane.child.processorTime)
        let usedByRig = try lane.usb?.rigTime() ?? 0
        let before = sinks.map(\.bytesRead)
        let transfersBefore = try lane.usb?.transfers() ?? 0
        usleep(UInt32(seconds * 1e6))
        let took = Clock.now() - begin
        let total = lane.child.processorTime - used
        let own = total - (try lane.usb?.rigTime() ?? 0) + usedByRig
        let rates = zip(sinks, before).map { Double($0.bytesRead - $1) / took / 1e6 }
        let transfers = Double(try (lane.usb?.transfers() ?? 0) - transfersBefore) / took
        for flood in floods { flood.stop() }
        for sink in sinks { sink.stop() }
        return Share(
            percent: 100 * total / took, own: 100 * own / took, rate: rates.min() ?? 0,
            transfers: transfers)
    }
}
