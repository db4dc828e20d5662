import OpenXCProtocol

/// A switch of the vehicle interface that several clients may want on.
package enum SwitchKey: Hashable, Sendable {
    case passthrough(bus: Int32)
    case acceptanceFilterBypass(bus: Int32)

    func command(isOn: Bool) -> Command {
        switch self {
        case .passthrough(let bus): .passthrough(bus: bus, enabled: isOn)
        case .acceptanceFilterBypass(let bus): .acceptanceFilterBypass(bus: bus, bypass: isOn)
        }
    }
}

/// Which clients want which switch on. A switch is turned off again when the last of them has left.
struct SharedSwitches<Client: Hashable & Sendable>: Sendable {
    private var owners: [SwitchKey: Set<Client>] = [:]
    /// In the order in which they were first wanted.
    private(set) var owned: [SwitchKey] = []

    /// - Returns: Whether the client did not own the switch before.
    mutating func own(_ key: SwitchKey, _ client: Client) -> Bool {
        if owners[key] == nil { owned.append(key) }
        return owners[key, default: []].insert(client).inserted
    }

    /// - Returns: Whether no other client wants it on.
    mutating func disown(_ key: SwitchKey, _ client: Client) -> Bool {
        owners[key]?.remove(client)
        guard owners[key]?.isEmpty ?? true else { return false }
        drop(key)
        return true
    }

    /// - Returns: The switches that no client wants on any more.
    mutating func leave(_ client: Client) -> [SwitchKey] {
        owned.filter { owners[$0]?.contains(client) == true }.filter { disown($0, client) }
    }

    /// - Parameter client: Nil when the vehicle interface refused a switch that was owned already.
    mutating func refused(_ key: SwitchKey, _ client: Client?) {
        guard let client else { return }
        _ = disown(key, client)
    }

    func owners(of key: SwitchKey) -> Set<Client> { owners[key] ?? [] }

    private mutating func drop(_ key: SwitchKey) {
        owners[key] = nil
        owned.removeAll { $0 == key }
    }
}

/// The fields that distinguish one diagnostic request from another (firmware's own rule).
struct DiagnosticKey: Hashable, Sendable {
    var bus: Int32
    var id: UInt32
    var mode: UInt32
    var pid: UInt32

    init(_ request: DiagnosticRequest) {
        (id, mode, pid) = (request.id, request.mode, request.pid)
        // Firmware takes a request without a bus to mean the first bus.
        bus = request.bus == 0 ? 1 : request.bus
    }
}

/// A recurring request on its way to the vehicle interface.
struct AddedRequest: Hashable, Sendable {
    var key: DiagnosticKey
    /// Distinguishes it from earlier and later requests of the same key.
    var number: UInt64
    /// The request that it replaces: a slower one, or one that was not answered.
    var before: DiagnosticRequest?
}

/// The clients of each recurring diagnostic request. A request that several clients want is made once, at the
/// rate of the fastest.
struct RecurringRequests<Client: Hashable & Comparable & Sendable>: Sendable {
    private struct Shared: Sendable {
        /// The request as the vehicle interface has it.
        var request: DiagnosticRequest
        /// The frequency that each client wants, in Hz.
        var owners: [Client: Double]
        /// The number of the request last sent to the vehicle interface.
        var number: UInt64
        /// The client that wanted the request faster than before; nil when none did.
        var faster: Client?
        /// The vehicle interface has not answered yet.
        var isUnanswered = true
        /// The vehicle interface has not answered in time: it is unknown whether it has the request.
        var isLost = false
        /// Owners that get an answer when the vehicle interface answers.
        var waiting: [Client] = []
    }

    private var shared: [DiagnosticKey: Shared] = [:]
    private var order: [DiagnosticKey] = []
    private var lastNumber: UInt64 = 0

    enum Owning {
        case new(AddedRequest)
        /// The vehicle interface already has the request, at least as fast.
        case shared
        /// The same, but the vehicle interface has not answered yet.
        case waits
        /// The vehicle interface has a slower one, or perhaps none, which has to be cancelled first.
        case faster(than: DiagnosticRequest, AddedRequest)
        /// The vehicle interface has a different request of the same key, the client has it already, or there
        /// are too many.
        case refused
    }

    enum Disowning {
        case lastOne
        /// The slower request to make if the fastest client has gone; nil otherwise.
        case othersLeft(Slower?)
        /// Only other clients want it.
        case foreign
        /// No client has asked for it through relayd.
        case unknown
    }

    /// A request that replaces a faster one.
    struct Slower {
        var than: DiagnosticRequest
        var request: DiagnosticRequest
        var added: AddedRequest
    }

