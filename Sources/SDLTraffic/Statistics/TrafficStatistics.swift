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

        /// One RPC, whoever used it.
        package struct Function: Hashable, Sendable {
            package var requests: UInt64 = 0
            package var responses: UInt64 = 0
            package var notifications: UInt64 = 0
            package var results: [String: UInt64] = [:]
            package var latency = LatencyHistogram()
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
        var names: Set<String> = []
        var results: Set<String> = []

        /// Apps that have not registered, or not yet.
        static let unregistered = "unregistered"
        /// What there are too many of, or what no specification has.
        static let other = "other"
        /// Names of apps told apart. A bench has under ten; each is ten series of a metric.
        static let maximumNames = 32
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
            dropped[entryOfDrop.reason.kind, default: 0] &+= UInt64(clamping: entry.frames)
        case .rpc(let rpc):
            countFrames(entry)
            count(rpc)
        case .event: break
        default: countFrames(entry)
        }
    }

    private mutating func countFrames(_ entry: TrafficEntry) {
        guard let service = entry.service, let direction = entry.direction else { return }
        let lane = Lane(app: name(entry.appName), service: service, direction: direction)
        lanes[lane, default: Amount()].frames &+= UInt64(clamping: entry.frames)
        lanes[lane, default: Amount()].bytes &+= UInt64(clamping: entry.bytes)
    }

    private mutating func name(_ name: String?) -> String {
        guard let name else { return Self.unregistered }
        return Self.known(name, in: &names, limit: Self.maximumNames) ? name : Self.other
    }

    private mutating func count(_ rpc: RPCEntry) {
        let name = (rpc.request?.functionID ?? rpc.message.functionID).name ?? Self.other
        var function = functions[name] ?? Function()
        switch rpc.message.type {
        case .request: function.requests &+= 1
        case .notification: function.notifications &+= 1
        case .response:
            function.responses &+= 1
            function.results[result(rpc.outcome?.resultCode ?? ""), default: 0] &+= 1
            if let latency = rpc.latency, let request = rpc.request {
                function.latency.add(latency)
                let kind = LatencyKind(
                    requester: request.direction, waitsForPeople: rpc.waitsForPeople)
                self.latency[kind, default: LatencyHistogram()].add(latency)
            }
        }
        functions[name] = function
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

extension DropReason {
    /// One word without numbers, for counting.
    package var kind: String {
        switch self {
        case .notItsSession: "not_its_session"
        case .noSuchSession: "no_such_session"
        case .farewell: "farewell"
        case .noLink: "no_link"
        case .secondaryTransport: "secondary_transport"
        case .lateAnswer: "late_answer"
        case .queueFull: "queue_full"
        case .sessionOver: "session_over"
        case .endNotAsked: "end_not_asked"
        case .lateWords: "late_words"
        case .emptyMessage: "empty_message"
        case .messageTooLarge: "message_too_large"
        case .frameTooLarge: "frame_too_large"
        case .leftTooFast: "left_too_fast"
        case .answersRelay: "answers_relay"
        }
    }
}
