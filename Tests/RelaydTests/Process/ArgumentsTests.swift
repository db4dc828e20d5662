import AccessoryLinks
import ArgumentParser
import ControlAPI
import Foundation
import Logging
import RelayCore
import Testing

@testable import relayd

// Flags, environment and file together: which overrides which, and the messages about bad values.

@Suite("Arguments")
struct ArgumentsTests {
    private static let noFile = "/nonexistent/relayd.yaml"

    private static func config(
        _ flags: [String] = [], environment: [String: String] = [:], file: String = noFile
    ) throws -> Config {
        try Arguments.parse(flags).effectiveConfig(environment: environment, defaultFile: file)
    }

    @Test("the help names every environment variable there is") func variables() {
        let help = Arguments.command.discussion
        for variable in EnvironmentVariable.allCases {
            #expect(help.contains(variable.rawValue), "\(variable.rawValue)")
        }
    }

    private static func messages(
        _ flags: [String], environment: [String: String] = [:], file: String = noFile
    ) throws -> [String] {
        do {
            _ = try config(flags, environment: environment, file: file)
            return []
        } catch let error as ConfigErrors {
            return error.problems.map(\.description)
        }
    }

    @Test("no line of the tables in the help is wrapped by a terminal of 60 columns")
    func tables() {
        let help = Arguments.command.discussion
        let tables = help.split(separator: "\n").drop { $0 != "ENVIRONMENT" }
        #expect(tables.count > 30)
        for line in tables { #expect(line.count <= 60, "\(line)") }
    }

    @Test("without file, environment and flags relayd runs with its defaults")
    func defaults() throws {
        #expect(try Self.config() == Config())
        #expect(
            try Self.config(environment: ["RELAYD_LISTEN": "", "RELAYD_CONFIG": ""]) == Config())
    }

    @Test("naming the dashboard's address switches it on")
    func dashboard() throws {
        var expected = Config()
        expected.dashboard.address = ListenAddress(host: "127.0.0.1", port: 9000)
        #expect(expected.dashboard.enabled)
        #expect(try Self.config(["--dashboard", "127.0.0.1:9000"]) == expected)
        #expect(try Self.config(environment: ["RELAYD_DASHBOARD": "127.0.0.1:9000"]) == expected)
        let messages = try Self.messages(["--dashboard", "9000"])
        #expect(messages.first?.contains("127.0.0.1:9000") == true, "\(messages)")
    }

    @Test("the dashboard is switched off by flag, by environment, and on again by a flag")
    func noDashboard() throws {
        try ScratchDirectory.use { directory in
            let file = directory + "/relayd.yaml"
            try "dashboard: {enabled: true, address: \"[::1]:0\"}".write(
                toFile: file, atomically: true, encoding: .utf8)
            var expected = Config()
            expected.dashboard.enabled = false
            expected.dashboard.address = ListenAddress(host: "::1", port: 0)
            #expect(try Self.config(["--config", file, "--dashboard", "off"]) == expected)
            let off = ["RELAYD_DASHBOARD": "off"]
            #expect(try Self.config(["--config", file], environment: off) == expected)
            let flags = ["--config", file, "--dashboard", "127.0.0.1:9000"]
            #expect(try Self.config(flags, environment: off).dashboard.enabled)
        }
    }

    @Test("flags override environment, environment overrides file, file overrides defaults")
    func precedence() throws {
        try ScratchDirectory.use { directory in
            let file = directory + "/relayd.yaml"
            let text = """
                accessory: "tcp:file:1"
                listen: ["file:1", "file:2"]
                log: {level: debug, format: text}
                control: {socket: /file}
                apps: {maximum: 9}
                """
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let environment = [
                "RELAYD_ACCESSORY": "tcp:environment:1",
                "RELAYD_LISTEN": "environment:1, [::1]:2",
                "RELAYD_LOG_LEVEL": "error",
                "RELAYD_SOCKET": "/socket",
            ]

            let onlyFile = try Self.config(file: file)
            #expect(onlyFile.accessory == "tcp:file:1")
            #expect(onlyFile.listen.map(\.description) == ["file:1", "file:2"])
            #expect(onlyFile.hub.maximumApps == 9)

            let both = try Self.config(environment: environment, file: file)
            #expect(both.accessory == "tcp:environment:1")
            #expect(both.listen.map(\.description) == ["environment:1", "[::1]:2"])
            #expect(both.log.level == .error)
            #expect(both.log.format == .text)
            #expect(both.control.socket == .path("/socket"))

            let all = try Self.config(
                [
                    "--accessory", "sim:", "--listen", "flag:1", "--listen", "flag:2",
                    "--log-format", "json", "--log-level", "trace", "--control-socket", "/flag",
                    "--log-filter", "app:radio", "--log-app", "Music", "--log-function", "!Show",
                    "--log-service", "rpc",
                ], environment: environment, file: file)
            #expect(all.accessory == "sim:")
            #expect(all.listen.map(\.description) == ["flag:1", "flag:2"])
            #expect(all.log.format == .json)
            #expect(all.log.level == .trace)
            #expect(all.log.filter == "app:radio")
            #expect(all.log.apps == ["Music"])
            #expect(all.log.functions == ["!Show"])
            #expect(all.log.services == [.rpc])
            #expect(all.control.socket == .path("/flag"))
            #expect(all.hub.maximumApps == 9)
        }
    }

