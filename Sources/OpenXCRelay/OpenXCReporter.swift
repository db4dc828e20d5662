import Logging
import OpenXCProtocol
import RelayCore

/// Logs what the clients of a shared vehicle interface do. Every write is logged; a client's refused attempts
/// are logged the first time and then at every power of two.
struct OpenXCReporter {
    private unowned let hub: Switchboard

    init(_ hub: Switchboard) {
        self.hub = hub
    }

    /// - Parameter client: Nil when it is a request of the control API, or has left.
    func say(_ note: Note<AppID>, _ client: AppConnection?) {
        let who = whose(note.client, client)
        switch note {
        case .written(_, let message):
            hub.logger.notice("written to the vehicle: \(message.json)", metadata: who)
        case .writeRefused(_, let message):
            inVain(client, who, .warning) {
                "a write to the vehicle is refused: \(message.json); openxc.writes does not allow it"
            }
        case .nobodyThere(_, let message):
            inVain(client, who, .info) { "no vehicle interface is connected for \(message.json)" }
        case .tooManyCommands(_, let message):
            inVain(client, who, .warning) {
                "too many commands wait for an answer; left out: \(message.json)"
            }
        case .notForVehicle(_, let message):
            inVain(client, who, .info) {
                "not something that a vehicle interface accepts: \(message.json)"
            }
        case .unsafe(_, let message, let hazard):
            inVain(client, who, .warning) {
                "not passed on: \(hazard.description): \(message.json)"
            }
        case .unanswered(_, let command):
            hub.logger.info(
                "the vehicle interface has not answered \(command.word)", metadata: who)
        }
    }

    func cannotBeSaid(_ message: VehicleMessage) {
        hub.logger.info("protobuf cannot express \(message.json)")
    }

    /// - Parameter text: Evaluated only when logged: a client may cause thousands of refusals a second. The
    ///   status shows what was logged last.
    private func inVain(
        _ client: AppConnection?, _ who: Logger.Metadata, _ level: Logger.Level,
        _ text: () -> String
    ) {
        guard let client else {
            if !who.isEmpty { hub.logger.log(level: level, "\(text())", metadata: who) }
            return
        }
        client.refusals &+= 1
        guard HubReporter.isWorthALine(client.refusals) else { return }
        let text = text()
        client.lastProblem = text
        hub.logger.log(level: level, "\(text)", metadata: who)
    }

    private func whose(_ id: AppID, _ client: AppConnection?) -> Logger.Metadata {
        if id.isVehicleGuest { return ["by": "the control API"] }
        return client.map { ["app": "\($0.id)", "peer": "\($0.peer)"] } ?? [:]
    }
}

extension Note {
    package var client: Client {
        switch self {
        case .written(let client, _), .writeRefused(let client, _), .nobodyThere(let client, _),
            .tooManyCommands(let client, _), .notForVehicle(let client, _),
            .unanswered(let client, _), .unsafe(let client, _, _):
            client
        }
    }
}

/// Parses the peer names that the hub writes, an address and a port.
enum PeerName {
    /// The address in `127.0.0.1:5123` or `[::1]:5123`.
    static func address(of peer: String) -> PeerAddress? {
        guard let colon = peer.lastIndex(of: ":") else { return nil }
        let host = peer[..<colon].drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" }
        return PeerAddress(parsing: String(host))
    }
}
