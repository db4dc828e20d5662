import ControlAPI
import DidYouMean
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic
import SDLProtocol

/// What a client wants of the stream of a vehicle's messages, read from the query: where to begin, and
/// which.
struct VehicleStreamRequest: Sendable {
    var after: UInt64?
    var instance: String?
    var last: Int?
    var follows = true
    /// With the vehicle interface's own bytes.
    var isRaw = false
    var filter = VehicleFilter()

    /// - Throws: `APIError` about a value that is not understood: what was found, what was expected.
    init(_ query: RequestQuery) throws(APIError) {
        var seen: Set<VehicleQueryKey> = []
        for (name, text) in query.items {
            let key = try Self.key(name)
            guard seen.insert(key).inserted || key.isRepeatable else {
                throw APIError(.badRequest, "\"\(key.rawValue)\" is given twice; expected once")
            }
            switch key {
            case .after: after = UInt64(try Self.number(text, key, 0...Int.max))
            case .instance: instance = text
            case .last: last = try Self.number(text, key, 0...VehicleTraffic.maximumEntries)
            case .follow: follows = try Self.flag(text, key)
            case .raw: isRaw = try Self.flag(text, key)
            case .name: filter.names.insert(text)
            case .bus:
                filter.buses.insert(Int32(clamping: try Self.number(text, key, 1...Int(Int32.max))))
            case .id:
                guard let range = IdentifierRange(text) else {
                    throw Self.mismatch(text, key, IdentifierRange.expected)
                }
                filter.ids.append(range)
            case .mode:
                filter.modes.insert(UInt32(clamping: try Self.number(text, key, 1...255)))
            case .pid:
                filter.pids.insert(UInt32(clamping: try Self.number(text, key, 0...65_535)))
            case .kind:
                let kind = VehicleMessageKind(rawValue: text)
                guard VehicleMessageKind.all.contains(kind) else {
                    let known = VehicleMessageKind.all.map(\.rawValue).joined(separator: ", ")
                    throw Self.mismatch(text, key, "one of \(known)")
                }
                filter.kinds.insert(kind)
            }
        }
    }

    /// The query; when it names no cursor, where a browser goes on that reconnects.
    init(_ request: ControlRequest) throws(APIError) {
        try self.init(try RequestQuery(request.head.uri))
        guard after == nil, let last = StreamFraming.lastEvent(request) else { return }
        (instance, after) = (last.instance, UInt64(clamping: last.after))
    }

    private static func key(_ name: String) throws(APIError) -> VehicleQueryKey {
        if let key = VehicleQueryKey(rawValue: name) { return key }
        let known = VehicleQueryKey.allCases.map(\.rawValue)
        let hint = Spelling.nearest(name, in: known).map { "; did you mean \"\($0)\"?" }
        let shown = PrintableText.string(name, limit: 40)
        throw APIError(
            .badRequest,
            "there is no \"\(shown)\" in the query; known: "
                + known.joined(separator: ", ") + (hint ?? ""))
    }

    private static func flag(_ text: String, _ key: VehicleQueryKey) throws(APIError) -> Bool {
        guard text == "0" || text == "1" else { throw mismatch(text, key, "1 or 0") }
        return text == "1"
    }

    private static func number(
        _ text: String, _ key: VehicleQueryKey, _ range: ClosedRange<Int>
    ) throws(APIError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            let upTo = range.upperBound == .max ? " up" : " to \(range.upperBound)"
            throw mismatch(text, key, "a whole number from \(range.lowerBound)\(upTo)")
        }
        return number
    }

    private static func mismatch(
        _ text: String, _ key: VehicleQueryKey, _ expected: String
    ) -> APIError {
        let shown = PrintableText.string(text, limit: 100)
        return APIError(.badRequest, "\(key.rawValue) is \"\(shown)\"; expected \(expected)")
    }
}

/// Which entries a reader wants. Of several values of one kind one must fit; all kinds must.
struct VehicleFilter: Sendable {
    var names: Set<String> = []
    var buses: Set<Int32> = []
    var ids: [IdentifierRange] = []
    var modes: Set<UInt32> = []
    var pids: Set<UInt32> = []
    var kinds: Set<VehicleMessageKind> = []

    private var isAboutContent: Bool {
        !names.isEmpty || !buses.isEmpty || !ids.isEmpty || !modes.isEmpty || !pids.isEmpty
    }

    /// Whether the entry is wanted. That messages passed unseen is told to everybody.
    func accepts(_ entry: VehicleEntry) -> Bool {
        if case .missed = entry.content { return true }
        if !kinds.isEmpty, !kinds.contains(entry.kind) { return false }
        guard isAboutContent else { return true }
        guard let content = entry.message?.content else { return false }
        var name: String?
        var place: (bus: Int32, id: UInt32?)?
        var service: (mode: UInt32, pid: UInt32)?
        switch content {
        case .measurement(let measurement): name = measurement.name
        case .can(let frame): place = (frame.bus, frame.id)
        case .diagnostic(let response):
            place = (response.bus, response.id)
            service = (response.mode, response.pid)
        case .command(.diagnosticRequest(_, let request)):
            place = (request.bus, request.id)
            service = (request.mode, request.pid)
        case .command(.passthrough(let bus, _)), .command(.acceptanceFilterBypass(let bus, _)):
            place = (bus, nil)
        case .command, .response, .header, .unknown: break
        }
        if !names.isEmpty, !(name.map(names.contains) ?? false) { return false }
        if !buses.isEmpty, !(place.map { buses.contains($0.bus) } ?? false) { return false }
        if !modes.isEmpty, !(service.map { modes.contains($0.mode) } ?? false) { return false }
        if !pids.isEmpty, !(service.map { pids.contains($0.pid) } ?? false) { return false }
        guard ids.isEmpty else {
            guard let id = place?.id else { return false }
            return ids.contains { $0.contains(id) }
        }
        return true
    }
}
