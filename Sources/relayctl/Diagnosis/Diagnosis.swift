import AccessoryLinks
import ControlAPI
import SDLAdvice

/// The checks of the chain from head unit to app, in order, up to the first broken one. A pure function
/// of what relayd says; `relayctl doctor` asks and prints.
struct Diagnosis: Codable, Sendable, Equatable {
    struct Check: Codable, Sendable, Equatable {
        /// "permission", "configuration", "specification", "bluetooth", "daemon", "dashboard", "head unit" or
        /// "vehicle", "port", "app", "registration", "client" or "advice".
        var name: String
        /// "ok", "hint", "broken", or "none" when there is nothing to check, which is fine.
        var state: String
        var text: String
        var remedy: String?
    }

    /// Version of the JSON layout: 1.
    var schema = 1
    private(set) var checks: [Check] = []
    /// Name of the check that failed; left out when none failed.
    private(set) var broken: String?

    private mutating func ok(_ name: String, _ text: String) {
        checks.append(Check(name: name, state: "ok", text: text))
    }

    private mutating func hint(_ name: String, _ text: String, _ remedy: String) {
        checks.append(Check(name: name, state: "hint", text: text, remedy: remedy))
    }

    private mutating func none(_ name: String, _ text: String, _ remedy: String) {
        checks.append(Check(name: name, state: "none", text: text, remedy: remedy))
    }

    private mutating func fail(_ name: String, _ text: String, _ remedy: String) {
        checks.append(Check(name: name, state: "broken", text: text, remedy: remedy))
        broken = name
    }

    private mutating func tell(good configuration: ConfigurationCheck) {
        ok("configuration", configuration.text)
        for warning in configuration.warnings {
            hint("configuration", warning.text, warning.remedy)
        }
    }

    /// Adds what `bluetooth:` needs of this machine.
    ///
    /// - Parameter isFirst: Whether a missing requirement is the first thing that is broken.
    /// - Returns: Whether it is.
    private mutating func tell(_ bluetooth: BluetoothChecklist?, isFirst: Bool) -> Bool {
        for check in bluetooth?.checks ?? [] {
            switch check.verdict {
            case .good: ok("bluetooth", check.text)
            case .missing where isFirst:
                fail("bluetooth", check.text, check.remedy ?? "see systemctl status bluetooth")
            case .doubtful, .missing:
                hint("bluetooth", check.text, check.remedy ?? "see systemctl status bluetooth")
            }
        }
        return isFirst && bluetooth?.isMissingSomething == true
    }

    /// The diagnosis when relayd cannot be asked.
    ///
    /// - Parameters:
    ///   - configuration: What relayd would say about its configuration, if available.
    ///   - unit: What systemd knows about the unit.
    ///   - bluetooth: What the link that relayd would open needs of this machine.
    init(
        unreachable error: ControlClientError, configuration: ConfigurationCheck? = nil,
        unit: UnitReport? = nil, bluetooth: BluetoothChecklist? = nil
    ) {
        let parts = "\(error)".split(separator: "→", maxSplits: 1)
        let text = Self.oneLine(parts[0])
        let remedy = parts.dropFirst().first.map { $0.drop { $0 == " " }.description }
        if error.isMatterOfPermission {
            fail("permission", text, remedy ?? "run relayctl with sudo")
            return
        }
        if case .notRunning = error, let configuration {
            guard configuration.isGood else {
                fail(
                    "configuration",
                    "relayd is not running, and would not start: \(configuration.text)",
                    "correct it until relayd --check-config finds no mistake, then start relayd")
                return
            }
            tell(good: configuration)
        }
        if case .notRunning = error { _ = tell(bluetooth, isFirst: false) }
        if case .notRunning = error, let unit, let reason = unit.whyItDoesNotRun {
            fail("daemon", reason, unit.remedy)
            return
        }
        fail("daemon", text, remedy ?? Self.remedy(for: error))
    }

