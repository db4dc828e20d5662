package import ControlAPI
import Glibc
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
    /// - Parameters:
    ///   - place: the address behind a host that has to be looked up (`place(of:on:)`).
    ///   - isChosen: somebody has asked for this port. If nobody has and it is taken, another one is
    ///     used: two relayds may run on one machine.
    ///   - appPorts: where apps will connect.
    ///   - stateDirectory: where a token is kept that nobody has named a file for; nil for one that is not
    ///     kept.
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
                // First: what would be served with another token than the wanted one is not served.
                token = try Self.token(configuration, stateDirectory, logger)
                listener = try Self.listener(
                    configuration.address, at: place, isChosen, besides: appPorts, logger)
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
            readsNeedToken: configuration.tokenToRead || !Self.isLoopback(host),
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
    static var off: Dashboard {
        var configuration = Config.Dashboard()
        configuration.enabled = false
        return Dashboard(configuration, logger: Logger(label: "dashboard"))
    }

    /// A file that somebody has named must be usable. If relayd's own is not, the page is served all the
    /// same, with a token for this start.
    private static func token(
        _ configuration: Config.Dashboard, _ directory: String?, _ logger: Logger
    ) throws(DashboardToken.Failure) -> DashboardToken {
        guard configuration.tokenFile == Config.Dashboard.ownTokenFile else {
            return try DashboardToken(file: configuration.tokenFile)
        }
        guard let directory else {
            logger.warning(
                """
                the dashboard's token is for this start only: HOME, XDG_STATE_HOME and STATE_DIRECTORY name \
                no directory to keep one in; set one of them, or name a file with dashboard.token_file, and \
                restart relayd
                """)
            return DashboardToken()
        }
        do throws(DashboardToken.Failure) {
            return try TokenFile(in: directory).token()
        } catch {
            logger.warning(
                """
                the dashboard's token is for this start only: \(error); correct that, or name a \
                file with dashboard.token_file, and restart relayd
                """)
            return DashboardToken()
        }
    }

    private static func listener(
        _ address: ListenAddress, at place: SocketAddress?, _ isChosen: Bool,
        besides appPorts: [ListenAddress], _ logger: Logger
    ) throws(DashboardListenerError) -> DashboardListener {
        if isChosen { return try open(address, at: place) }
        if !appPorts.contains(where: { $0.overlaps(address) }) {
            do throws(DashboardListenerError) {
                return try open(address, at: place)
            } catch {
                guard error.errno == EADDRINUSE else { throw error }
            }
        }
        let listener = try open(ListenAddress(host: address.host, port: 0))
        logger.info(
            "the dashboard is on port \(listener.address.port): \(address.port) is taken")
        return listener
    }

    private static func open(
        _ address: ListenAddress, at place: SocketAddress? = nil
    ) throws(DashboardListenerError) -> DashboardListener {
        try DashboardListener(address, at: place ?? HostLookup.known(address))
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
