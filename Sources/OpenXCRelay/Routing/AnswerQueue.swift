import NIOCore
import OpenXCProtocol

/// The purpose of a command, which says what to take back if the command is refused.
enum Purpose<Client: Hashable & Sendable>: Sendable {
    case plain
    /// The client that did not own the switch before; nil when it did.
    case switchOn(SwitchKey, Client?)
    case add(AddedRequest)
}

/// The clients that wait for answers. An answer carries the name of its command and nothing else, so it goes
/// to the client that sent a command of that name first.
struct AnswerQueue<Client: Hashable & Sendable>: Sendable {
    struct Waiting: Sendable {
        /// Nil for relayd itself.
        var client: Client?
        var purpose: Purpose<Client>
        var deadline: NIODeadline
        /// Greater than the number of everything asked before.
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

    /// The place, in the order of asking, of an answer that relayd gives itself.
    mutating func nextNumber() -> UInt64 {
        lastNumber &+= 1
        return lastNumber
    }

    /// The place of the oldest unanswered command of this client.
    func oldest(of client: Client) -> UInt64? {
        guard count(of: client) > 0 else { return nil }
        return queues.values.lazy.flatMap { $0 }.filter { $0.client == client }.map(\.number).min()
    }

    /// Takes out the first to have asked; nil when nobody has.
    ///
    /// An answer may be missing. One that is the same for everybody goes to a waiting client rather than to
    /// nobody.
    mutating func take(_ name: CommandName) -> Waiting? {
        guard var queue = queues[name], !queue.isEmpty else { return nil }
        let client = name.isSameForAll ? queue.firstIndex { $0.client != nil } : nil
        let first = queue.remove(at: client ?? 0)
        queues[name] = queue.isEmpty ? nil : queue
        uncount(first.client)
        return first
    }

    /// Drops a client that is gone. Its answers still come, and must not go to the next client.
    mutating func forget(_ client: Client) {
        for name in queues.keys {
            for index in queues[name, default: []].indices
            where queues[name]?[index].client == client {
                queues[name]?[index].client = nil
            }
        }
        counts[client] = nil
    }

    /// Evaluated at every read. Commands of one name have the same timeout, so the first of them is due
    /// first.
    var nextDeadline: NIODeadline? {
        queues.values.lazy.compactMap { $0.first?.deadline }.min()
    }

    /// Removes and returns the commands whose deadline has passed.
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
    /// Whether the answer is the same whoever asks.
    fileprivate var isSameForAll: Bool {
        switch self {
        case .version, .deviceID, .platform, .vin, .sdMountStatus: true
        default: false
        }
    }
}
