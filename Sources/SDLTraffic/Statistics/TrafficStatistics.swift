package import RelayCore
package import SDLProtocol
import Synchronization

/// Counts the traffic since the start, bounded whatever peers send; readable from any thread at the cost of a
/// lock and a copy. A consumer of decoded traffic, read by the control API.
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
        /// One service of the apps of one name, in one direction.
        package struct Lane: Hashable, Sendable {
            /// Names, not connections: the number of connections would grow with every reconnect.
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
            /// Responses that report a failure.
            package var failed: UInt64 = 0
            package var latency = LatencyQuantiles()
        }

        /// One RPC.
        package struct Function: Hashable, Sendable {
            /// Whether its answer waits for a person.
            package var waitsForPeople: Bool
            /// The usage by all apps.
            package var usage = Usage()
            /// The usage by the apps of each name.
            package var apps: [String: Usage] = [:]
            package var results: [String: UInt64] = [:]
        }

        /// The requester, and whether the answer waits for a person: Alert waits for the driver's finger,
        /// Show only for the head unit. A single histogram of both would be meaningless.
        package struct LatencyKind: Hashable, Sendable {
            package var requester: Direction
            package var waitsForPeople: Bool
        }

        package internal(set) var lanes: [Lane: Amount] = [:]
        /// By name in the specification.
        package internal(set) var functions: [String: Function] = [:]
        package internal(set) var latency: [LatencyKind: LatencyHistogram] = [:]
        /// Frames by reason.
        package internal(set) var dropped: [String: UInt64] = [:]
        package internal(set) var unanswered: UInt64 = 0
        /// Frames that observers never saw.
        package internal(set) var unseenFrames: UInt64 = 0
        /// The number of pairs of app and function.
        var pairs = 0
        var names: Set<String> = []
        var results: Set<String> = []

        /// Apps that have not registered, or not yet.
        static let unregistered = "unregistered"
        /// relayd's own messages in the place of apps and the head unit, and the answers to them.
        static let relayd = "relayd"
        /// Names beyond the limits, or not in any specification.
        static let other = "other"
        /// Maximum distinct names of apps. A bench has under ten; each is ten series of a metric.
        static let maximumNames = 32
        /// Maximum distinct pairs of app and function; further ones count for `other`. A bench with ten apps
        /// of twenty RPCs has 200, each of about half a KB; the most memory that a pair can take, with
        /// answers of all possible times, is 4 KB.
        static let maximumPairs = 512
        /// Maximum distinct result codes; the specification has 36 (MOBILE_API, enum "Result").
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
        // In place: a copy would cost an allocation each time.
        pairs += functions[name, default: Function(waitsForPeople: waitsForPeople)].count(
            rpc, of: app, result: code, mayTellApart: mayTellApart)
        guard let latency = rpc.latency, let request = rpc.request else { return }
        let kind = LatencyKind(requester: request.direction, waitsForPeople: waitsForPeople)
        self.latency[kind, default: LatencyHistogram()].add(latency)
    }

    /// A head unit may send anything; a word of the specification's form is kept, as long as there are not
    /// too many of them.
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
    /// - Returns: The number of new pairs of app and function.
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
