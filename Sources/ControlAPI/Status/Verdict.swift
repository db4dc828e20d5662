/// Whether all is well, in one word.
package struct Health: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The accessory is open and apps can connect. This does not depend on the apps themselves: an idle
    /// bench is healthy.
    package static let ok = Health(rawValue: "ok")
    /// The accessory is not open, the head unit said that it is off, or no app can connect.
    package static let notConnected = Health(rawValue: "not_connected")
}

/// The one place that judges a status, so that systemd's status line, `GET /v1/health`, relayctl's exit
/// code and people reading the JSON all get the same result.
package struct Verdict: Sendable, Equatable {
    package let health: Health
    /// One sentence without line breaks: head unit, apps, server.
    package let summary: String

    package init(accessory: AccessoryStatus, server: ServerStatus, apps: [AppStatus]) {
        let isThere = accessory.state == .open && accessory.saidOff == nil
        health = isThere && server.state == .listening ? .ok : .notConnected
        let client = accessory.spoken.client
        summary = [Self.unit(accessory), Self.apps(apps, client), Self.server(server, client)]
            .joined(separator: ", ")
            .split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    private static func unit(_ accessory: AccessoryStatus) -> String {
        let unit = accessory.spoken.accessory
        switch accessory.state {
        case .open:
            guard let off = accessory.saidOff else {
                return "\(unit) open (\(accessory.address))"
            }
            return "the head unit said \(off) (\(accessory.address))"
        case .opening: return "opening the \(unit) (\(accessory.address))"
        case .listening: return "waiting for the \(unit) to connect (\(accessory.address))"
        case .closed: return "\(unit) closed (\(accessory.address))"
        case .waiting:
            let why = accessory.reason.map { ": \($0.message) → \($0.remedy)" } ?? ""
            return "waiting for the \(unit) (\(accessory.address)\(why))"
        default: return "\(unit) \(accessory.state) (\(accessory.address))"
        }
    }

    private static func apps(_ apps: [AppStatus], _ client: String) -> String {
        let registered = apps.count(where: { $0.state == .registered })
        let word = apps.count == 1 ? client : "\(client)s"
        if apps.isEmpty { return "no \(client) connected" }
        if registered == apps.count { return "\(apps.count) \(word) registered" }
        if registered == 0 { return "\(apps.count) \(word) connected" }
        return "\(registered) of \(apps.count) \(word) registered"
    }

    private static func server(_ server: ServerStatus, _ client: String) -> String {
        guard server.state == .listening else {
            return "not listening for \(client)s" + (server.reason.map { ": \($0)" } ?? "")
        }
        guard let first = server.endpoints.first else { return "listening" }
        let others = server.endpoints.count - 1
        let more = others == 0 ? "" : " and \(others) other address\(others == 1 ? "" : "es")"
        return "listening on \(first)\(more)"
    }
}
