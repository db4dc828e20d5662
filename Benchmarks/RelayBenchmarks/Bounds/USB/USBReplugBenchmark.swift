// What a thousand unplugs leave behind in relayd: memory, descriptors, uncounted bytes.

import ControlAPI
import Foundation
import Glibc
import RelayTesting
import SDLProtocol

/// The fake USB device, pulled out in the middle of transfers again and again.
enum USBReplugBenchmark: Benchmark {
    static let name = "usb-replug"
    static let summary = "a USB device unplugged under traffic 1,000 times: memory, bytes counted"

    /// The number of rounds after which buffers, rings and malloc's arenas have their size.
    private static let settled = 200

    /// The KiB that a round may cost. One leaked transfer buffer would be 16, one descriptor's NIO
    /// channel some 5; the rest is the noise of malloc over all rounds.
    private static let promisedGrowth = 1.0

    static func run(_ setting: Setting) async throws -> Findings {
        guard FakeUSB.isAvailable else {
            return Findings(notes: ["needs umockdev: apt-get install umockdev libumockdev-dev"])
        }
        let rounds = setting.isQuick ? 40 : 1000
        let settled = setting.isQuick ? 20 : settled
        var findings = Findings(notes: [
            "each round: plugged in, an app registers, 30 KB are under way each way, unplugged;",
            "grown: memory that no file holds, per round after the first \(settled)",
        ])
        let usb = try FakeUSB(setting)
        var options = RelaydProcess.Options(accessory: FakeUSB.accessory)
        options.environment = usb.environment
        let directory = try setting.newDirectory()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        // Rings that are full when the measurement starts.
        options.configuration = "\(directory)/replug.yaml"
        try
            "limits: { ring: 64 KiB }\nsessions: { farewell_timeout: 100ms }\ndashboard: { enabled: false }\n"
            .write(toFile: "\(directory)/replug.yaml", atomically: false, encoding: .utf8)
        let relayd = try RelaydProcess(setting, options, directory: setting.newDirectory())
        let port = try relayd.port()
        var (before, descriptors) = (0, 0)
        for round in 1...rounds {
            try replug(usb, relayd, port)
            if round == settled {
                before = try relayd.facts.memory().anonymous
                descriptors = try self.descriptors(of: relayd)
            }
        }
        let status = try relayd.status().accessory
        let moved = try usb.moved()
        let growth =
            Double(try relayd.facts.memory().anonymous - before) / 1024 / Double(rounds - settled)
        let (lostIn, lostOut) = (status.lostBytesIn ?? 0, status.lostBytesOut ?? 0)
        findings.add("\(rounds) replugs", "relayd", "grown per round", [growth], "KiB")
        findings.add("\(rounds) replugs", "relayd", "lost on the way in", [Double(lostIn)], "B")
        findings.add("\(rounds) replugs", "relayd", "lost on the way out", [Double(lostOut)], "B")
        if !setting.isQuick {
            findings.bound(
                "usb, \(rounds) replugs: memory per round", growth, .atMost, promisedGrowth, "KiB")
        }
        findings.bound(
            "usb, \(rounds) replugs: descriptors more than before",
            Double(try self.descriptors(of: relayd) - descriptors), .atMost, 0, "")
        let uncounted =
            abs(moved.in - status.bytesIn - lostIn) + abs(status.bytesOut - moved.out - lostOut)
        findings.bound(
            "usb, \(rounds) replugs: bytes neither delivered nor counted as lost",
            Double(uncounted), .atMost, 0, "")
        findings.bound(
            "usb, \(rounds) replugs: links opened", Double(status.openedCount), .atLeast,
            Double(rounds), "")
        return findings
    }

    private static func replug(_ usb: FakeUSB, _ relayd: RelaydProcess, _ port: UInt16) throws {
        try usb.plug()
        let headUnit = try usb.listener.accept()
        let app = try Socket.connect(port: port)
        let session = try Registration.play(app: app, headUnit: headUnit)
        let load = Traffic.wire([Traffic.video(session: session, bytes: 30_000, message: 1)])
        try app.write(load)
        try headUnit.write(load)
        try usb.unplug()
        _ = try? app.readToEnd()
        headUnit.shutDown()
        try relayd.until("the device is gone") {
            $0.accessory.state == .waiting && $0.apps.isEmpty
        }
    }

    /// The lowest of several counts: during one, the connection of the last status may still be open.
    private static func descriptors(of relayd: RelaydProcess) throws -> Int {
        var fewest = Int.max
        for _ in 0..<20 {
            let folder = "/proc/\(relayd.child.processID)/fd"
            fewest = min(fewest, try FileManager.default.contentsOfDirectory(atPath: folder).count)
            usleep(10_000)
        }
        return fewest
    }
}