    @Test("where clients of a vehicle interface connect is said by the same flag as of apps")
    func listenOfVehicle() throws {
        let vehicle = try AccessoryAddress("sim:openxc")
        for (arguments, environment) in [
            (["--listen", "0.0.0.0:50001", "--listen", "[::1]:2"], [:]),
            ([], ["RELAYD_LISTEN": "0.0.0.0:50001, [::1]:2"]),
        ] {
            let config = try Self.config(arguments, environment: environment)
            for address in [vehicle, try AccessoryAddress("sim:")] {
                #expect(
                    config.places(for: address).map(\.description) == ["0.0.0.0:50001", "[::1]:2"])
            }
        }
        #expect(try Self.config().places(for: vehicle).map(\.description) == ["127.0.0.1:50001"])
    }

    @Test("RELAYD_CONTROL_SOCKET wins over RELAYD_SOCKET")
    func controlSocketWins() throws {
        let environment = ["RELAYD_CONTROL_SOCKET": "/control", "RELAYD_SOCKET": "/socket"]
        #expect(try Self.config(environment: environment).control.socket == .path("/control"))
    }

    @Test("a bad value is reported with the place it came from, all of them at once")
    func sources() throws {
        try ScratchDirectory.use { directory in
            let file = directory + "/relayd.yaml"
            try "log: {level: loud}\n".write(toFile: file, atomically: true, encoding: .utf8)
            let messages = try Self.messages(
                ["--listen", "127.0.0.1:2776", "--listen", "2776", "--log-format", "xml"],
                environment: ["RELAYD_LISTEN": "a:1,,b:2", "RELAYD_LOG_LEVEL": "inof"], file: file)
            let levels = "error, warning, notice, info, debug or trace"
            #expect(
                messages == [
                    "\(file):1:14: log.level: found \"loud\"; expected \(levels)",
                    "environment RELAYD_LISTEN: found \"\"; expected HOST:PORT or "
                        + "[IPv6]:PORT",
                    "environment RELAYD_LOG_LEVEL: found \"inof\"; expected \(levels); "
                        + "did you mean \"info\"?",
                    "--log-format: found \"xml\"; expected auto, text or json",
                    "--listen: found \"2776\"; expected HOST:PORT or [IPv6]:PORT; "
                        + "write 127.0.0.1:2776",
                ])
        }
    }

    @Test("one address to listen on needs no list around it")
    func oneAddress() throws {
        try ScratchDirectory.use { directory in
            let file = directory + "/relayd.yaml"
            try "listen: 0.0.0.0:2970\n".write(toFile: file, atomically: true, encoding: .utf8)
            let listen = try Self.config(["--config", file]).listen
            #expect(listen == [ListenAddress(host: "0.0.0.0", port: 2970)])
        }
    }

    @Test("an accessory's address that lacks its colon is said once, with what was meant")
    func accessoryWithoutColon() throws {
        let arguments = try Arguments.parse(["--accessory", "sim"])
        let errors = #expect(throws: ConfigErrors.self) {
            _ = try arguments.effectiveConfig(
                environment: [:], validateAccessory: Daemon.problem(withAccessory:),
                defaultFile: Self.noFile)
        }
        #expect(
            errors?.description
                == "--accessory: \"sim\" names no transport; did you mean \"sim:\"?")
    }

    @Test(
        "apps and the dashboard at one port: said before anything is opened, with the next one",
        arguments: [
            (["--listen", "127.0.0.1:2978", "--dashboard", "127.0.0.1:2978"], "127.0.0.1:2978"),
            (["--listen", "0.0.0.0:2978", "--dashboard", "127.0.0.1:2978"], "0.0.0.0:2978"),
            (["--listen", "localhost:2978", "--dashboard", "127.0.0.1:2978"], "localhost:2978"),
            (["--listen", "[::]:2978", "--dashboard", "127.0.0.1:2978"], "[::]:2978"),
        ])
    func onePortForTwo(flags: [String], listen: String) throws {
        #expect(
            try Self.messages(flags) == [
                "--dashboard: 127.0.0.1:2978 is taken: apps connect to \(listen) (--listen); "
                    + "give the dashboard another port, such as 127.0.0.1:2979"
            ])
    }

    @Test(
        "apps and the dashboard may have one port at two addresses, or any free one",
        arguments: [
            ["--listen", "127.0.0.2:2978", "--dashboard", "127.0.0.1:2978"],
            ["--listen", "[::1]:2978", "--dashboard", "0.0.0.0:2978"],
            ["--listen", "127.0.0.1:0", "--dashboard", "127.0.0.1:0"],
            ["--listen", "127.0.0.1:2777", "--dashboard", "off"],
        ])
    func onePortAtTwoAddresses(flags: [String]) throws {
        #expect(try Self.messages(flags).isEmpty)
    }

    @Test("a file that was named must exist, the default file need not")
    func namedFiles() throws {
        let absent = "/nonexistent/named.yaml"
        let message =
            "\(absent): cannot be read: No such file or directory; check the path, or leave it out "
            + "to run with the built-in defaults"
        #expect(try Self.messages(["--config", absent]) == [message])
        #expect(try Self.messages([], environment: ["RELAYD_CONFIG": absent]) == [message])
        #expect(try Self.messages([]) == [])
        #expect(
            try Arguments.parse(["--config", "/flag"])
                .configFile(environment: ["RELAYD_CONFIG": "/environment"]) == "/flag")
    }

    @Test("an accessory's address is judged by the transports, wherever it comes from")
    func accessory() throws {
        let arguments = try Arguments.parse(["--accessory", "usv:1"])
        #expect(throws: ConfigErrors.self) {
            try arguments.effectiveConfig(
                environment: [:],
                validateAccessory: { $0 == "usv:1" ? "unknown transport \"usv\"" : nil },
                defaultFile: Self.noFile)
        }
    }

    @Test("--check-config says ok with 0, or everything that is wrong with 78")
    func checkConfig() throws {
        let none = try Arguments.parse(["--check-config"])
        #expect(none.checkConfig)
        #expect(
            none.checkConfig(environment: [:], defaultFile: Self.noFile)
                == ("built-in defaults: ok", 0))
        try ScratchDirectory.use { directory in
            let file = directory + "/relayd.yaml"
            try "log: {traffic: false}\n".write(toFile: file, atomically: true, encoding: .utf8)
            let arguments = try Arguments.parse(["--check-config", "--config", file])
            #expect(arguments.checkConfig(environment: [:]) == ("\(file): ok", 0))
            try "lgo: {}\nappps: {}\n".write(toFile: file, atomically: true, encoding: .utf8)
            #expect(
                arguments.checkConfig(environment: [:]) == (
                    """
                    \(file):1:1: lgo: unknown key; did you mean "log"?
                    \(file):2:1: appps: unknown key; did you mean "apps"?
                    """, 78
                ))
        }
    }

    @Test("--check-config warns of a group this machine does not have, and says ok all the same")
    func checkGroup() throws {
        try ScratchDirectory.use { directory in
            let file = directory + "/relayd.yaml"
            let arguments = try Arguments.parse(["--check-config", "--config", file])
            func check(_ group: String) throws -> (output: String, exitCode: Int32) {
                try "control:\n  group: \"\(group)\"\n".write(
                    toFile: file, atomically: true, encoding: .utf8)
                return arguments.checkConfig(environment: [:], defaultFile: Self.noFile)
            }
            let absent = try check("no-such-group")
            #expect(absent.exitCode == 0)
            let lines = absent.output.split(separator: "\n")
            #expect(lines.count == 2 && lines.first == "\(file): ok")
            #expect(
                lines.last?.hasPrefix(
                    """
                    \(file):2:10: warning: control.group: there is no group "no-such-group" on this \
                    machine, and relayd would not start here; create it
                    """) == true, "\(absent.output)")
            for there in ["", "root", "0", "4000000000"] {
                #expect(try check(there) == ("\(file): ok", 0), "\(there)")
            }
        }
    }

    @Test("help names every flag")
    func help() {
        let help = Arguments.helpMessage(columns: 100)
        for flag in [
            "--config", "--accessory", "--listen", "--control-socket", "--log-format",
            "--log-level", "--log-filter", "--log-app", "--log-function", "--log-service",
            "--check-config",
        ] {
            #expect(help.contains("  \(flag)"), "\(flag) is missing")
        }
        #expect(Arguments.command.version == Version.current)
    }
}
