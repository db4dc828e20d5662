// How much relayd moves over USB, how soon it opens a device, and that it sleeps while idle.

import ControlAPI
import Foundation
import Glibc

/// relayd on a simulated device, beside the smallest program that uses the same libusb on it.
enum USBBenchmark: Benchmark {
    static let name = "usb"
    static let summary =
        "a USB device: streams both ways, plugging in, idle (umockdev)"

    private static let notes = [
        "a fake device under real libusb: each ioctl is a message to its process and back, some 50 us",
        "of the caller's processor time, which a kernel would not take. plain-usb (libusb and nothing",
        "else, nothing is done with the bytes) shows what goes through it",
    ]

    static func run(_ setting: Setting) async throws -> Findings {
        guard FakeUSB.isAvailable else {
            return Findings(notes: ["needs umockdev: apt-get install umockdev libumockdev-dev"])
        }
        var findings = Findings(notes: notes)
        try streams(setting, &findings)
        try plugging(setting, &findings)
        try idle(setting, &findings)
        return findings
    }

    // MARK: As much as goes

    /// The promised rate each way, in MB/s, if the rig reaches it.
    private static let promisedRate = 30.0
    /// The values that the rig is swept with; relayd uses four transfers of 16 KiB, and 32 KiB once a device
    /// streams.
    private static let sweep = (bytes: [4096, 16_384, 65_536], transfers: [1, 2, 4, 8])

    private static func streams(_ setting: Setting, _ findings: inout Findings) throws {
        let frameBytes = 16 << 10
        for direction in StreamDirection.allCases {
            let isIn = direction == .fromHeadUnit
            let subject = "\(Report.size(frameBytes)) \(direction.rawValue)"
            var ceilings: [[Double]] = []
            var (rates, costs): ([Double], [Double]) = ([], [])
            let usb = try FakeUSB(setting)
            try usb.plug()
            let lane = try Lane.relayd(setting, link: .usb)
            let stream = Stream(lane, direction, frameBytes: frameBytes, isVideo: true)
            let expected = try stream.run(bytes: 4 << 20).megabytesPerSecond
            let seconds = setting.isQuick ? 0.2 : 0.6
            for _ in 0..<setting.rounds {
                let result = try stream.run(seconds: seconds, rate: expected)
                rates.append(result.megabytesPerSecond)
                costs.append(result.processorSecondsPerGigabyte)
                var round: [Double] = []
                for bytes in sweep.bytes {
                    for transfers in sweep.transfers {
                        let plan = FakeUSB.Plan(
                            transferBytes: bytes, transfers: transfers, seconds: seconds / 2,
                            reads: isIn, bytesPerSecond: isIn ? 0 : nil)
                        let result = try usb.runPlainProgram(
                            plan,
                            load: isIn ? ([UInt8](repeating: 0x5A, count: 64 << 10), nil) : nil)
                        round.append(
                            isIn ? result.inMegabytesPerSecond : result.outMegabytesPerSecond)
                    }
                }
                ceilings.append(round)
            }
            findings.add(subject, "relayd", "rate", rates, "MB/s")
            findings.add(subject, "relayd", "cost with the rig's", costs, "s/GB")
            var index = 0
            for bytes in sweep.bytes {
                for transfers in sweep.transfers {
                    findings.add(
                        subject, "plain-usb", "rate, \(bytes >> 10) KiB × \(transfers)",
                        ceilings.map { $0[index] }, "MB/s")
                    index += 1
                }
            }
            // The best of all transfer settings.
            let ceiling = (0..<index).map { kind in ceilings.map { $0[kind] }.median }.max() ?? .nan
            findings.bound(
                "usb, \(subject): rate; the rig's is \(Report.text(ceiling)) MB/s", rates.median,
                .atLeast, min(promisedRate, ceiling), "MB/s")
        }
    }

    // MARK: Plugging in

    private static func plugging(_ setting: Setting, _ findings: inout Findings) throws {
        let usb = try FakeUSB(setting)
        var options = RelaydProcess.Options(accessory: FakeUSB.accessory)
        options.environment = usb.environment
        let relayd = try RelaydProcess(setting, options, directory: setting.newDirectory())
        var opened: [Double] = []
        for _ in 0..<(setting.isQuick ? 5 : 50) {
            let begin = Clock.nanoseconds()
            try usb.plug()
            let headUnit = try usb.listener.accept()
            opened.append(Double(Clock.nanoseconds() - begin) / 1e6)
            try usb.unplug()
            try relayd.until("the device is gone") { $0.accessory.state == .waiting }
            headUnit.shutDown()
        }
        findings.add("plugged in to opened", "relayd", "median", opened, "ms")
        findings.bound(
            "usb, plugged in to opened, longest of \(opened.count)", opened.max() ?? .nan, .atMost,
            300, "ms")
    }

    // MARK: Idle

    private static let settleSeconds: UInt32 = 22
    private static let watchedSeconds: UInt32 = 10

    /// Measures one relayd with a silent link, and one whose device has never been plugged in.
    private static func idle(_ setting: Setting, _ findings: inout Findings) throws {
        let lane = try Lane.relayd(setting, link: .usb)
        let empty = try FakeUSB(setting)
        var options = RelaydProcess.Options(accessory: FakeUSB.accessory)
        options.environment = empty.environment
        let waiting = try RelaydProcess(setting, options, directory: setting.newDirectory())
        try waiting.until("the device is absent") { $0.accessory.state == .waiting }
        sleep(setting.isQuick ? 1 : settleSeconds)
        let both = [lane.child.processID, waiting.child.processID].map {
            ProcessFacts(processID: $0)
        }
        let before = try both.map { try $0.threads() }
        sleep(watchedSeconds)
        let counts = try zip(both, before).map { facts, before in
            let wakeUps = try facts.threads().map { id, thread in
                thread.voluntarySwitches - (before[id]?.voluntarySwitches ?? 0)
            }
            return Double(wakeUps.reduce(0, +))
        }
        for (subject, count) in zip(["open and silent", "device absent"], counts) {
            findings.add("usb:, \(subject)", "relayd", "wake-ups", [count], "")
            findings.bound(
                "usb, \(subject): wake-ups in \(watchedSeconds) s", count, .atMost, 0, "")
        }
        withExtendedLifetime((lane, empty)) {}
    }
}
