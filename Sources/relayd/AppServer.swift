// The switch that lets apps connect: what the iOS Relay app has as its big button. Opened by
// `Daemon`, switched by the control API, stopped by `RelayService`.

import ControlAPI
import RelayCore

/// Where apps connect, as the status shows it.
enum ServerCondition: Sendable {
    case listening([ListenAddress])
    case off
    /// It was to listen and could not.
    case failed(String)
}

/// Opens and closes the port apps connect to.
actor AppServer {
    /// Opens these addresses, or none.
    typealias Opening = @Sendable ([ListenAddress]) async throws -> AppListener

    private let relay: Relay
    private let open: Opening
    private let report: @Sendable (ServerCondition) -> Void
    /// Where the sockets really are: when they are opened again, apps find them where they were.
    private var addresses: [ListenAddress]
    private var listener: AppListener?
    private var isChanging = false
    private var isStopped = false

    /// - Parameters:
    ///   - report: Gets every change, in order.
    init(
        _ addresses: [ListenAddress], relay: Relay, open: @escaping Opening,
        report: @escaping @Sendable (ServerCondition) -> Void
    ) {
        self.relay = relay
        self.open = open
        self.report = report
        self.addresses = addresses
    }

    /// Lets apps connect for the first time.
    ///
    /// - Returns: Where, with the ports the system chose.
    /// - Throws: `ListenError` for the first address that cannot be opened.
    func start() async throws -> [ListenAddress] {
        let listener = try await open(addresses)
        self.listener = listener
        addresses = listener.addresses
        report(.listening(addresses))
        return addresses
    }

    /// Lets apps connect, or closes the port and sends away those that are there. The link stays.
    ///
    /// - Returns: What was done, in one sentence.
    /// - Throws: `APIError` for people.
    func setActive(_ isActive: Bool) async throws -> String {
        guard !isChanging, !isStopped else {
            throw APIError(.conflict, "the server is being switched already; try again")
        }
        isChanging = true
        defer { isChanging = false }
        return isActive ? try await activate() : try await deactivate()
    }

    private func activate() async throws -> String {
        let place = addresses.map(\.description).joined(separator: ", ")
        guard listener == nil else { return "the server is on already: \(place)" }
        do {
            listener = try await open(addresses)
        } catch {
            report(.failed("\(error)"))
            throw APIError(.conflict, "\(error)")
        }
        report(.listening(addresses))
        return "the server is on: apps can connect to \(place)"
    }

    private func deactivate() async throws -> String {
        guard let listener else {
            report(.off)
            return "the server is off already"
        }
        self.listener = nil
        await listener.close()
        let count = try await relay.disconnectAll(because: .serverOff)
        report(.off)
        return "the server is off; \(count) app\(count == 1 ? "" : "s") disconnected"
    }

    /// For good: relayd stops.
    func stop() async {
        isStopped = true
        await listener?.close()
        listener = nil
    }
}
