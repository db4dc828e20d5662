// How soon an app has a session again after the head unit was unplugged.

import ControlAPI
import Foundation
import RelayTesting
import SDLProtocol

/// A pty that comes back under its name, and an app that waits for it.
enum ReplugBenchmark: Benchmark {
    static let name = "replug"
    static let summary = "from the device node being back to the app's session, on a pty"

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "the app has connected and asked for a session while the device was away; asked: when its",
            "StartService reaches the head unit, which grants it at once; granted: when the app has it",
        ])
        let directory = try setting.newDirectory()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let line = try PseudoTerminalLine(directory: directory)
        let relayd = try RelaydProcess(
            setting, .init(accessory: "serial:\(line.path)"), directory: setting.newDirectory())
        let port = try relayd.port()
        var (asked, granted): ([Double], [Double]) = ([], [])
        var hung = 0
        for _ in 0..<(setting.isQuick ? 3 : 25) {
            let before = try Socket.connect(port: port)
            try register(before, line)
            line.unplug()
            if !ends(before) { hung += 1 }
            try relayd.until("the link is lost") { $0.accessory.state == .waiting }
            let app = try Socket.connect(port: port)
            var waiting = FrameSocket(app)
            try waiting.send(.startService())
            try relayd.until("an app waits") { $0.apps.first?.state == .waitingForHeadUnit }

            let (back, moment) = try line.plug()
            var headUnit = FrameSocket(back)
            _ = try headUnit.next { $0.controlType == .startService }
            asked.append(Double(Clock.nanoseconds() - moment) / 1e6)
            try headUnit.send(.startServiceACK(session: 1))
            _ = try waiting.next { $0.controlType == .startServiceACK }
            granted.append(Double(Clock.nanoseconds() - moment) / 1e6)
            app.shutDown()
            _ = try headUnit.next { $0.controlType == .endService }
            try headUnit.send(.control(.endServiceACK, session: 1))
            try relayd.until("no app is left") { $0.apps.isEmpty }
        }
        findings.add("pty", "relayd", "asked", asked, "ms")
        findings.add("pty", "relayd", "granted", granted, "ms")
        findings.bound(
            "session of a waiting app after replug, median of \(granted.count)", granted.median,
            .atMost, 50, "ms")
        findings.bound("apps still open after the unplug", Double(hung), .atMost, 0, "")
        return findings
    }

    /// Keeps no end of the line open; otherwise unplugging it would not hang up.
    private static func register(_ app: Socket, _ line: PseudoTerminalLine) throws {
        guard let master = line.master else { throw BenchmarkError("the line is unplugged") }
        _ = try Registration.play(app: app, headUnit: master)
    }

    /// Whether the other side closes the connection.
    private static func ends(_ socket: Socket) -> Bool {
        (try? socket.readToEnd()) != nil
    }
}