    mutating func own(
        _ request: DiagnosticRequest, _ client: Client, maximum: Int
    ) -> Owning {
        let key = DiagnosticKey(request)
        guard var known = shared[key] else {
            guard shared.count < maximum else { return .refused }
            let number = nextNumber()
            shared[key] = Shared(
                request: request, owners: [client: request.frequency], number: number)
            order.append(key)
            return .new(AddedRequest(key: key, number: number))
        }
        var same = known.request
        (same.frequency, same.bus) = (request.frequency, request.bus)
        guard same == request, known.owners[client] == nil else { return .refused }
        known.owners[client] = request.frequency
        let before = known.request
        guard known.isLost || request.frequency > before.frequency else {
            if known.isUnanswered { known.waiting.append(client) }
            shared[key] = known
            return known.isUnanswered ? .waits : .shared
        }
        known.request = request
        known.request.frequency = max(request.frequency, before.frequency)
        known.number = nextNumber()
        known.faster = client
        (known.isUnanswered, known.isLost) = (true, false)
        shared[key] = known
        return .faster(
            than: before, AddedRequest(key: key, number: known.number, before: before))
    }

    mutating func disown(_ key: DiagnosticKey, _ client: Client) -> Disowning {
        guard var known = shared[key] else { return .unknown }
        guard known.owners.removeValue(forKey: client) != nil else { return .foreign }
        known.waiting.removeAll { $0 == client }
        guard let fastest = known.owners.values.max() else {
            drop(key)
            return .lastOne
        }
        let before = known.request
        guard fastest < before.frequency else {
            shared[key] = known
            return .othersLeft(nil)
        }
        known.request.frequency = fastest
        known.number = nextNumber()
        (known.isUnanswered, known.isLost, known.faster) = (true, false, nil)
        shared[key] = known
        let added = AddedRequest(key: key, number: known.number, before: nil)
        return .othersLeft(Slower(than: before, request: known.request, added: added))
    }

    /// - Returns: The requests that no client wants any more, and those that no client wants as fast.
    mutating func leave(_ client: Client) -> (over: [DiagnosticRequest], slower: [Slower]) {
        var (over, slower): ([DiagnosticRequest], [Slower]) = ([], [])
        for key in order {
            guard let request = shared[key]?.request else { continue }
            switch disown(key, client) {
            case .lastOne: over.append(request)
            case .othersLeft(let next?): slower.append(next)
            case .othersLeft(nil), .foreign, .unknown: break
            }
        }
        return (over, slower)
    }

    /// All requests, to be sent once more.
    mutating func again() -> [(DiagnosticRequest, AddedRequest)] {
        order.compactMap { key in
            guard var known = shared[key] else { return nil }
            known.number = nextNumber()
            (known.isUnanswered, known.isLost, known.faster) = (true, false, nil)
            shared[key] = known
            return (known.request, AddedRequest(key: key, number: known.number))
        }
    }

    /// Takes in the answer of the vehicle interface to a request.
    ///
    /// - Returns: The other clients to give the same answer, and the request to make in its place.
    mutating func answered(
        _ added: AddedRequest, _ isTaken: Bool
    ) -> (others: [Client], again: (DiagnosticRequest, AddedRequest)?) {
        // Another request has taken its place meanwhile.
        guard var known = shared[added.key], known.number == added.number else { return ([], nil) }
        let waiting = known.waiting
        known.waiting = []
        guard !isTaken else {
            (known.isUnanswered, known.faster) = (false, nil)
            shared[added.key] = known
            return (waiting, nil)
        }
        if let faster = known.faster { known.owners[faster] = nil }
        guard let before = added.before, known.faster != nil,
            known.owners.keys.contains(where: { !waiting.contains($0) })
        else {
            // The vehicle interface does not repeat it, so the clients that shared it get nothing any more,
            // either.
            drop(added.key)
            return (waiting, nil)
        }
        // The vehicle interface had accepted the slower one, which its owners still want.
        for client in waiting { known.owners[client] = nil }
        (known.request, known.faster, known.number) = (before, nil, nextNumber())
        shared[added.key] = known
        return (waiting, (before, AddedRequest(key: added.key, number: known.number)))
    }

    /// The vehicle interface has not answered in time. The next client that wants the same request triggers a
    /// new one.
    ///
    /// - Returns: The other clients that wait for the answer.
    mutating func unanswered(_ added: AddedRequest) -> [Client] {
        guard var known = shared[added.key], known.number == added.number else { return [] }
        let waiting = known.waiting
        (known.isLost, known.faster, known.waiting) = (true, nil, [])
        shared[added.key] = known
        return waiting
    }

    var all: [DiagnosticRequest] { order.compactMap { shared[$0]?.request } }

    func owners(of request: DiagnosticRequest) -> Set<Client> {
        Set((shared[DiagnosticKey(request)]?.owners ?? [:]).keys)
    }

    private mutating func nextNumber() -> UInt64 {
        lastNumber &+= 1
        return lastNumber
    }

    private mutating func drop(_ key: DiagnosticKey) {
        shared[key] = nil
        order.removeAll { $0 == key }
    }
}
