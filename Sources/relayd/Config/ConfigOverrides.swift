// What environment and flags may change, and in which order: flags override the environment, which
// overrides the file. Called by `Arguments.effectiveConfig`.

/// The environment variables relayd reads. An empty variable counts as not set.
package enum EnvironmentVariable: String, CaseIterable {
    case config = "RELAYD_CONFIG"
    case accessory = "RELAYD_ACCESSORY"
    /// Several addresses, separated by commas.
    case listen = "RELAYD_LISTEN"
    case controlSocket = "RELAYD_CONTROL_SOCKET"
    /// The name relayctl knows; `RELAYD_CONTROL_SOCKET` wins where both are set.
    case socket = "RELAYD_SOCKET"
    case logFormat = "RELAYD_LOG_FORMAT"
    case logLevel = "RELAYD_LOG_LEVEL"
    /// The dashboard's address, which switches it on, or `off`.
    case dashboard = "RELAYD_DASHBOARD"

    /// The variable's value, unless it is missing or empty.
    package func value(in environment: [String: String]) -> String? {
        environment[rawValue].flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension Config.Dashboard {
    /// Whether somebody chose this address. The shipped file also names the built-in address, so there it
    /// does not count as a choice.
    ///
    /// - Parameter origin: where it was set last.
    package func isChosen(_ origin: ConfigOrigin?) -> Bool {
        switch origin {
        case .flag, .environment: true
        case .file, .wholeFile, nil: address != Config.Dashboard().address
        }
    }
}

extension ConfigBuilder {
    package mutating func add(environment: [String: String]) {
        let controlSocket: EnvironmentVariable =
            EnvironmentVariable.controlSocket.value(in: environment) == nil
            ? .socket : .controlSocket
        for (variable, path) in [
            (EnvironmentVariable.accessory, "accessory"), (.listen, "listen"),
            (controlSocket, "control.socket"), (.logFormat, "log.format"),
            (.logLevel, "log.level"), (.dashboard, "dashboard"),
        ] {
            guard let text = variable.value(in: environment) else { continue }
            let origin = ConfigOrigin.environment(variable.rawValue)
            if variable == .dashboard {
                setDashboard(text, from: origin)
            } else if variable == .listen {
                let addresses = text.split(separator: ",", omittingEmptySubsequences: false)
                setListen(addresses.map(Self.trimmed), from: origin)
            } else {
                set(path, to: ConfigValue(.scalar(text, quoted: false), at: origin))
            }
        }
    }

    package mutating func add(flags: Arguments) {
        for (flag, path, text) in [
            ("--accessory", "accessory", flags.accessory),
            ("--pty", "openxc.pty", flags.pty),
            ("--control-socket", "control.socket", flags.controlSocket),
            ("--log-format", "log.format", flags.logFormat),
            ("--log-level", "log.level", flags.logLevel),
            ("--log-filter", "log.filter", flags.logFilter),
        ] {
            guard let text else { continue }
            set(path, to: ConfigValue(.scalar(text, quoted: false), at: .flag(flag)))
        }
        if let text = flags.dashboard { setDashboard(text, from: .flag("--dashboard")) }
        if !flags.listen.isEmpty { setListen(flags.listen, from: .flag("--listen")) }
        for (flag, path, texts) in [
            ("--log-app", "log.apps", flags.logApp),
            ("--log-function", "log.functions", flags.logFunction),
            ("--log-service", "log.services", flags.logService),
        ] where !texts.isEmpty {
            set(path, toList: texts, from: .flag(flag))
        }
    }

    /// Naming an address also switches the dashboard on; `off` switches it off.
    private mutating func setDashboard(_ text: String, from origin: ConfigOrigin) {
        let isOn = text != "off"
        set(
            "dashboard.enabled",
            to: ConfigValue(.scalar(isOn ? "true" : "false", quoted: false), at: origin))
        if isOn {
            set("dashboard.address", to: ConfigValue(.scalar(text, quoted: false), at: origin))
        }
    }

    /// Sets where users of the accessory connect: apps, or clients of a vehicle interface.
    private mutating func setListen(_ texts: [String], from origin: ConfigOrigin) {
        set("listen", and: ["openxc.listen"], to: Self.list(texts, from: origin))
    }

    private mutating func set(_ path: String, toList texts: [String], from origin: ConfigOrigin) {
        set(path, to: Self.list(texts, from: origin))
    }

    private static func list(_ texts: [String], from origin: ConfigOrigin) -> ConfigValue {
        let values = texts.map { ConfigValue(.scalar($0, quoted: false), at: origin) }
        return ConfigValue(.list(values), at: origin)
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " }
        let end = start.lastIndex { $0 != " " }
        return end.map { String(start[...$0]) } ?? ""
    }
}
