package import RelayCore
package import SDLProtocol
import Synchronization

/// Counts what passes since the start, bounded whatever peers send; readable from anywhere at the
/// price of a lock and a copy. A consumer of decoded traffic, read by the control API.
package final class TrafficStatistics: TrafficConsumer {
    /// When counting began.
    package let since: WallTime
    private let counts = Mutex(Counts())

    package init(since: WallTime = .now()) {
        self.since = since
    }

    package var current: Counts { counts.withLock { $0 } }

    package func consume(_ entries: [TrafficEntry]) {
        counts.withLock { counts in
            for entry in entries { counts.count(entry) }
        }
    }
}

extension TrafficStatistics {
    package struct Counts: Sendable {
        /// One service of the apps of one name, one way.
        package struct Lane: Hashable, Sendable {
            /// Names, not connections: numbers would grow with every reconnect.
            package var app: String
            package var service: ServiceType
            package var direction: Direction
        }

        package struct Amount: Hashable, Sendable {
            package var frames: UInt64 = 0
            /// Payload bytes.
            package var bytes: UInt64 = 0
        }

        /// How often an RPC was used, and how long its answers took.
        package struct Usage: Hashable, Sendable {
            package var requests: UInt64 = 0
            package var responses: UInt64 = 0
            package var notifications: UInt64 = 0
            /// Responses that say it was not carried out.
            package var failed: UInt64 = 0
            package var latency = LatencyQuantiles()
        }

        /// One RPC.
        package struct Function: Hashable, Sendable {
            /// Whether its answer waits for a person.
            package var waitsForPeople: Bool
            /// By everybody.
            package var usage = Usage()
            /// By the apps of one name.
            package var apps: [String: Usage] = [:]
            package var results: [String: UInt64] = [:]
        }

        /// Whose requests, and whether their answer waits for a person: Alert's for the driver's
        /// finger, Show's only for the head unit. One histogram of both would tell nothing.
        package struct LatencyKind: Hashable, Sendable {
            package var requester: Direction
            package var waitsForPeople: Bool
        }

        package internal(set) var lanes: [Lane: Amount] = [:]
        /// By name of the specification.
        package internal(set) var functions: [String: Function] = [:]
        package internal(set) var latency: [LatencyKind: LatencyHistogram] = [:]
        /// Frames by reason.
        package internal(set) var dropped: [String: UInt64] = [:]
        package internal(set) var unanswered: UInt64 = 0
        /// Frames that observers never saw.
        package internal(set) var unseenFrames: UInt64 = 0
        /// Pairs of app and function.
        var pairs = 0
        var names: Set<String> = []
        var results: Set<String> = []

        /// Apps that have not registered, or not yet.
        static let unregistered = "unregistered"
        /// What relayd says itself in the place of apps and the head unit, and the answers to it.
        static let relayd = "relayd"
        /// What there are too many of, or what no specification has.
        static let other = "other"
        /// Names of apps told apart. A bench has under ten; each is ten series of a metric.
        static let maximumNames = 32
        /// Pairs of app and function told apart; further ones count for `other`. A bench with ten apps
        /// of twenty RPCs has 200, each of about half a KB; the most memory a pair can take, with answers
        /// of all times there are, is 4 KB.
        static let maximumPairs = 512
        /// Result codes told apart; the specification has 36 (MOBILE_API, enum "Result").
        static let maximumResults = 64
    }
}

extension TrafficStatistics.Counts {
    mutating func count(_ entry: TrafficEntry) {
        switch entry.content {
        case .event(.missed(let frames, _)):
            unseenFrames &+= UInt64(clamping: frames)
        case .event(.unanswered):
            unanswered &+= 1
        case .dropped(let entryOfDrop):
            dropped[entryOfDrop.reason.code, default: 0] &+= UInt64(clamping: entry.frames)
        case .rpc(let rpc):
            let app = entry.isOfRelay ? Self.relayd : name(entry.appName)
            countFrames(entry, of: app)
            count(rpc, of: app)
        case .event: break
        default: countFrames(entry, of: name(entry.appName))
        }
    }

    private mutating func countFrames(_ entry: TrafficEntry, of app: String) {
        guard let service = entry.service, let direction = entry.direction else { return }
        let lane = Lane(app: app, service: service, direction: direction)
        lanes[lane, default: Amount()].frames &+= UInt64(clamping: entry.frames)
        lanes[lane, default: Amount()].bytes &+= UInt64(clamping: entry.bytes)
    }

    private mutating func name(_ name: String?) -> String {
        guard let name else { return Self.unregistered }
        return Self.known(name, in: &names, limit: Self.maximumNames) ? name : Self.other
    }

    private mutating func count(_ rpc: RPCEntry, of app: String) {
        let name = (rpc.request?.functionID ?? rpc.message.functionID).name ?? Self.other
        let waitsForPeople = rpc.waitsForPeople
        var code: String?
        if let outcome = rpc.outcome { code = result(outcome.resultCode) }
        let mayTellApart = pairs < Self.maximumPairs
        // In place: a copy of what is in there would cost an allocation each time.
        pairs += functions[name, default: Function(waitsForPeople: waitsForPeople)].count(
            rpc, of: app, result: code, mayTellApart: mayTellApart)
        guard let latency = rpc.latency, let request = rpc.request else { return }
        let kind = LatencyKind(requester: request.direction, waitsForPeople: waitsForPeople)
        self.latency[kind, default: LatencyHistogram()].add(latency)
    }

    /// A head unit may say anything; a word of the specification's form is kept, as long as there
    /// are not too many of them.
    private mutating func result(_ code: String) -> String {
        let isWord =
            !code.isEmpty && code.utf8.count <= 40
            && code.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || $0 == UInt8(ascii: "_")
            }
        guard isWord else { return Self.other }
        return Self.known(code, in: &results, limit: Self.maximumResults) ? code : Self.other
    }

    private static func known(_ word: String, in words: inout Set<String>, limit: Int) -> Bool {
        if words.contains(word) { return true }
        guard words.count < limit else { return false }
        words.insert(word)
        return true
    }
}

extension TrafficStatistics.Counts.Function {
    /// - Returns: How many pairs of app and function there are more than before.
    fileprivate mutating func count(
        _ rpc: RPCEntry, of app: String, result: String?, mayTellApart: Bool
    ) -> Int {
        if let result { results[result, default: 0] &+= 1 }
        usage.count(rpc)
        let isKnown = apps[app] != nil
        let app = isKnown || mayTellApart ? app : TrafficStatistics.Counts.other
        let before = apps.count
        apps[app, default: .init()].count(rpc)
        return apps.count - before
    }
}

extension TrafficStatistics.Counts.Usage {
    fileprivate mutating func count(_ rpc: RPCEntry) {
        switch rpc.message.type {
        case .request: requests &+= 1
        case .notification: notifications &+= 1
        case .response:
            responses &+= 1
            if rpc.outcome?.success == false { failed &+= 1 }
            if let time = rpc.latency, rpc.request != nil { latency.add(time) }
        }
    }
}
