import ArgumentParser
import ControlAPI
import Foundation
import RelayTesting
import Testing
import relayd

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
            for (path, value, builtIn, origin, place) in [
                ("apps.hold_timeout", "2m", "1m", "file", "\(file):2:17"),
                ("log.apps", "Music, Maps", "", "file", "\(file):4:9"),
                ("log.level", "debug", "info", "flag", "--log-level"),
                (
                    "listen", "127.0.0.1:1, [::1]:2", "127.0.0.1:2776", "environment",
                    "RELAYD_LISTEN"
                ),
                ("control.mode", "0660", "0660", "default", nil),
                ("control.socket", "auto", "auto", "default", nil),
                ("apps.foreign_frames", "drop", "drop", "default", nil),
                ("log.traffic", "true", "true", "default", nil),
            ] as [(String, String, String, String, String?)] {
                let expected = ConfigOptionReport(
                    path: path, value: value, builtIn: builtIn,
                    origin: ConfigOriginKind(rawValue: origin), place: place)
                #expect(report.options.first { $0.path == path } == expected)
            }
        }
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