    /// Joins the lines of an error, which lists the places tried one per line, with the findings in columns.
    private static func oneLine(_ text: Substring) -> String {
        let lines = text.split(separator: "\n")
        let places = lines.dropFirst().map { $0.drop { $0 == " " }.replacing("  ", with: ": ") }
        return [String(lines.first ?? ""), places.joined(separator: "; ")].filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    /// The remedy where the error names none of its own. A relayd that is merely busy must not be
    /// restarted: its apps would lose their sessions.
    private static func remedy(for error: ControlClientError) -> String {
        switch error {
        case .notRunning, .timedOut, .brokenOff:
            "look at its log: journalctl -u relayd; then restart it"
        case .refused(_, _, let status, _, _, _) where status != 429:
            "look at its log: journalctl -u relayd"
        case .crowded, .hungUp, .refused:
            "try again in a moment; if it stays so, see who is connected: ss -xp"
        case .notRelayd:
            "give the path of relayd's socket: --socket PATH or \(ControlSocket.environmentVariable)"
        case .notUnderstood:
            "use the relayctl that came with that relayd"
        }
    }

    /// - Parameters:
    ///   - configuration: What relayd says about the file it has read, if available.
    ///   - specification: What relayd compares RPCs with.
    ///   - firewall: Name of the firewall that runs here, if one is known.
    ///   - unit: What systemd knows about the unit whose sockets apps connect to.
    ///   - bluetooth: What the link needs of this machine while it is not open.
    ///   - now: The moment that ages are measured to.
    init(
        _ status: StatusSnapshot, advice: [AdviceReport], socket: String,
        configuration: ConfigurationCheck? = nil, specification: SpecificationReport? = nil,
        firewall: String? = nil, unit: UnitReport? = nil, bluetooth: BluetoothChecklist? = nil,
        now: Timestamp = .now
    ) {
        ok("daemon", "relayd \(status.relayd.version) runs (pid \(status.relayd.pid)) on \(socket)")
        if let configuration, configuration.isGood {
            tell(good: configuration)
        } else if let configuration {
            // relayd works for now, so the configuration is not what is broken.
            hint(
                "configuration",
                "relayd runs with what it has read before; it would not start again:"
                    + " \(configuration.text)", "correct it, then: relayctl reload")
        }
        if let refused = status.relayd.refusedConfiguration {
            hint(
                "configuration",
                "the latest reload was refused, and the previous configuration stays in force: \(refused)",
                "correct it, then: relayctl reload")
        }
        if let specification, let problem = specification.problem {
            hint(
                "specification",
                "relayd compares RPCs with its built-in specification \(specification.version),"
                    + " not with the one rpc_spec names: \(problem)",
                "correct the file or rpc_spec, then restart relayd")
        }
        if let problem = status.recordingProblem {
            hint(
                "recording", "record.always is true, and nothing is recorded: \(problem)",
                "relayd tries again by itself; relayctl record status shows whether it records")
        }
        if let url = status.relayd.dashboardURL {
            ok("dashboard", "\(url) shows all of this live; relayctl dashboard --open opens it")
        }
        guard !tell(bluetooth, isFirst: true) else { return }
        guard checkHeadUnit(status.accessory, now) else { return }
        let isVehicle = status.accessory.spoken == .openxc
        guard checkPort(status.server, firewall, unit, isVehicle: isVehicle) else { return }
        guard !isVehicle else {
            checkClients(status)
            return
        }
        let connected = Set(status.apps.map(\.id))
        // Advice that is over, or about an app that left, does not describe this chain.
        let current = advice.filter { advice in
            advice.isCurrentWarning(at: now) && advice.app.map(connected.contains) ?? true
        }
        guard checkApps(status, current) else { return }
        for advice in current.prefix(Self.advicePieces) {
            hint("advice", Self.sentence(advice, now), Self.remedy(of: advice))
        }
    }

    private static func sentence(_ advice: AdviceReport, _ now: Timestamp) -> String {
        let app = (advice.appName ?? advice.app.map { "#\($0)" }).map { "\($0): " } ?? ""
        let age = Units.duration(seconds: now.seconds(since: advice.lastAt))
        let times = advice.count > 1 ? "\(advice.count)×, last \(age) ago" : "\(age) ago"
        return "\(app)\(advice.text) (\(times))"
    }

    private static func remedy(of advice: AdviceReport) -> String {
        "\(advice.remedy) (relayctl explain \(advice.code))"
    }

    /// Number of pieces of advice shown, the latest ones; relayctl advice has them all.
    private static let advicePieces = 3

    private mutating func checkHeadUnit(_ accessory: AccessoryStatus, _ now: Timestamp) -> Bool {
        let isVehicle = accessory.spoken == .openxc
        let name = isVehicle ? "vehicle" : "head unit"
        guard accessory.state == .open else {
            let reason = accessory.reason
            fail(
                name,
                "\(accessory.address) is not open"
                    + (reason.map { ": \($0.message)" } ?? " (\(accessory.state.words))"),
                reason?.remedy ?? "wait a moment, then ask again; relayd is opening it")
            return false
        }
        if let hint = accessory.hint {
            fail(
                name, hint,
                (isVehicle
                    ? "connect an OpenXC vehicle interface" : "connect the head unit's SDL port")
                    + ", and check baud and address")
            return false
        }
        if let off = accessory.saidOff {
            let age = accessory.saidOffAt.map { Units.duration(seconds: now.seconds(since: $0)) }
            fail(
                name,
                "\(accessory.address) is open, but the head unit said \(off) "
                    + "\(age ?? "some time") ago and has answered nothing since",
                "switch the head unit on; if it is on: relayctl reopen")
            return false
        }
        ok(name, "\(accessory.address) is open" + (accessory.name.map { " (\($0))" } ?? ""))
        return true
    }

    private mutating func checkPort(
        _ server: ServerStatus, _ firewall: String?, _ unit: UnitReport?, isVehicle: Bool
    ) -> Bool {
        let apps = isVehicle ? "clients" : "apps"
        guard server.state == .listening else {
            let isOff = server.state == .off
            fail(
                "port", "\(apps) cannot connect" + (server.reason.map { ": \($0)" } ?? ""),
                isOff ? "relayctl server on" : "free the port, then: relayctl server on")
            return false
        }
        let port = server.endpoints.first.flatMap { $0.split(separator: ":").last } ?? "2776"
        let places = server.endpoints.joined(separator: ", ")
        let isLocal = server.endpoints.allSatisfy {
            $0.hasPrefix("127.") || $0.hasPrefix("[::1]") || $0.hasPrefix("/")
        }
        let filtered = server.endpoints.filter { unit?.filter?.keepsOut(endpoint: $0) == true }
        if let unit, !filtered.isEmpty {
            let network = filtered.first ?? ""
            hint(
                "port",
                "\(apps) can connect to \(places), but not from the network of "
                    + "\(filtered.joined(separator: ", ")): \(unit.name) admits only this machine and "
                    + "the networks in its IPAddressAllow=, and does not report what it blocks",
                "to let \(apps) in from there: sudo systemctl edit \(unit.name), add "
                    + "[\(unit.section)] and IPAddressAllow=NETWORK (such as that of \(network)), "
                    + "then restart it")
        } else if isLocal {
            hint(
                "port", "\(apps) can connect to \(places): only \(apps) on this machine",
                "for others: \(Self.opening(port, unit, isVehicle: isVehicle)), or "
                    + "ssh -L \(port):127.0.0.1:\(port) from there"
            )
        } else if let firewall {
            hint(
                "port", "\(apps) can connect to \(places); \(firewall) runs here",
                firewall == "ufw"
                    ? "if nobody gets through: sudo ufw allow \(port)/tcp"
                    : "if nobody gets through: sudo firewall-cmd --add-port=\(port)/tcp")
        } else {
            ok("port", "\(apps) can connect to \(places)")
        }
        return true
    }

    /// How to let apps on other machines in. Starting another relayd would not help where systemd runs
    /// this one.
    private static func opening(
        _ port: some StringProtocol, _ unit: UnitReport?, isVehicle: Bool
    ) -> String {
        guard let unit else { return "relayd --listen 0.0.0.0:\(port)" }
        return unit.section == "Socket"
            ? "sudo systemctl edit \(unit.name), add ListenStream=0.0.0.0:\(port) below [Socket], "
                + "restart it"
            : "\(isVehicle ? "openxc." : "")listen: [\"0.0.0.0:\(port)\"] in its configuration, then relayctl reload"
    }

    /// Advice that may explain why an app is not registered. Other advice about the app may be true as
    /// well, but is not the remedy for that.
    private static let registrationCodes: Set<String> = Set(
        [
            AdviceCode.startUnanswered, .startRefused, .ackMissingKeys, .ackWrongType, .ackTooLarge,
            .duplicateAppName, .duplicateAppID, .registeredTwice, .registrationRefused,
            .notRegistered, .unregistered, .appStalled, .appNotReading, .notAnRPC, .foreignSession,
            .heartbeatUnanswered,
        ].map(\.rawValue))

    private mutating func checkApps(_ status: StatusSnapshot, _ advice: [AdviceReport]) -> Bool {
        let endpoint = status.server.endpoints.first ?? "relayd"
        guard !status.apps.isEmpty else {
            let gone = status.recentDepartures.first.map { "; the last one left: \($0.reason)" }
            none(
                "app", "no app is connected" + (gone ?? ""),
                "point your app at \(endpoint), or try: relayctl sample-app")
            return true
        }
        ok("app", "\(Units.count(status.apps.count, "app")) connected")
        guard let stuck = status.apps.first(where: { $0.state != .registered }) else {
            ok("registration", "all of them are registered")
            return true
        }
        let name = stuck.appName ?? "app #\(stuck.id)"
        fail(
            "registration",
            "\(name) is not registered (\(stuck.state.words))"
                + (stuck.lastProblem.map { ": \($0)" } ?? ""),
            advice.first { $0.app == stuck.id && Self.registrationCodes.contains($0.code) }
                .map(Self.remedy)
                ?? "see what it says: relayctl tail --app '#\(stuck.id)' -n 20")
        return false
    }

    /// Checks the clients of a vehicle interface. They need not send anything, so none of them counts as
    /// stuck.
    private mutating func checkClients(_ status: StatusSnapshot) {
        let endpoint = status.server.endpoints.first ?? "relayd"
        guard !status.apps.isEmpty else {
            return none(
                "client", "no client is connected",
                "point your program at \(endpoint), or see what the vehicle says: relayctl vi watch"
            )
        }
        ok("client", "\(Units.count(status.apps.count, "client")) connected")
        for client in status.apps {
            guard let problem = client.lastProblem else { continue }
            hint(
                "client", "client #\(client.id): \(problem)", "see it with: relayctl vi clients")
        }
    }

    // MARK: For people

    func text(width: Int, style: Style) -> String {
        var lines: [String] = []
        for check in checks {
            let (mark, look): (String, Style.Look) =
                switch check.state {
                case "ok": ("✓", .green)
                case "hint": ("!", .yellow)
                case "none": ("–", .dim)
                default: ("✗", .red)
                }
            let words = Paragraph.words(
                SafeText.line(check.text), used: Self.indent, width: width, indent: Self.indent)
            lines.append(
                style(look, mark) + " " + style(.bold, check.name.padded(to: Self.indent - 2))
                    + words[0])
            lines += words.dropFirst()
            if let remedy = check.remedy {
                lines += RemedyText.lines(remedy, width: width, indent: Self.indent)
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Width of the mark, the longest name and the gaps.
    private static let indent = 16
}
