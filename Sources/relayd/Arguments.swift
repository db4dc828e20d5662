package import ArgumentParser
import ControlAPI
internal import Logging

/// relayd's command line: flags and help text, and how they become a configuration. `Relayd` parses
/// them as its option group; `ProgramTests` tests them through the built program.
package struct Arguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Configuration file. Default: \(Config.defaultFile), if it exists.",
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    package var config: String?

    @Option(
        help: ArgumentHelp(
            "Where the head unit is: sim:, tcp:HOST:PORT, serial:/dev/…?baud=…, "
                + "bluetooth:listen, rfcomm:/dev/rfcommN, usb:VID:PID.",
            valueName: "address"))
    package var accessory: String?

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Where apps connect, or clients of a vehicle interface; may be repeated. 0.0.0.0:2776 opens it "
                + "to the network, and neither SDL nor OpenXC has authentication.",
            valueName: "host:port"))
    package var listen: [String] = []

    @Option(
        help: ArgumentHelp(
            "Provide a serial port at this path for clients of an OpenXC vehicle interface.",
            valueName: "path"),
        completion: .file())
    package var pty: String?

    @Option(
        help: ArgumentHelp("Unix socket on which relayctl talks to relayd.", valueName: "path"),
        completion: .file())
    package var controlSocket: String?

    @Option(
        help: ArgumentHelp(
            "Serve the dashboard, a page for browsers, at another address than 127.0.0.1:2777; off for "
                + "none.",
            valueName: "host:port|off"))
    package var dashboard: String?

    @Option(
        help: ArgumentHelp("Format of log lines: text or json.", valueName: "text|json"),
        completion: .list(["text", "json"]))
    package var logFormat: String?

    @Option(
        help: ArgumentHelp(
            "relayd's own messages from this level up: error, warning, notice, info, debug, trace.",
            valueName: "level"),
        completion: .list(Config.Log.levels.map(\.rawValue)))
    package var logLevel: String?

    @Option(
        help: ArgumentHelp(
            "Log only the traffic that this filter accepts, such as 'app:radio !rpc:OnVehicleData'.",
            valueName: "filter"))
    package var logFilter: String?

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Log only this app's traffic (name, app ID or number); may be repeated.",
            valueName: "app"))
    package var logApp: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Log only this function or, with !, all but this one: '!OnVehicleData'; may be repeated.",
            valueName: "function"))
    package var logFunction: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Log only this service: control, rpc, audio, video, bulk; may be repeated.",
            valueName: "service"),
        completion: .list(Config.Log.Service.allCases.map(\.rawValue)))
    package var logService: [String] = []

    @Flag(
        help: ArgumentHelp(
            "Check the configuration, say what is wrong with it, and exit (0 = valid, 78 = invalid)."
        ))
    package var checkConfig = false

    package init() {}

    /// Name, help texts and `--version` of the command these arguments belong to.
    package static let command = CommandConfiguration(
        commandName: "relayd",
        abstract: "Relays an SDL head unit to apps over TCP.",
        discussion: """
            Point your SDL app at port 2776 of this machine. relayd connects it to the head unit and \
            shows the decoded traffic. Without any flag, it listens on 127.0.0.1:2776 and simulates \
            the head unit (sim:).

            EXAMPLES
              relayd
                  a simulated head unit for apps on this machine
              relayd --listen 0.0.0.0:2776
                  the same, also for phones in this network
              relayd --accessory 'serial:/dev/ttyUSB0?baud=115200'
                  a head unit on a serial line
              relayd --accessory tcp:192.168.1.20:12345 --log-function '!OnVehicleData'
                  sdl_core on another machine, without vehicle data in the log
              relayd --check-config --config ./relayd.yaml
                  only check a file

            Flags override the environment, and the environment overrides the file. The shipped file \
            lists every option with its default and its reason.

            ENVIRONMENT
              RELAYD_CONFIG          as --config
              RELAYD_ACCESSORY       as --accessory
              RELAYD_LISTEN          as --listen, with commas
              RELAYD_CONTROL_SOCKET  as --control-socket
              RELAYD_SOCKET          the same, as relayctl knows it
              RELAYD_DASHBOARD       as --dashboard
              RELAYD_LOG_FORMAT      as --log-format
              RELAYD_LOG_LEVEL       as --log-level
              RUNTIME_DIRECTORY      for the control socket (systemd)
              XDG_RUNTIME_DIR        the same for a relayd of a user
              STATE_DIRECTORY        for the dashboard's token (systemd)
              XDG_STATE_HOME         the same for a relayd of a user

            FILES
              \(Config.defaultFile)
                  the configuration
              \(ControlSocket.systemDirectory)/\(ControlSocket.fileName)
              $XDG_RUNTIME_DIR/relayd/\(ControlSocket.fileName)
              /tmp/relayd-UID/\(ControlSocket.fileName)
                  the control socket: of root, of a user with and
                  of one without a session
              $STATE_DIRECTORY/dashboard-token
              ~/.local/state/relayd/dashboard-token
                  the dashboard's token: of the service, of a user

            SIGNALS
              SIGTERM, SIGINT  stop: sessions end politely on both
                               sides; once more, half a second
                               later: end at once
              SIGHUP           read the configuration again; stop,
                               if the terminal is gone

            EXIT CODES
              0   stopped as asked, or the configuration is good
              1   anything else, such as a port that is taken
              64  the command line was not understood
              78  the configuration is not good, or names what is
                  not there, such as a group
            """,
        version: Version.current)

    /// The configuration file that will be read; `nil` means built-in defaults.
    ///
    /// A file named by flag or environment counts even if it is missing: that is an error to
    /// report. The default file counts only if it exists.
    package func configFile(
        environment: [String: String], defaultFile: String = Config.defaultFile
    ) -> String? {
        if let named = config ?? EnvironmentVariable.config.value(in: environment) { return named }
        return ConfigFile.exists(defaultFile) ? defaultFile : nil
    }

    /// Defaults, file, environment and flags, each overriding those before it; or all problems with
    /// them.
    ///
    /// - Parameter validateAccessory: says what is wrong with an accessory's address, or `nil`.
    package func effectiveConfig(
        environment: [String: String],
        validateAccessory: @escaping (String) -> String? = { _ in nil },
        defaultFile: String = Config.defaultFile
    ) throws(ConfigErrors) -> Config {
        try effective(
            environment: environment, validateAccessory: validateAccessory,
            defaultFile: defaultFile
        ).config
    }

    /// The same, with the origin of each value.
    package func effective(
        environment: [String: String],
        validateAccessory: @escaping (String) -> String? = { _ in nil },
        defaultFile: String = Config.defaultFile
    ) throws(ConfigErrors) -> EffectiveConfig {
        var builder = ConfigBuilder(validateAccessory: validateAccessory)
        let file = configFile(environment: environment, defaultFile: defaultFile)
        if let file { builder.add(file: file) }
        builder.add(environment: environment)
        builder.add(flags: self)
        return EffectiveConfig(
            try builder.finish(), origins: builder.origins, file: file.map(ConfigFile.wholePath))
    }

    /// The output of `--check-config` and its exit status. Problems that depend on the machine are
    /// warnings: a file may be checked on a different machine than the one it is for.
    package func checkConfig(
        environment: [String: String],
        validateAccessory: @escaping (String) -> String? = { _ in nil },
        defaultFile: String = Config.defaultFile
    ) -> (output: String, exitCode: Int32) {
        do throws(ConfigErrors) {
            let effective = try effective(
                environment: environment, validateAccessory: validateAccessory,
                defaultFile: defaultFile)
            let config = effective.config
            let file = configFile(environment: environment, defaultFile: defaultFile)
            if !config.rpcSpec.isEmpty {
                do throws(SpecificationFile.Failure) {
                    _ = try SpecificationFile.catalogue(at: config.rpcSpec)
                } catch {
                    return ("rpc_spec: \(error)", ConfigErrors.exitCode)
                }
            }
            if config.dashboard.enabled,
                config.dashboard.tokenFile != Config.Dashboard.ownTokenFile
            {
                do throws(DashboardToken.Failure) {
                    _ = try DashboardToken(file: config.dashboard.tokenFile)
                } catch {
                    return ("dashboard.token_file: \(error)", ConfigErrors.exitCode)
                }
            }
            let verdict = "\(file ?? "built-in defaults"): ok"
            return (([verdict] + effective.warnings).joined(separator: "\n"), 0)
        } catch {
            return (error.description, ConfigErrors.exitCode)
        }
    }
}
