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

/// Who wants which switch on: off again when the last of them has left.
struct SharedSwitches<Client: Hashable & Sendable>: Sendable {
    private var owners: [SwitchKey: Set<Client>] = [:]
    /// In the order in which they were first wanted.
    private(set) var owned: [SwitchKey] = []

    /// - Returns: Whether the client did not own it before.
    mutating func own(_ key: SwitchKey, _ client: Client) -> Bool {
        if owners[key] == nil { owned.append(key) }
        return owners[key, default: []].insert(client).inserted
    }

    /// - Returns: Whether nobody else wants it on.
    mutating func disown(_ key: SwitchKey, _ client: Client) -> Bool {
        owners[key]?.remove(client)
        guard owners[key]?.isEmpty ?? true else { return false }
        drop(key)
        return true
    }

    /// - Returns: What nobody wants any more.
    mutating func leave(_ client: Client) -> [SwitchKey] {
        owned.filter { owners[$0]?.contains(client) == true }.filter { disown($0, client) }
    }

    /// - Parameter client: nil when the vehicle interface refused what was owned already.
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

/// What tells one diagnostic request from another (firmware's own rule).
struct DiagnosticKey: Hashable, Sendable {
    var bus: Int32
    var id: UInt32
    var mode: UInt32
    var pid: UInt32

    init(_ request: DiagnosticRequest) {
        (bus, id, mode, pid) = (request.bus, request.id, request.mode, request.pid)
    }
}

/// Who wants which diagnostic request repeated. One that several clients want is asked for once, at the
/// pace of the fastest.
struct RecurringRequests<Client: Hashable & Sendable>: Sendable {
    private struct Shared: Sendable {
        /// As the vehicle interface has it.
        var request: DiagnosticRequest
        var owners: Set<Client>
    }

    private var shared: [DiagnosticKey: Shared] = [:]
    private var order: [DiagnosticKey] = []

    enum Owning {
        case new
        /// The vehicle interface has it already, as fast.
        case shared
        /// It has a slower one, which has to go first.
        case faster(than: DiagnosticRequest)
        /// It has another one by the same key, the client has it already, or there are too many.
        case refused
    }

    enum Disowning {
        case lastOne
        case othersLeft
        /// Only others want it.
        case foreign
        /// Nobody has asked for it through relayd.
        case unknown
    }

    mutating func own(
        _ request: DiagnosticRequest, _ client: Client, maximum: Int
    ) -> Owning {
        let key = DiagnosticKey(request)
        guard var known = shared[key] else {
            guard shared.count < maximum else { return .refused }
            shared[key] = Shared(request: request, owners: [client])
            order.append(key)
            return .new
        }
        var same = known.request
        same.frequency = request.frequency
        guard same == request, known.owners.insert(client).inserted else { return .refused }
        let before = known.request
        let isFaster = request.frequency > before.frequency
        if isFaster { known.request = request }
        shared[key] = known
        return isFaster ? .faster(than: before) : .shared
    }

    mutating func disown(_ key: DiagnosticKey, _ client: Client) -> Disowning {
        guard var known = shared[key] else { return .unknown }
        guard known.owners.remove(client) != nil else { return .foreign }
        guard known.owners.isEmpty else {
            shared[key] = known
            return .othersLeft
        }
        drop(key)
        return .lastOne
    }

    /// - Returns: What nobody wants any more.
    mutating func leave(_ client: Client) -> [DiagnosticRequest] {
        order.compactMap { key -> DiagnosticRequest? in
            guard let request = shared[key]?.request, case .lastOne = disown(key, client) else {
                return nil
            }
            return request
        }
    }

    /// The vehicle interface does not repeat it. Whoever shared it gets nothing any more, either.
    mutating func refused(_ key: DiagnosticKey) {
        drop(key)
    }

    var all: [DiagnosticRequest] { order.compactMap { shared[$0]?.request } }

    func owners(of request: DiagnosticRequest) -> Set<Client> {
        shared[DiagnosticKey(request)]?.owners ?? []
    }

    private mutating func drop(_ key: DiagnosticKey) {
        shared[key] = nil
        order.removeAll { $0 == key }
    }
}
