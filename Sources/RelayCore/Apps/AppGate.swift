import Glibc
import Logging
import NIOCore

/// Turns connections into apps, and tells those for which there is no room why. Everything here is called on
/// the hub's loop.
final class AppGate {
    private unowned let hub: Switchboard
    private let logger: Logger
    private var admission: AppAdmission
    private let spares = SpareDescriptors()
    private var lastID: UInt64 = 0
    /// Connections that are apps, from accept to the end of their sockets.
    private var admitted = 0
    /// Connections that are being refused in words.
    private var surplus = 0
    /// Connections that were turned away.
    private(set) var refused: UInt64 = 0
    /// Limits how often the log tells of those who run into a limit, by limit.
    private var lines: [RelayLimit: LineLimiter] = [:]
    private var isClosed = false

    init(hub: Switchboard, configuration: RelayConfiguration, logger: Logger) {
        self.hub = hub
        self.logger = logger
        admission = AppAdmission(configuration: configuration)
    }

    /// Applies from the next connection on; existing connections stay.
    func reconfigure(_ configuration: RelayConfiguration) {
        admission.reconfigure(configuration)
    }

    /// Lets no more connections in.
    func close() { isClosed = true }

    /// Whether no app is connected, not even one whose end is still being delivered.
    var isEmpty: Bool { admitted == 0 }

    // MARK: - A new connection

    /// Sets up the pipeline of a connection.
    ///
    /// - Parameters:
    ///   - entrance: where the connection came in, as the configuration names it.
    ///   - name: what to call the app; nil for its address.
    /// - Returns: The app's number; nil when the connection does not become an app.
    @discardableResult
    func accept(
        _ channel: any Channel, at entrance: String = "", as name: String? = nil
    ) throws -> AppID? {
        let now = hub.loop.now
        let peer = channel.remoteAddress.flatMap(PeerAddress.init)
        let decision = admission.decide(about: peer, apps: admitted, surplus: surplus, at: now)
        guard !isClosed else {
            channel.close(promise: nil)
            return nil
        }
        switch decision {
        case .admit:
            return try admit(channel, at: entrance, as: name ?? Self.peerName(channel))
        case .surplus:
            tell(refused: channel, at: now, .maximumApps, tooManyApps)
            try refuse(channel)
        case .refuse(let refusal):
            let (limit, reason) = describe(refusal)
            tell(refused: channel, at: now, limit, reason)
            channel.close(promise: nil)
        }
        return nil
    }

    private func admit(
        _ channel: any Channel, at entrance: String, as name: String
    ) throws -> AppID {
        lastID += 1
        let app = AppConnection(
            id: AppID(rawValue: lastID), peer: name, entrance: entrance, connectedAt: .now(),
            hub: hub)
        try channel.pipeline.syncOperations.addHandler(app)
        admitted += 1
        // The hub lives as long as its apps.
        channel.closeFuture.assumeIsolated().whenComplete { [hub] _ in
            self.admitted -= 1
            hub.finishIfAllIsSaid()
        }
        return app.id
    }

    private func refuse(_ channel: any Channel) throws {
        let handler = hub.language.refusal("relayd: \(tooManyApps)")
        try channel.pipeline.syncOperations.addHandler(handler)
        surplus += 1
        channel.closeFuture.assumeIsolated().whenComplete { _ in self.surplus -= 1 }
    }

    // MARK: - Words

    private var tooManyApps: String {
        let maximum = hub.configuration.maximumApps
        let apps = maximum == 1 ? "1 app is" : "\(maximum) apps are"
        return "\(apps) connected already (apps.maximum)"
    }

    private func describe(_ refusal: AppAdmission.Refusal) -> (RelayLimit, String) {
        switch refusal {
        case .notAllowed:
            let networks = hub.configuration.allowedNetworks.map(\.description)
            return (
                .allow,
                "its address is in none of the networks that may connect (apps.allow: "
                    + "\(networks.joined(separator: ", "))); add its network there to let it in"
            )
        case .tooFast:
            return (
                .connectionsPerSecond,
                "its address makes more than \(hub.configuration.connectionsPerSecond) connections "
                    + "a second (apps.connections_per_second); see what keeps reconnecting there"
            )
        case .tooMany:
            return (.maximumApps, tooManyApps + ", and \(surplus) more are being refused")
        }
    }

    private func tell(
        refused channel: any Channel, at now: NIODeadline, _ limit: RelayLimit, _ reason: String
    ) {
        refused += 1
        hub.countHit(of: limit, at: .now())
        guard let withheld = lines[limit, default: LineLimiter()].allow(at: now) else { return }
        logger.warning(
            "connection refused: \(reason)\(LineLimiter.more(withheld))",
            metadata: ["peer": "\(Self.peerName(channel))"])
    }

    private static func peerName(_ channel: any Channel) -> String {
        guard let address = channel.remoteAddress, let port = address.port else { return "local" }
        let host = address.ipAddress ?? "?"
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    // MARK: - When the system has no more to give

    /// Looks after a listening socket.
    func guardListener(_ channel: any Channel) throws {
        _ = spares.take()
        try channel.pipeline.syncOperations.addHandler(
            AcceptGuard(spares: spares) { [unowned self] error in exhausted(error) })
    }

    /// accept(2) fails for want of descriptors or memory; the guard of the listening socket tries
    /// again by itself.
    private func exhausted(_ error: IOError) {
        hub.countHit(of: .descriptors, at: .now())
        guard lines[.descriptors, default: LineLimiter()].allow(at: hub.loop.now) != nil else {
            return
        }
        let remedy =
            error.errnoCode == EMFILE
            ? "raise LimitNOFILE= in the systemd unit, or ulimit -n"
            : "the machine itself is short of them; see what else runs on it"
        logger.warning(
            """
            no app can connect at the moment: \(String(cString: strerror(error.errnoCode))). \
            Apps that are connected stay, others wait; \(remedy)
            """)
    }
}
