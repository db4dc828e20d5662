import AccessoryLinks
import ControlAPI
import NIOCore
import RelayCore

/// Whether and where apps can connect, as shown in the status.
enum ServerCondition: Sendable {
    /// - Parameters:
    ///   - terminals: Paths of pseudo-terminals that clients may open.
    ///   - isInherited: The sockets are systemd's.
    case listening([ListenAddress], terminals: [String] = [], isInherited: Bool)
    case off
    /// Listening was wanted but failed.
    case failed(String)

    var isInherited: Bool {
        if case .listening(_, _, let isInherited) = self { isInherited } else { false }
    }
}

/// All sockets that apps connect to, and the on/off switch that is the big button of the iOS Relay
/// app. Sockets are opened, closed and replaced while connected apps stay. Opened by `Daemon`,
/// switched by the control API, moved by a reload, stopped by `RelayService`.
actor AppServer {
    /// One address, and its socket while it is open.
    private struct Place {
        /// The address as configured.
        let asked: ListenAddress
        /// IPv4 has its own socket on the same port, so this one is for IPv6 only.
        let isBesideIPv4: Bool
        /// The address actually bound. The socket is reopened there, so that apps find it again.
        var actual: ListenAddress
        var listener: AppListener?

        init(_ address: ListenAddress, among all: [ListenAddress]) {
            asked = address
            actual = address
            isBesideIPv4 = address.host.contains(":") && address.sharesPort(with: all)
        }

        func isSame(as other: Place) -> Bool {
            asked == other.asked && isBesideIPv4 == other.isBesideIPv4
        }

        /// The same place, not open.
        var closed: Place {
            var place = self
            place.listener = nil
            return place
        }
    }

    /// Resolves a host to its address; may block.
    typealias Resolve = @Sendable (ListenAddress) throws -> SocketAddress

    private let relay: Relay
    private let report: @Sendable (ServerCondition) -> Void
    private let resolve: Resolve
    /// Descriptors of sockets passed by systemd; if there are any, no others are opened.
    private let descriptors: [CInt]
    /// Nil if clients do not use pseudo-terminals.
    private let terminals: TerminalServer?
    private var inherited: AppListener?
    private var places: [Place]
    /// Switched off: changes are remembered until the server is switched on.
    private var isOff = false
    private var isChanging = false
    private var isStopped = false

    /// - Parameters:
    ///   - descriptors: Sockets passed by systemd, used instead of the addresses.
    ///   - report: Receives every change, in order.
    init(
        _ addresses: [ListenAddress], descriptors: [CInt] = [], relay: Relay,
        terminals: TerminalServer? = nil, resolve: @escaping Resolve = HostLookup.resolve,
        report: @escaping @Sendable (ServerCondition) -> Void
    ) {
        self.relay = relay
        self.resolve = resolve
        self.report = report
        self.descriptors = descriptors
        self.terminals = terminals
        places = addresses.map { Place($0, among: addresses) }
    }

    nonisolated var isInherited: Bool { !descriptors.isEmpty }

    private var addresses: [ListenAddress] {
        inherited?.addresses ?? places.map(\.actual)
    }

    /// Lets apps connect for the first time.
    ///
    /// - Returns: The addresses, with the ports the system chose.
    /// - Throws: `ListenError` for the first address that cannot be opened.
    func start() async throws -> [ListenAddress] {
        if isInherited {
            inherited = try await AppListener.adopt(descriptors, for: relay)
        } else {
            try await move(to: places)
        }
        try await terminals?.start()
        await reportListening()
        return addresses
    }

    private func reportListening() async {
        let paths = await terminals?.paths ?? []
        report(.listening(addresses, terminals: paths, isInherited: isInherited))
    }

    /// Closes everything for good: relayd stops.
    func stop() async {
        isStopped = true
        await inherited?.close()
        await closePlaces()
        await terminals?.stop()
    }

    /// Runs one change at a time.
    private func changing<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard !isChanging, !isStopped else {
            throw APIError(.conflict, "the server is being switched already; try again")
        }
        isChanging = true
        defer { isChanging = false }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        // The server may have been stopped meanwhile.
        if isStopped {
            await closePlaces()
            await terminals?.stop()
        }
        return try result.get()
    }

    private func closePlaces() async {
        for index in places.indices {
            let listener = places[index].listener
            places[index].listener = nil
            await listener?.close()
        }
    }
}

// MARK: - The switch

extension AppServer {
    /// Lets apps connect, or closes the port and disconnects the connected apps. The link stays.
    ///
    /// - Returns: What was done, in one sentence.
    /// - Throws: `APIError` for people.
    func setActive(_ isActive: Bool) async throws -> String {
        try await changing { isActive ? try await activate() : try await deactivate() }
    }

