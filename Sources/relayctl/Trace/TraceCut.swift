import DecodedTraces
import Glibc
import MessageFilters
import RelayCore
import SDLProtocol
import SDLTraffic
import Traces

/// Reads traces twice: first to find the apps in the wanted part, then to write that part.
struct TraceCut {
    private let paths: [String]
    private let filter: MessageFilter
    /// Nil = all apps.
    private let appFilter: MessageFilter?
    private let from: TraceMoment?
    private let to: TraceMoment?

    /// Apps that appear in the wanted part.
    private var apps: Set<AppID> = []
    private var header: TraceHeader?
    private var traceStart = WallTime(nanoseconds: 0)
    private var start = WallTime(nanoseconds: .min)
    private var end = WallTime(nanoseconds: .max)

    /// A trace may claim any number of apps; a bench has a handful.
    private static let maximumApps = 100_000
    /// Nanoseconds after the end from which on an entry cannot answer anything before the end.
    private static let afterEnd: Int64 = 60_000_000_000

    init(
        _ paths: [String], filter: MessageFilter, apps: MessageFilter?, from: TraceMoment?,
        to: TraceMoment?
    ) {
        (self.paths, self.filter, appFilter) = (paths, filter, apps)
        (self.from, self.to) = (from, to)
    }

    private var hasFilter: Bool { !filter.expression.isEverything }

    /// - Throws: `TraceFileError`, `TraceFailure`.
    mutating func write(to path: String) throws -> TraceEnd {
        for path in paths { try Self.check(path) }
        try survey()
        guard let header else {
            throw TraceFailure("\(paths[0]) does not begin as a trace does")
        }
        guard start <= end else {
            throw TraceFailure("--from is later than --to: there is nothing between the two")
        }
        var output = try TraceOutput(path, header, deed: "cut", at: beginning(header))
        var selector = FrameSelector(filter)
        var isDeciding = true
        var files = TraceFiles(paths)
        let last = end.nanoseconds.addingReportingOverflow(Self.afterEnd)
        while let entry = try files.nextEntry() {
            if !last.overflow, entry.time.nanoseconds > last.partialValue { break }
            let isKept = judge(entry)
            guard hasFilter || entry.time < start else {
                if isDeciding {
                    for entry in selector.finish() { try output.append(entry) }
                    isDeciding = false
                }
                if isKept == true { try output.append(entry) }
                continue
            }
            if let app = entry.app, !apps.contains(app) { continue }
            for entry in selector.receive(entry, isKept: isKept, isCandidate: isInside(entry)) {
                try output.append(entry)
            }
        }
        for entry in selector.finish() { try output.append(entry) }
        return try output.finish(because: "cut")
    }

    private func beginning(_ header: TraceHeader) -> WallTime { max(traceStart, start) }

    /// Refuses pipes: a pipe would be empty the second time, or would block for ever.
    private static func check(_ path: String) throws(TraceFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFIFO, kind != S_IFCHR, kind != S_IFSOCK else {
            throw TraceFailure(
                "\(path) is not a file, and a trace is cut in two readings: write it to a file first"
            )
        }
    }

    // MARK: First reading

    private mutating func survey() throws {
        var files = TraceFiles(paths, onEnd: TraceFailure.tellUnfinished)
        var wanted = TraceMessages(filter)
        var named = appFilter.map { TraceMessages($0) }
        var ofName: Set<AppID> = []
        while let entry = try files.nextEntry() {
            if case .record(.trace(let header)) = entry.content, self.header == nil {
                self.header = header
                traceStart = entry.time
                if let from { start = from.time(entry.time) }
                if let to { end = to.time(entry.time) }
            }
            ofName.formUnion(Self.apps(of: named?.receive(entry) ?? []))
            if hasFilter {
                note(wanted.receive(entry))
            } else if isInside(entry), let app = entry.app, apps.count < Self.maximumApps {
                apps.insert(app)
            }
        }
        note(wanted.finish())
        if let events = named?.finish() {
            apps.formIntersection(ofName.union(Self.apps(of: events)))
        }
    }

    private mutating func note(_ events: [TraceMessages.Event]) {
        guard !events.isEmpty, apps.count < Self.maximumApps else { return }
        apps.formUnion(Self.apps(of: events) { isInside($0.time) })
    }

    private static func apps(
        of events: [TraceMessages.Event], _ isWanted: (TrafficEntry) -> Bool = { _ in true }
    ) -> [AppID] {
        events.compactMap { event in
            guard case .message(let message) = event, isWanted(message) else { return nil }
            return message.app
        }
    }

    // MARK: Second reading

    private func isInside(_ time: WallTime) -> Bool { start <= time && time <= end }

    private func isInside(_ entry: TraceEntry) -> Bool { isInside(entry.time) }

    /// Whether the entry is kept; nil where its message decides.
    private func judge(_ entry: TraceEntry) -> Bool? {
        if let app = entry.app {
            guard apps.contains(app) else { return false }
        } else if appFilter != nil, case .frame = entry.content {
            return false
        }
        switch entry.content {
        case .record(let record): return judge(record, entry.time)
        case .bytes: return !hasFilter && isInside(entry)
        case .frame(let tapped, _, _):
            guard entry.time <= end else { return false }
            if let type = tapped.frame.controlType {
                switch type {
                case .startService, .startServiceACK, .startServiceNAK, .endService,
                    .endServiceACK:
                    return true
                default: return hasFilter && isInside(entry) ? nil : isInside(entry)
                }
            }
            if isInside(entry), !hasFilter { return true }
            // Before the beginning, only a registration is kept.
            if !isInside(entry), !tapped.frame.service.carriesRPC { return false }
            return nil
        }
    }

    private func judge(_ record: TraceRecord, _ time: WallTime) -> Bool {
        switch record {
        case .linkOpened, .linkClosed, .appConnected, .appLeft, .startSent, .sessionEnded,
            .serviceEnded:
            time <= end
        case .notice, .advice: isInside(time) && !hasFilter
        case .gap, .mark, .other: isInside(time)
        case .trace, .end: false
        }
    }
}
