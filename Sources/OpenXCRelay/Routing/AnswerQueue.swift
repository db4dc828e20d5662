import NIOCore
import OpenXCProtocol

/// Why a command was sent: what its refusal takes back.
enum Purpose<Client: Hashable & Sendable>: Sendable {
    case plain
    /// The client that did not own the switch before; nil when it did.
    case switchOn(SwitchKey, Client?)
    case add(AddedRequest)
}

/// Who waits for which answer. Answers carry the name of their command and nothing else, so those of one
/// name go to who asked first.
struct AnswerQueue<Client: Hashable & Sendable>: Sendable {
    struct Waiting: Sendable {
        /// Nil for relayd itself.
        var client: Client?
        var purpose: Purpose<Client>
        var deadline: NIODeadline
        /// Greater than that of whatever was asked before.
        var number: UInt64
    }

    private var queues: [CommandName: [Waiting]] = [:]
    private var counts: [Client: Int] = [:]
    private var lastNumber: UInt64 = 0

    func count(of client: Client) -> Int { counts[client] ?? 0 }

    mutating func add(
        _ name: CommandName, _ client: Client?, _ purpose: Purpose<Client>,
        until deadline: NIODeadline
    ) {
        queues[name, default: []].append(
            Waiting(client: client, purpose: purpose, deadline: deadline, number: nextNumber()))
        if let client { counts[client, default: 0] += 1 }
    }

    /// The place in the order of asking of something that is not asked of the vehicle interface.
    mutating func nextNumber() -> UInt64 {
        lastNumber &+= 1
        return lastNumber
    }

    /// The place of what this client has waited for the longest.
    func oldest(of client: Client) -> UInt64? {
        guard count(of: client) > 0 else { return nil }
        return queues.values.lazy.flatMap { $0 }.filter { $0.client == client }.map(\.number).min()
    }

    /// Who asked first; nil when nobody did.
    ///
    /// An answer may be missing. What is the same for everybody goes to a client that waits rather than to
    /// nobody.
    mutating func take(_ name: CommandName) -> Waiting? {
        guard var queue = queues[name], !queue.isEmpty else { return nil }
        let client = name.isSameForAll ? queue.firstIndex { $0.client != nil } : nil
        let first = queue.remove(at: client ?? 0)
        queues[name] = queue.isEmpty ? nil : queue
        uncount(first.client)
        return first
    }

    /// Its answers still come, and are not the next client's.
    mutating func forget(_ client: Client) {
        for name in queues.keys {
            for index in queues[name, default: []].indices
            where queues[name]?[index].client == client {
                queues[name]?[index].client = nil
            }
        }
        counts[client] = nil
    }

    /// Looked at in every read. Those of one name may all take as long, so the first is due first.
    var nextDeadline: NIODeadline? {
        queues.values.lazy.compactMap { $0.first?.deadline }.min()
    }

    /// Takes out what has waited too long.
    mutating func expire(at now: NIODeadline) -> [(CommandName, Waiting)] {
        var expired: [(CommandName, Waiting)] = []
        for (name, queue) in queues where queue.contains(where: { $0.deadline <= now }) {
            for waiting in queue where waiting.deadline <= now {
                expired.append((name, waiting))
                uncount(waiting.client)
            }
            let left = queue.filter { $0.deadline > now }
            queues[name] = left.isEmpty ? nil : left
        }
        return expired
    }

    private mutating func uncount(_ client: Client?) {
        guard let client, let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }
}

extension CommandName {
    /// Whoever asks gets the same answer.
    fileprivate var isSameForAll: Bool {
        switch self {
        case .version, .deviceID, .platform, .vin, .sdMountStatus: true
        default: false
        }
    }
}
