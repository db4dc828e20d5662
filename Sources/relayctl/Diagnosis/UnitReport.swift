import ControlAPI
import Glibc

/// What systemd knows about relayd's unit (systemctl(1), "show"): why it does not run, and which
/// addresses it lets in. Used by `relayctl doctor` and `relayctl bugreport`.
struct UnitReport: Sendable, Equatable {
    /// Such as "relayd@left.service".
    var name: String
    private var properties: [String: String]

    /// - Parameter text: Lines of NAME=value; nil when systemd does not know the unit.
    init?(name: String, show text: String) {
        self.name = name
        var properties: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { properties[String(parts[0])] = String(parts[1]) }
        }
        guard properties["LoadState"] == "loaded" else { return nil }
        self.properties = properties
    }

    /// Environment variable that passes the unit's name to the shell, so that no character in it has a
    /// special meaning.
    private static let variable = "RELAYCTL_UNIT"
    private static let command =
        "exec systemctl show --property=LoadState,ActiveState,SubState,Result,StatusText,NRestarts,"
        + "MainPID,IPAddressAllow,IPAddressDeny -- \"$\(variable)\" 2>/dev/null"

    /// Asks systemd; returns nil when there is no systemd or no such unit.
    static func ask(_ name: String) -> UnitReport? {
        setenv(variable, name, 1)
        return CommandOutput.of(command).flatMap { UnitReport(name: name, show: $0) }
    }

    /// The unit whose addresses apps connect to; nil when relayd does not run as a unit of this machine.
    static func running(_ status: StatusSnapshot) -> UnitReport? {
        guard let service = status.relayd.unit, let report = ask(service),
            report.properties["MainPID"] == "\(status.relayd.pid)"
        else { return nil }
        guard status.server.inherited == true else { return report }
        return ask(String(service.dropLast(".service".count)) + ".socket")
    }

    /// The unit that serves a control socket, derived from the socket's path.
    static func name(ofSocket path: String?) -> String {
        let start = "/run/relayd-"
        guard let path, path.hasPrefix(start), path.hasSuffix("/relayd.sock") else {
            return "relayd.service"
        }
        return "relayd@\(path.dropFirst(start.count).prefix { $0 != "/" }).service"
    }

    /// The section of the unit file that contains the addresses.
    var section: String { name.hasSuffix(".socket") ? "Socket" : "Service" }

    /// relayd's last status text and systemd's verdict; nil when the unit has not failed.
    var whyItDoesNotRun: String? {
        let said = properties["StatusText"].flatMap { $0.isEmpty ? nil : ": \($0)" } ?? ""
        switch (properties["ActiveState"], properties["SubState"]) {
        case ("failed", _):
            return "\(name) has failed (\(properties["Result"] ?? "?"))\(said)"
        case ("activating", "auto-restart"):
            return "\(name) does not start, and systemd keeps trying\(said)"
        default: return nil
        }
    }

    var remedy: String {
        properties["ActiveState"] == "failed"
            ? "correct that, then: sudo systemctl reset-failed \(name); sudo systemctl start \(name)"
            : "fix that; systemd keeps restarting it for a while"
    }

    /// The addresses that get through; nil when all do.
    var filter: AddressFilter? {
        guard let denied = properties["IPAddressDeny"], !denied.isEmpty else { return nil }
        return AddressFilter(allow: properties["IPAddressAllow"] ?? "", deny: denied)
    }
}

/// The effect of IPAddressAllow= and IPAddressDeny= (systemd.resource-control(5)): addresses in the first
/// list get through, and others unless they are in the second list.
struct AddressFilter: Sendable, Equatable {
    private struct Network: Sendable, Equatable {
        var bytes: [UInt8]
        var prefix: Int

        init?(_ text: Substring) {
            let parts = text.split(separator: "/")
            guard let host = parts.first, let bytes = AddressFilter.bytes(of: String(host)) else {
                return nil
            }
            let prefix = parts.count > 1 ? Int(parts[1]) : bytes.count * 8
            guard let prefix, (0...bytes.count * 8).contains(prefix) else { return nil }
            self.bytes = bytes
            self.prefix = prefix
        }

        func contains(_ address: [UInt8]) -> Bool {
            guard address.count == bytes.count else { return false }
            for index in bytes.indices {
                let bits = min(max(prefix - index * 8, 0), 8)
                let mask = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
                if bytes[index] & mask != address[index] & mask { return false }
            }
            return true
        }
    }

    private let allow: [Network]
    private let deny: [Network]

    /// - Parameters:
    ///   - allow: Networks separated by blanks, as systemctl shows them.
    ///   - deny: The same.
    init(allow: String, deny: String) {
        self.allow = allow.split(separator: " ").compactMap(Network.init)
        self.deny = deny.split(separator: " ").compactMap(Network.init)
    }

    /// Whether neighbours of an endpoint such as "203.0.113.7:2776" are kept out.
    func keepsOut(endpoint: String) -> Bool {
        guard let colon = endpoint.lastIndex(of: ":") else { return false }
        // [fe80::1%eth0]:2776
        let host = endpoint[..<colon].drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" }
        guard let address = Self.bytes(of: String(host)) else { return false }
        return !allow.contains { $0.contains(address) } && deny.contains { $0.contains(address) }
    }

    private static func bytes(of host: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, host, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return inet_pton(AF_INET6, host, &bytes) == 1 ? bytes : nil
    }
}
