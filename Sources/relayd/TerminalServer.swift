import AccessoryLinks
import Logging
import RelayCore

/// The pseudo-terminals that clients of a vehicle interface may open: opened, closed and replaced together
/// with the sockets clients connect to. Owned by `AppServer`.
actor TerminalServer {
    private let relay: Relay
    private let logger: Logger
    private var wanted: [TerminalPlace]
    private var open: [ClientTerminal] = []

    init(_ places: [TerminalPlace], relay: Relay, logger: Logger) {
        (wanted, self.relay, self.logger) = (places, relay, logger)
    }

    /// The paths that clients may open now.
    var paths: [String] { open.map(\.place.path) }

    /// - Throws: `TerminalProblem` for the first that cannot be opened.
    func start() async throws { try await change(to: wanted) }

    /// Opens new terminals and closes those no longer wanted; if that fails, everything is as
    /// before.
    ///
    /// - Throws: `TerminalProblem` for the first that cannot be opened.
    func change(to places: [TerminalPlace]) async throws {
        let before = open.map(\.place)
        let leaving = open.filter { !places.contains($0.place) }
        var opened: [ClientTerminal] = []
        // A path can have only one terminal.
        for rival in leaving where places.contains(where: { $0.path == rival.place.path }) {
            await rival.stop()
            open.removeAll { $0 === rival }
        }
        do {
            for place in places where !open.contains(where: { $0.place == place }) {
                opened.append(try await make(place))
            }
        } catch {
            for terminal in opened { await terminal.stop() }
            for place in before where !open.contains(where: { $0.place == place }) {
                do { open.append(try await make(place)) } catch { logger.warning("\(error)") }
            }
            throw error
        }
        for terminal in leaving where open.contains(where: { $0 === terminal }) {
            await terminal.stop()
            open.removeAll { $0 === terminal }
        }
        open += opened
        wanted = places
    }

    /// Remembers what to open at the next start.
    func remember(_ places: [TerminalPlace]) { wanted = places }

    func stop() async {
        for terminal in open { await terminal.stop() }
        open = []
    }

    private func make(_ place: TerminalPlace) async throws -> ClientTerminal {
        let relay = relay
        let terminal = try await ClientTerminal.open(place, on: relay.loop, logger: logger) {
            relay.configureApp($0, at: place.path, as: "pty:\(place.path)")
        }
        logger.notice("clients can open \(place.path) as a serial port")
        return terminal
    }
}
