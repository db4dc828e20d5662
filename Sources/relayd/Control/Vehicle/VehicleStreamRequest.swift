import ControlAPI
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic

/// A client's request for the stream of a vehicle's messages, read from the query: where to begin, and
/// which messages.
struct VehicleStreamRequest: Sendable {
    var cursor = QueryCursor()
    var last: Int?
    var follows = true
    /// Whether to include the vehicle interface's raw bytes.
    var isRaw = false
    var filter = VehicleFilter()

    /// - Throws: `APIError` about an invalid value: what was found, what was expected.
    init(_ query: RequestQuery) throws(APIError) {
        var reader = QueryReader(query, known: VehicleQueryKey.allCases)
        while let (key, value) = try reader.next() {
            switch key {
            case .after: cursor.after = UInt64(try value.number(0...Int.max))
            case .instance: cursor.instance = value.text
            case .last: last = try value.number(0...VehicleTraffic.maximumEntries)
            case .follow: follows = try value.flag()
            case .raw: isRaw = try value.flag()
            case .name: filter.names.insert(value.text)
            case .bus:
                filter.buses.insert(Int32(clamping: try value.number(1...Int(Int32.max))))
            case .id:
                guard let range = IdentifierRange(value.text) else {
                    throw value.mismatch(IdentifierRange.expected)
                }
                filter.ids.append(range)
            case .mode: filter.modes.insert(UInt32(clamping: try value.number(1...255)))
            case .pid: filter.pids.insert(UInt32(clamping: try value.number(0...65_535)))
            case .kind:
                filter.kinds.insert(
                    try value.word(of: VehicleMessageKind.all.map(\.rawValue)) {
                        VehicleMessageKind(rawValue: $0)
                    })
            }
        }
    }

    /// Reads the query; if it has no cursor, a browser that reconnects resumes where it stopped.
    init(_ request: ControlRequest) throws(APIError) {
        try self.init(try RequestQuery(request.head.uri))
        cursor.resume(request)
    }
}

/// The entries a reader wants. Of several values of one kind, one must match; every kind that is
/// given must match.
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

    /// Whether the entry is wanted. Every reader is told about missed messages.
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
