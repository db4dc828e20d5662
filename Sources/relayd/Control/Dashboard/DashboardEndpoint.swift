package import ControlAPI
package import Logging
package import NIOCore
package import RelayCore

/// The dashboard's entrance to the control API: its port, what a request must carry there, and what relayctl
/// is told about both. `Daemon` creates it, `ControlServer` serves it.
package struct DashboardEndpoint: Sendable {
    /// nil if the dashboard is off, or its port is not available.
    let listener: DashboardListener?
    package let gate: RequestGate
    package let report: DashboardReport

    /// Resolves the host of an enabled dashboard without blocking the loop.
    ///
    /// - Parameter resolve: looks it up, on a thread of its own.
    /// - Returns: nil if the host is unknown or is not resolved in time, and if the dashboard is
    ///   off.
    package static func place(
        of configuration: Config.Dashboard, on loop: any EventLoop,
        resolve: @escaping @Sendable (ListenAddress) throws -> SocketAddress = HostLookup.resolve
    ) async -> SocketAddress? {
        guard configuration.enabled else { return nil }
        return try? await HostLookup.address(
            of: configuration.address, on: loop, resolve: resolve)
    }

    /// Opens the port. relayd works without it, so this does not throw: the log and `relayctl
    /// dashboard` say why the port is missing.
    ///
    /// - Parameters:
    ///   - place: the address of a host that has to be looked up (`place(of:on:)`).
    ///   - isChosen: somebody has asked for this port. If nobody has and it is taken, another one is
    ///     used: two relayds may run on one machine.
    ///   - appPorts: where apps will connect.
    ///   - stateDirectory: where the token is kept if no file is named for it; nil to not keep it.
    ///   - isTokenOfOwners: whether only the control socket's owners are told the token.
    package init(
        _ configuration: Config.Dashboard, at place: SocketAddress? = nil, isChosen: Bool = true,
        besides appPorts: [ListenAddress] = [], stateDirectory: String? = nil,
        isTokenOfOwners: Bool = true, logger: Logger
    ) {
        var token = DashboardToken()
        var listener: DashboardListener?
        var problem: String?
        if configuration.enabled {
            do {
                // The token comes first: the dashboard is not served with another token than the
                // wanted one.
                token = try DashboardToken.wanted(
                    by: configuration, stateDirectory: stateDirectory, logger)
                listener = try DashboardListener.open(
                    configuration.address, at: place, isChosen: isChosen, besides: appPorts, logger)
            } catch let error as DashboardToken.Failure {
                problem = "the dashboard is not served: dashboard.token_file: \(error)"
            } catch {
                problem = "\(error)"
            }
            if let problem { logger.error("\(problem)") }
        } else {
            problem = """
                the dashboard is off, by dashboard.enabled: false in the configuration, \
                --dashboard off or RELAYD_DASHBOARD=off; restart relayd without it, or with \
                --dashboard 127.0.0.1:2777
                """
        }
        let host = configuration.address.host
        let isWildcard = host == "0.0.0.0" || host == "::"
        gate = .port(
            isWildcard ? .anyAddress : .named(host), token,
            readsNeedToken: configuration.tokenToRead || !ListenAddress.isLoopback(host),
            isTokenOfOwners: isTokenOfOwners)
        self.listener = listener
        report = DashboardReport(
            enabled: listener != nil,
            url: listener.map {
                "http://\(ReachableAddresses.ofThisMachine.of([$0.address]).first ?? $0.address)/"
            },
            token: token.text, reason: problem)
    }

    /// For a server without a port of its own.
    static var off: DashboardEndpoint {
        var configuration = Config.Dashboard()
        configuration.enabled = false
        return DashboardEndpoint(configuration, logger: Logger(label: "dashboard"))
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.dashboard) { _, _ in try ControlResponse.json(report) }
    }
}
