// A bench at work for the tests of `top`: two apps, one of which does something wrong.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import SDLTraffic

@testable import relayctl

enum TopSamples {
    /// Two minutes before the end of the recorded session.
    static let start = Timestamp("2026-11-21T05:39:08.000Z") ?? Samples.start
    static let now = seconds(130)

    static func seconds(_ seconds: Int64) -> Timestamp {
        Timestamp(millisecondsSince1970: start.millisecondsSince1970 + seconds * 1000)
    }

    // MARK: Counts

    static func call(
        _ app: String, _ function: String, requests: Int = 0, notifications: Int = 0,
        failed: Int = 0
    ) -> AppFunctionReport {
        AppFunctionReport(
            app: app, function: function, requests: requests, responses: requests,
            notifications: notifications, failed: failed)
    }

    static func stats(_ calls: [AppFunctionReport], at seconds: Int64) -> StatsReport {
        StatsReport(
            since: start, at: Self.seconds(seconds), traffic: [], functions: [],
            apps: calls, dropped: [:], unanswered: 0, unseen: 0)
    }

    // MARK: A status

    static func app(
        _ id: Int, _ name: String?, level: String? = nil, bytes: Int = 0, queue: Int = 0
    ) -> AppStatus {
        AppStatus(
            id: id, peer: "127.0.0.1:4011\(id)", connectedAt: start,
            state: name == nil ? .connected : .registered, appName: name, hmiLevel: level,
            bytesFromApp: bytes, queueBytes: queue)
    }

    static func status(
        _ apps: [AppStatus], bytesIn: Int = 0, bytesOut: Int = 0
    ) -> StatusSnapshot {
        Samples.snapshot(
            accessory: AccessoryStatus(
                kind: "tcp", address: "tcp:192.168.1.20:12345", state: .open, since: start,
                name: "SDL Core", bytesIn: bytesIn, bytesOut: bytesOut),
            link: LinkStatus(state: .sessions, sessions: apps.count), apps: apps)
    }

    // MARK: Messages

    static func message(
        _ number: Int, _ function: String, kind: String = "request", milliseconds: Double? = nil,
        app: String = "Radio", second: Int64 = 0, people: Bool = false
    ) throws -> TailMessage {
        let latency = milliseconds.map { ",\"latency_ms\":\($0)" } ?? ""
        let waits = people ? ",\"waits_for_people\":true" : ""
        let json = """
            {"n":\(number),"time":"\(seconds(second))","kind":"\(kind)","from":"app","app":"#1",\
            "app_name":"\(app)","function":"\(function)","bytes":61,"summary":"what it says"\
            \(latency)\(waits)}
            """
        let message = try TailMessage(JSONObject(ByteBuffer(string: json)), keepingColours: false)
        guard let message else { throw TailSamples.NoMessage() }
        return message
    }

    // MARK: The whole

    static let advice = AdviceReport(
        code: "putfile_crc", severity: AdviceReport.warning, at: seconds(40), lastAt: seconds(121),
        count: 12, app: 2, appName: "Maps",
        text: "PutFile \"cover.png\": the checksum is not that of the data",
        remedy: "send the CRC-32 of the bytes in this frame, or none", entry: 17)

    /// The model after five seconds, with the messages of a recorded session.
    static func busy() throws -> TopModel {
        var model = TopModel()
        let apps = { (bytes: Int, queue: Int) in
            [
                app(1, "Relay Test", level: "FULL", bytes: bytes),
                app(2, "Maps", level: "BACKGROUND", bytes: bytes * 40, queue: queue),
                app(3, nil),
            ]
        }
        let calls = { (times: Int) in
            [
                call("Relay Test", "Show", requests: 300 + 52 * times, failed: 2),
                call("Relay Test", "OnVehicleData", notifications: 1200 + 11 * times),
                call("Maps", "PutFile", requests: 20 + 3 * times, failed: 4 + times),
                call("Relay Test", "Alert", requests: 8 + times),
                call("Maps", "OnHMIStatus", notifications: 12),
                call("unregistered", "RegisterAppInterface", requests: 2),
            ]
        }
        model.take(.status(status(apps(0, 0)), seconds(125)))
        model.take(.stats(stats(calls(0), at: 125)))
        model.take(
            .status(
                status(apps(6144, 921_600), bytesIn: 40_000, bytesOut: 1_300_000), seconds(130)))
        model.take(.stats(stats(calls(1), at: 130)))
        model.take(.advice([advice]))
        for entry in try TailSamples.messages(Capture.entries("js-full-1")).prefix(47) {
            model.take(.message(entry, stream: 0))
        }
        return model
    }

    static func broken() -> TopModel {
        var model = TopModel()
        model.take(.status(Samples.broken, now))
        return model
    }

    static func view(
        _ columns: Int, _ rows: Int, style: Style = .plain
    ) -> TopView {
        TopView(rows: rows, columns: columns, style: style, localTime: .utc)
    }

    /// The screen as text, each line ended.
    static func text(_ model: TopModel, _ columns: Int, _ rows: Int, style: Style = .plain)
        -> String
    {
        let frame = view(columns, rows, style: style).frame(model, now: now)
        return frame.lines.map { $0 + "\n" }.joined()
    }
}
