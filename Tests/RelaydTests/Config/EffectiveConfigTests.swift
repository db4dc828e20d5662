import ArgumentParser
import ControlAPI
import Foundation
import RelayTesting
import Testing

@testable import relayd

@Suite struct EffectiveConfigTests {
    @Test("every option is told with its value, its default and who set it") func origins()
        async throws
    {
        try await TemporaryDirectory.run { directory in
            let file = try directory.write(
                "apps:\n  hold_timeout: 2m\nlog:\n  apps: [Music, Maps]\n  level: error\n",
                to: "relayd.yaml")
            let arguments = try Arguments.parse(["--config", file, "--log-level", "debug"])
            let report = try arguments.effective(
                environment: ["RELAYD_LISTEN": "127.0.0.1:1,[::1]:2"]
            ).report
            #expect(report.file == file)
            #expect(report.options.map(\.path) == ConfigSchema().options.map(\.path))
            let expected = [
                ConfigOptionReport(
                    path: "apps.hold_timeout", value: .number(120_000), builtIn: .number(60_000),
                    unit: .milliseconds, text: "2m", builtInText: "1m", origin: .file,
                    place: "\(file):2:17"),
                ConfigOptionReport(
                    path: "log.apps", value: .list(["Music", "Maps"]), builtIn: .list([]),
                    text: "Music, Maps", builtInText: "", origin: .file, place: "\(file):4:9"),
                ConfigOptionReport(
                    path: "log.level", value: .text("debug"), builtIn: .text("info"),
                    text: "debug", builtInText: "info", origin: .flag, place: "--log-level"),
                ConfigOptionReport(
                    path: "listen", value: .list(["127.0.0.1:1", "[::1]:2"]),
                    builtIn: .list(["127.0.0.1:2776"]), text: "127.0.0.1:1, [::1]:2",
                    builtInText: "127.0.0.1:2776", origin: .environment, place: "RELAYD_LISTEN"),
                unset("control.mode", .text("0660"), "0660"),
                unset("control.socket", .text("auto"), "auto"),
                unset("apps.foreign_frames", .text("drop"), "drop"),
                unset("apps.maximum", .number(300), "300"),
                unset("limits.ring", .number(16 << 20), "16777216", .bytes),
                unset("log.traffic", .flag(true), "true"),
            ]
            for option in expected {
                #expect(report.options.first { $0.path == option.path } == option)
            }
            // A written report reads back as the same report.
            let bytes = try APICoding.encode(report)
            #expect(try APICoding.decode(ConfigReport.self, from: bytes) == report)
        }
    }

    private func unset(
        _ path: String, _ value: ConfigOptionValue, _ text: String, _ unit: ConfigUnit? = nil
    ) -> ConfigOptionReport {
        ConfigOptionReport(
            path: path, value: value, builtIn: value, unit: unit, text: text, builtInText: text,
            origin: .builtIn)
    }

    @Test("a file named from where relayd was started has its whole path for everybody else")
    func wholePath() throws {
        let here = FileManager.default.currentDirectoryPath
        #expect(ConfigFile.wholePath("/etc/relayd/relayd.yaml") == "/etc/relayd/relayd.yaml")
        #expect(ConfigFile.wholePath("lab/relayd.yaml") == "\(here)/lab/relayd.yaml")
        #expect(ConfigFile.wholePath("./relayd.yaml") == "\(here)/relayd.yaml")
        #expect(ConfigFile.wholePath("../relayd.yaml") == "\(here)/../relayd.yaml")
        let none = try Arguments.parse([]).effective(environment: [:], defaultFile: "/nowhere")
        #expect(none.report.file == nil)
    }
}
