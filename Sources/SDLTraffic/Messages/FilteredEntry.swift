// Applies a filter to an entry. Used by `MessageFilter`.

import MessageFilters
import NIOCore
import RelayCore
import SDLProtocol

/// An entry to which a filter is applied, with its request or its answer. Nothing is copied or formatted
/// before a term needs it.
struct FilteredEntry: FilterSubject {
    let entry: TrafficEntry
    /// For a request, when known: its response, or the event that reports that there is none.
    var answer: TrafficEntry?
    /// Used to find the request of a response.
    let ring: MessageRing?
    /// The texts of the entry; nil if the filter does not search text.
    let texts: EntryTexts?

    init(
        _ entry: TrafficEntry, answer: TrafficEntry? = nil, ring: MessageRing?,
        texts: EntryTexts? = nil
    ) {
        self.entry = entry
        self.answer = answer
        self.ring = ring
        self.texts = texts
    }

    func holds(_ term: FilterTerm) -> Bool? {
        switch term {
        case .app(let pattern, let connection):
            return (connection != nil && entry.app?.rawValue == connection)
                || entry.appName.map(pattern.matches) ?? false
                || entry.registeredAppID.map(pattern.matches) ?? false
        case .name(let key, _, let names): return holds(key, names)
        case .ok: return isOK
        case .result(let pattern):
            guard let code = result else { return isWaiting ? nil : false }
            return pattern.matches(code)
        case .priority(let wanted, let isExact):
            let level = entry.priority.rawValue - TrafficPriority.debug.rawValue
            return isExact ? level == wanted.level : level >= wanted.level
        case .number(let key, let order, let wanted):
            guard let found = number(key) else {
                return key == .milliseconds && isWaiting ? nil : false
            }
            return order.holds(found, wanted.value)
        case .text(let pattern): return (texts ?? EntryTexts(entry)).has(pattern)
        case .parameter(let path, let test):
            if entry.has(path, test) { return true }
            return request?.has(path, test) ?? false
        }
    }

    private func holds(_ key: FilterTerm.NameKey, _ names: Set<String>) -> Bool {
        switch key {
        case .rpc: entry.isAbout(names)
        case .kind: names.contains(entry.content.kind)
        case .service: entry.service.map { names.contains($0.name) } ?? false
        case .from: entry.direction.map { names.contains($0 == .fromApp ? "app" : "unit") } ?? false
        }
    }

    // MARK: Exchanges

    /// Whether this is a request whose answer is not known yet.
    private var isWaiting: Bool {
        guard case .rpc(let rpc) = entry.content else { return false }
        return rpc.message.type == .request && answer == nil
    }

    private var isOK: Bool? {
        guard !entry.isBad else { return false }
        if isWaiting { return nil }
        return !(answer?.isBad ?? false) && !(request?.isBad ?? false)
    }

    /// For a response: its request, if still kept.
    private var request: TrafficEntry? {
        guard case .rpc(let rpc) = entry.content, let number = rpc.request?.number else {
            return nil
        }
        return ring?.message(number)
    }

    private var result: String? {
        guard case .rpc(let rpc) = (answer ?? entry).content else { return nil }
        return rpc.outcome?.resultCode
    }

    private func number(_ key: FilterTerm.NumberKey) -> Double? {
        switch key {
        case .milliseconds: (answer ?? entry).latency.map { Double($0 / 1000) / 1000 }
        // Events have no sender and no size.
        case .bytes: entry.direction == nil ? nil : Double(entry.bytes)
        case .number: Double(entry.number)
        case .correlation: entry.correlationID.map { Double($0) }
        case .session: entry.sessionID.map { Double($0) }
        }
    }
}

/// An entry with advice about it, judged as if it had the priority of the advice and had failed.
struct AdvisedEntry: FilterSubject {
    private let entry: FilteredEntry
    private let priority: TrafficPriority
    private let isBroken: Bool

    init(_ entry: FilteredEntry, priority: TrafficPriority, isBroken: Bool) {
        (self.entry, self.priority, self.isBroken) = (entry, priority, isBroken)
    }

    func holds(_ term: FilterTerm) -> Bool? {
        switch term {
        case .ok where isBroken: return false
        case .priority(let wanted, let isExact):
            let level = priority.rawValue - TrafficPriority.debug.rawValue
            return isExact ? level == wanted.level : level >= wanted.level
        default: return entry.holds(term)
        }
    }
}

extension TrafficEntry {
    /// Whether the entry concerns one of these functions.
    fileprivate func isAbout(_ names: Set<String>) -> Bool {
        switch content {
        case .rpc(let rpc):
            names.contains(rpc.message.functionName)
                || rpc.request.map { names.contains($0.functionID.description) } ?? false
        case .undecodable(let undecodable):
            undecodable.header.map {
                names.contains(FunctionID(rawValue: $0.functionID).description)
            } ?? false
        case .dropped(let dropped):
            dropped.rpc.map { names.contains($0.functionName) } ?? false
        case .event(.unanswered(let request, _)): names.contains(request.functionID.description)
        case .event, .control, .stream, .security, .encrypted: false
        }
    }

    fileprivate var correlationID: Int32? {
        switch content {
        case .rpc(let rpc): rpc.message.correlationID
        case .event(.unanswered(let request, _)): request.correlationID
        default: nil
        }
    }

    /// From request to answer, in nanoseconds; without an answer, the time so far.
    fileprivate var latency: Int64? {
        switch content {
        case .rpc(let rpc): rpc.latency
        case .event(.unanswered(_, let waited)), .event(.unansweredStart(let waited)): waited
        default: nil
        }
    }

    fileprivate func has(_ path: [FilterTerm.PathStep], _ test: FilterTerm.ParameterTest) -> Bool {
        guard case .rpc(let rpc) = content else { return false }
        return rpc.message.parameters.has(path[...], test)
    }
}

// MARK: - Text

/// The JSON and the line of an entry, as people see them. Each is made on demand, and only once for all text
/// terms of a filter.
final class EntryTexts {
    private let entry: TrafficEntry
    private lazy var json = made { line in
        var format = TrafficJSONFormat(time: .milliseconds)
        format.append(entry, to: &line)
        var words = LineBuilder()
        TrafficTextFormat(zone: .local).appendMessage(entry, to: &line, using: &words)
    }
    private lazy var line = made { line in
        var format = TrafficTextFormat(zone: .local)
        format.append(entry, to: &line)
    }

    init(_ entry: TrafficEntry) {
        self.entry = entry
    }

    func has(_ pattern: TextPattern) -> Bool {
        pattern.matches(json) || pattern.matches(line)
    }

    private func made(_ append: (inout LineBuilder) -> Void) -> String {
        var line = LineBuilder()
        append(&line)
        return String(decoding: line.bytes, as: UTF8.self)
    }
}
