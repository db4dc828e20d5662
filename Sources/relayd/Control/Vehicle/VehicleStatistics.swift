import ControlAPI
import OpenXCTraffic
import Synchronization

/// Counts the messages of a vehicle interface and its clients, over all links since relayd started.
/// Readable from anywhere at the cost of a lock and a copy.
final class VehicleStatistics: VehicleConsumer {
    struct Counts: Sendable {
        struct Lane: Hashable, Sendable {
            var kind: VehicleMessageKind
            var from: VehicleParty
        }

        fileprivate(set) var messages: [Lane: Int] = [:]
        /// Commands the vehicle interface did not answer in time.
        fileprivate(set) var unanswered = 0
        /// Messages that were passed on without being counted.
        fileprivate(set) var unseen = 0
    }

    private let counts = Mutex(Counts())

    var current: Counts { counts.withLock { $0 } }

    func consume(_ entries: [VehicleEntry]) async {
        counts.withLock { counts in
            for entry in entries { counts.count(entry) }
        }
    }
}

extension VehicleStatistics.Counts {
    fileprivate mutating func count(_ entry: VehicleEntry) {
        switch entry.content {
        case .heard, .sent, .answered:
            messages[Lane(kind: entry.kind, from: entry.from), default: 0] += 1
        case .noted(.unanswered): unanswered += 1
        case .noted: messages[Lane(kind: .refused, from: entry.from), default: 0] += 1
        case .missed(let messages): unseen += messages
        case .linkOpened, .linkClosed: break
        }
    }

    /// Counts by sender, then by kind, in the order in which people look for them.
    var lanes: [VehicleLaneReport] {
        VehicleParty.every.flatMap { party in
            VehicleMessageKind.all.compactMap { kind in
                messages[Lane(kind: kind, from: party)].map {
                    VehicleLaneReport(kind: kind, from: party, messages: $0)
                }
            }
        }
    }
}
