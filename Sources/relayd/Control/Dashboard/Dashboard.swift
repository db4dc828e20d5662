package import ControlAPI
package import Logging
package import NIOCore
package import RelayCore

/// The dashboard of one running relayd: where it is, its token, and what relayctl is told about it.
/// `Daemon` makes it, `ControlServer` serves it.
package struct Dashboard: Sendable {
    /// nil when it is off, or its port cannot be had.
    let listener: DashboardListener?
    package let gate: RequestGate
    package let report: DashboardReport

    /// The address behind the host of a dashboard that is on, without holding up the loop.
    ///
    /// - Parameter resolve: asks for it, on a thread of its own.
    /// - Returns: nil when nobody knows the host, or says so in time, and when the dashboard is off.
    package static func place(
        of configuration: Config.Dashboard, on loop: any EventLoop,
        resolve: @escaping @Sendable (ListenAddress) throws -> SocketAddress = HostLookup.resolve
    ) async -> SocketAddress? {
        guard configuration.enabled else { return nil }
        return try? await HostLookup.address(
            of: configuration.address, on: loop, resolve: resolve)
    }

    /// Opens the port. Without it relayd relays all the same, so this does not throw: the log and
    /// `relayctl dashboard` say why it is not there.
    ///
    /// - Parameter place: the address behind a host that has to be looked up (`place(of:on:)`).
    package init(
        _ configuration: Config.Dashboard, at place: SocketAddress? = nil, logger: Logger
    ) {
        var token = DashboardToken()
        var listener: DashboardListener?
        var problem: String?
        if configuration.enabled {
            do {
                // First: what would be served with another token than the wanted one is not served.
                token = try DashboardToken(file: configuration.tokenFile)
                listener = try DashboardListener(
                    configuration.address, at: place ?? HostLookup.known(configuration.address))
            } catch let error as DashboardToken.Failure {
                problem = "the dashboard is not served: dashboard.token_file: \(error)"
            } catch {
                problem = "\(error)"
            }
            if let problem { logger.error("\(problem)") }
        } else {
            problem = """
                the dashboard is off; set enabled: true in the section dashboard: of the \
                configuration and restart relayd, or start it with --dashboard 127.0.0.1:2777
                """
        }
        let host = configuration.address.host
        let isWildcard = host == "0.0.0.0" || host == "::"
        gate = .port(
            isWildcard ? .anyAddress : .named(host), token,
            readsNeedToken: configuration.tokenToRead || !Self.isLoopback(host))
        self.listener = listener
        report = DashboardReport(
            enabled: listener != nil,
            url: listener.map {
                "http://\(ReachableAddresses.ofThisMachine.of([$0.address]).first ?? $0.address)/"
            },
            token: token.text, reason: problem)
    }

    /// For a server without a port of its own.
    static var off: Dashboard {
        Dashboard(Config.Dashboard(), logger: Logger(label: "dashboard"))
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.dashboard) { _, _ in try ControlResponse.json(report) }
    }

    /// Whether only users of this machine can reach the address.
    package static func isLoopback(_ host: String) -> Bool {
        // The name may have another address in /etc/hosts; then it is somebody's wish.
        host == "localhost" || host == "::1" || host.hasPrefix("127.") && isAddress(host)
    }

    private static func isAddress(_ host: String) -> Bool {
        (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }
}
