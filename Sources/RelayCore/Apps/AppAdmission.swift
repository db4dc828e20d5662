import NIOCore

/// Decides about new connections of apps before anything is read from them: by network, by rate, by number.
/// Used by `AppGate`.
struct AppAdmission {
    enum Decision: Hashable {
        /// The connection becomes an app.
        case admit
        /// One connection too many: its first StartService is answered with a refusal.
        case surplus
        /// The connection is closed without a word, but not without a line in the log.
        case refuse(Refusal)
    }

    enum Refusal: Hashable {
        case notAllowed
        case tooFast
        /// Too many even for a refusal in words.
        case tooMany
    }

    private var maximumApps: Int
    private var networks: [Network]
    private var rate: ConnectionRate
    /// Connections that may wait for their refusal at once.
    private var maximumSurplus: Int

    init(configuration: RelayConfiguration) {
        maximumApps = configuration.maximumApps
        networks = configuration.allowedNetworks
        rate = ConnectionRate(perSecond: configuration.connectionsPerSecond)
        maximumSurplus = configuration.maximumSurplus
    }

    /// Applies from the next connection on; existing connections stay.
    mutating func reconfigure(_ configuration: RelayConfiguration) {
        maximumApps = configuration.maximumApps
        networks = configuration.allowedNetworks
        rate.perSecond = configuration.connectionsPerSecond
        maximumSurplus = configuration.maximumSurplus
    }

    /// A thousand, so that a whole bench that connects at once is told why. Such connections stay some
    /// seconds at most and take about 4 KiB each.
    static let defaultMaximumSurplus = 1000

    /// - Parameter peer: nil for a peer without an IP address, which is on this machine.
    mutating func decide(
        about peer: PeerAddress?, apps: Int, surplus: Int, at now: NIODeadline
    ) -> Decision {
        if let peer {
            if !networks.isEmpty, !networks.contains(where: { $0.contains(peer) }) {
                return .refuse(.notAllowed)
            }
            if !rate.allow(peer, at: now) { return .refuse(.tooFast) }
        }
        if apps < maximumApps { return .admit }
        return surplus < maximumSurplus ? .surplus : .refuse(.tooMany)
    }
}

/// A token bucket for each address that connects.
struct ConnectionRate {
    /// Connections worth this many seconds may come at once: a bench of 300 apps that reconnects twice is not
    /// a flood.
    static let burstSeconds = 20
    /// Addresses remembered. The others count as newcomers; a bench has some dozen.
    static let maximumAddresses = 1024

    /// Tokens an address gets per second; existing buckets keep what they have.
    var perSecond: Int
    private var buckets: [PeerAddress: Bucket] = [:]

    private struct Bucket {
        var tokens: Double
        var at: NIODeadline
    }

    /// - Parameter perSecond: 0 allows all.
    init(perSecond: Int) {
        self.perSecond = perSecond
    }

    /// Addresses that have connected lately.
    var addresses: Int { buckets.count }

    /// Takes a token of the address if it has one.
    mutating func allow(_ peer: PeerAddress, at now: NIODeadline) -> Bool {
        guard perSecond > 0 else { return true }
        let key = peer.host
        if buckets[key] == nil, buckets.count >= Self.maximumAddresses { forget(at: now) }
        var bucket = buckets[key] ?? Bucket(tokens: capacity, at: now)
        bucket.tokens = tokens(of: bucket, at: now)
        bucket.at = now
        defer { buckets[key] = bucket }
        guard bucket.tokens >= 1 else { return false }
        bucket.tokens -= 1
        return true
    }

    private var capacity: Double { Double(perSecond * Self.burstSeconds) }

    private func tokens(of bucket: Bucket, at now: NIODeadline) -> Double {
        let seconds = Double(max(now - bucket.at, .zero).nanoseconds) / 1e9
        return min(bucket.tokens + seconds * Double(perSecond), capacity)
    }

    /// Makes room: drops full buckets, which say nothing, and then the fullest quarter if need be.
    private mutating func forget(at now: NIODeadline) {
        buckets = buckets.filter { tokens(of: $0.value, at: now) < capacity }
        guard buckets.count >= Self.maximumAddresses else { return }
        let fullest = buckets.map { (key: $0.key, tokens: tokens(of: $0.value, at: now)) }
            .sorted { $0.tokens > $1.tokens }
        for bucket in fullest.prefix(Self.maximumAddresses / 4) { buckets[bucket.key] = nil }
    }
}