    private func activate() async throws -> String {
        let place = addresses.map(\.description).joined(separator: ", ")
        guard !isInherited, places.contains(where: { $0.listener == nil }) else {
            return "the server is on already: \(place)"
        }
        isOff = false
        do {
            try await move(to: places)
            do { try await terminals?.start() } catch {
                await closePlaces()
                throw error
            }
        } catch {
            report(.failed("\(error)"))
            throw APIError(.conflict, "\(error)")
        }
        await reportListening()
        return "the server is on: apps can connect to "
            + addresses.map(\.description).joined(separator: ", ")
    }

    private func deactivate() async throws -> String {
        // The kernel would keep accepting connections for systemd, and apps would wait for an
        // answer.
        guard !isInherited else {
            throw APIError(
                .conflict,
                "the apps' sockets are systemd's, relayd cannot close them; "
                    + "'systemctl stop relayd.socket relayd.service' does")
        }
        guard !isOff else { return "the server is off already" }
        isOff = true
        let wasOpen = places.contains { $0.listener != nil }
        await closePlaces()
        await terminals?.stop()
        let count = wasOpen ? try await relay.disconnectAll(because: .serverOff) : 0
        report(.off)
        return "the server is off; \(count) app\(count == 1 ? "" : "s") disconnected"
    }
}

// MARK: - Other addresses

extension AppServer {
    /// Opens new addresses, then closes those no longer wanted; if that fails, everything is as
    /// before. Connected apps stay. While the server is off, the change is remembered for later;
    /// systemd's sockets stay as they are.
    ///
    /// - Throws: `ListenError` for the first address that cannot be opened.
    func change(
        to wanted: [ListenAddress], terminals wantedTerminals: [TerminalPlace] = []
    ) async throws {
        try await changing {
            guard !isInherited else {
                try await terminals?.change(to: wantedTerminals)
                await reportListening()
                return
            }
            let next = wanted.map { address in
                let place = Place(address, among: wanted)
                return places.first { $0.isSame(as: place) } ?? place
            }
            guard !isOff else {
                places = next
                await terminals?.remember(wantedTerminals)
                return
            }
            // First the part that can be undone without anybody noticing.
            let before = places
            try await move(to: next)
            do {
                try await terminals?.change(to: wantedTerminals)
            } catch {
                // The listeners of the places that were left are closed.
                let former = before.map { place in
                    places.first { $0.isSame(as: place) } ?? place.closed
                }
                do { try await move(to: former) } catch { report(.failed("\(error)")) }
                throw error
            }
            await reportListening()
        }
    }

    /// A new address on a port that an old one holds (127.0.0.1:2776, then 0.0.0.0:2776) cannot be
    /// opened beside it. Only in this case is the old one closed first, for less than a
    /// millisecond.
    ///
    /// All hosts are looked up at once, before anything is touched: an unknown host is reported to
    /// the caller within `AnswerTime.hostLookup`, and nothing has changed.
    private func move(to wanted: [Place]) async throws {
        var next = wanted
        let missing = next.indices.filter { next[$0].listener == nil }
        let found = try await HostLookup.addresses(
            of: missing.map { next[$0].actual }, on: relay.loop,
            within: TimeAmount(AnswerTime.hostLookup), resolve: resolve)
        var leaving = places.filter { place in
            place.listener != nil && !wanted.contains { $0.isSame(as: place) }
        }
        var opened: [AppListener] = []
        do {
            for (index, address) in zip(missing, found) {
                let others = next.map(\.actual)
                do {
                    next[index] = try await open(next[index], at: address, beside: others)
                } catch let error as ListenError {
                    let port = next[index].actual.port
                    let rivals = leaving.indices.filter {
                        leaving[$0].actual.port == port && leaving[$0].listener != nil
                    }
                    guard !rivals.isEmpty else { throw error }
                    for rival in rivals {
                        await leaving[rival].listener?.close()
                        leaving[rival].listener = nil
                    }
                    next[index] = try await open(next[index], at: address, beside: others)
                }
                if let listener = next[index].listener { opened.append(listener) }
            }
        } catch {
            for listener in opened { await listener.close() }
            try await reopen(leaving)
            throw error
        }
        for place in leaving { await place.listener?.close() }
        places = next
    }

    /// - Parameter address: nil for a place that was open before, whose numeric address is known.
    private func open(
        _ place: Place, at address: SocketAddress? = nil, beside others: [ListenAddress]
    ) async throws -> Place {
        let listener = try await AppListener.open(
            [place.actual], at: address.map { [$0] }, beside: others,
            entrance: place.asked.description, for: relay)
        var place = place
        place.listener = listener
        place.actual = listener.addresses.first ?? place.actual
        return place
    }

    /// Reopens the sockets that were closed to make room for one that could not be opened.
    private func reopen(_ closed: [Place]) async throws {
        for place in closed where place.listener == nil {
            guard let index = places.firstIndex(where: { $0.isSame(as: place) }) else { continue }
            places[index].listener = nil
            do {
                places[index] = try await open(place, beside: places.map(\.actual))
            } catch {
                report(.failed("\(error)"))
                throw error
            }
        }
    }
}
