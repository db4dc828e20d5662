import DecodedTraces
import RelayCore
import SDLProtocol
import SDLTraffic
import Traces

/// The output of `relayctl trace diff` with --json.
struct TraceDiffReport: Encodable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    var schema = 1
    var same: Bool
    var first: String
    var second: String
    var lanes: [Lane]

    /// What one app sent and received, in one respect.
    struct Lane: Encodable, Sendable, Equatable {
        var app: String
        /// "requests", "notifications", "vehicle data" or "services".
        var about: String
        var same: Bool
        /// Number of items that both have.
        var equal: Int
        var onlyInFirst: Int
        var onlyInSecond: Int
        /// The first differences: "- " and "+ ", and with two leading blanks what both have.
        var lines: [String]

        enum CodingKeys: String, CodingKey {
            case app, about, same, equal
            case onlyInFirst = "only_in_first"
            case onlyInSecond = "only_in_second"
            case lines
        }
    }

    func text(_ style: Style) -> String {
        let apps = Set(lanes.map(\.app)).count
        let equal = Units.sum(lanes.map(\.equal))
        guard !same else {
            return "the same conversation: \(Units.count(apps, "app")), \(equal) requests, "
                + "notifications and services\n"
        }
        var lines = [
            style(.red, "--- \(SafeText.line(first))"),
            style(.green, "+++ \(SafeText.line(second))"),
        ]
        for lane in lanes where !lane.same {
            lines.append(style(.bold, "@ \(SafeText.line(lane.app)), \(lane.about)"))
            lines += lane.lines.map { line in
                let look: Style.Look? =
                    line.hasPrefix("-") ? .red : line.hasPrefix("+") ? .green : nil
                return style(look, SafeText.line(line))
            }
            let told = lane.lines.count { !$0.hasPrefix(" ") }
            let more = Units.sum([lane.onlyInFirst, lane.onlyInSecond]) - told
            if more > 0 { lines.append("  and \(Units.count(more, "difference")) more") }
        }
        lines.append("different conversations: \(equal) the same")
        return lines.map { $0 + "\n" }.joined()
    }
}

/// Compares two traces while they are read. Items without a counterpart yet are kept, within a limit.
struct TraceDiff {
    private let paths: [String]
    private var lanes: [TraceConversation.Lane: LaneDiff] = [:]
    private var order: [TraceConversation.Lane] = []

    /// How far one trace may be ahead of the other.
    private static let maximumBacklog = 1_000_000

    init(_ first: String, _ second: String) {
        paths = [first, second]
    }

    /// - Throws: `TraceFileError`, `TraceFailure`.
    mutating func run() throws -> TraceDiffReport {
        let sides = paths.map { TraceConversation($0) }
        // The side that is behind goes on.
        var ahead = 0
        while !sides[0].isAtEnd || !sides[1].isAtEnd {
            let side = sides[0].isAtEnd || (ahead > 0 && !sides[1].isAtEnd) ? 1 : 0
            for (lane, words) in try sides[side].next() {
                if lanes[lane] == nil { order.append(lane) }
                ahead += lanes[lane, default: LaneDiff()].add(words, to: side)
            }
            guard abs(ahead) <= Self.maximumBacklog else {
                throw TraceFailure(
                    "\(paths[0]) and \(paths[1]) have nothing in common over "
                        + "\(Self.maximumBacklog) messages: cut the part to compare out of both")
            }
        }
        var found: [TraceDiffReport.Lane] = []
        for lane in order {
            lanes[lane]?.finish()
            guard let diff = lanes[lane] else { continue }
            found.append(
                .init(
                    app: lane.app, about: lane.about.rawValue, same: diff.isSame, equal: diff.equal,
                    onlyInFirst: diff.counts[0], onlyInSecond: diff.counts[1], lines: diff.lines))
        }
        found.sort { ($0.app, $0.about) < ($1.app, $1.about) }
        return TraceDiffReport(
            same: found.allSatisfy(\.same), first: paths[0], second: paths[1], lanes: found)
    }
}

/// Two rows of items, compared as they arrive.
private struct LaneDiff {
    private var rows: [[String]] = [[], []]
    /// Start of the part of each row that has not been compared.
    private var starts = [0, 0]
    private var context: String?
    private(set) var equal = 0
    /// Number of items that only one side has.
    private(set) var counts = [0, 0]
    private(set) var lines: [String] = []

    /// How far ahead to search both for where they meet again.
    private static let window = 64
    /// Number of equal items in a row that is no coincidence.
    private static let run = 3
    private static let maximumLines = 200

    var isSame: Bool { counts == [0, 0] }

    private func waiting(_ side: Int) -> Int { rows[side].count - starts[side] }

    /// - Returns: The change in how far the first is ahead of the second.
    mutating func add(_ words: String, to side: Int) -> Int {
        let before = waiting(0) - waiting(1)
        rows[side].append(words)
        compare(isAtEnd: false)
        for side in 0...1 where starts[side] > 1024 {
            rows[side].removeFirst(starts[side])
            starts[side] = 0
        }
        return waiting(0) - waiting(1) - before
    }

    mutating func finish() {
        compare(isAtEnd: true)
        take(waiting(0), of: 0)
        take(waiting(1), of: 1)
    }

    private mutating func compare(isAtEnd: Bool) {
        while waiting(0) > 0, waiting(1) > 0 {
            if rows[0][starts[0]] == rows[1][starts[1]] {
                context = rows[0][starts[0]]
                equal += 1
                starts = [starts[0] + 1, starts[1] + 1]
                continue
            }
            guard isAtEnd || min(waiting(0), waiting(1)) >= Self.window else { return }
            let (one, two) = meeting()
            if let context { tell("  " + context) }
            context = nil
            take(one, of: 0)
            take(two, of: 1)
        }
    }

    /// How many items of each side to skip until both are equal again, for a while or to the end.
    private func meeting() -> (Int, Int) {
        let (one, two) = (min(waiting(0), Self.window), min(waiting(1), Self.window))
        // Most of the time it is a different result.
        if one > 1, two > 1, meets(1, 1) { return (1, 1) }
        for sum in 1..<(one + two) {
            for first in max(0, sum - two + 1)...min(sum, one - 1) {
                if meets(first, sum - first) { return (first, sum - first) }
            }
        }
        return (one, two)
    }

    private func meets(_ one: Int, _ two: Int) -> Bool {
        let count = min(waiting(0) - one, waiting(1) - two, Self.run)
        return (0..<count).allSatisfy {
            rows[0][starts[0] + one + $0] == rows[1][starts[1] + two + $0]
        }
    }

    private mutating func take(_ count: Int, of side: Int) {
        for words in rows[side][starts[side]..<starts[side] + count] {
            tell((side == 0 ? "- " : "+ ") + words)
        }
        starts[side] += count
        counts[side] += count
    }

    private mutating func tell(_ line: String) {
        if lines.count < Self.maximumLines { lines.append(line) }
    }
}

/// The conversation in one trace, app by app and without times and numbers.
final class TraceConversation {
    struct Lane: Hashable {
        enum About: String {
            case requests, notifications, services
            case vehicleData = "vehicle data"
        }

        var app: String
        var about: About
    }

    private struct App {
        /// Set once the app has registered or left.
        var name: String?
        /// Items from before the name was known.
        var early: [(Lane.About, String)] = []
        /// Requests in their order; the result is nil until the answer arrives.
        var requests: [(number: UInt64, words: String, result: String?)] = []
        var lastNotification: String?
        var hasVehicleData = false
    }

    private var files: TraceFiles
    private var decoding = TraceDecoding(isValidating: false)
    private var apps: [AppID: App] = [:]
    /// Number of apps of each name so far.
    private var names: [String: Int] = [:]
    private(set) var isAtEnd = false

    private static let maximumEarly = 64
    private static let maximumWaiting = 4096
    private static let maximumNames = 1000
    private static let unnamed = "(not registered)"
    private static let noAnswer = "no answer"

    init(_ path: String) {
        files = TraceFiles([path], onEnd: TraceFailure.tellUnfinished)
    }

    /// - Throws: `TraceFileError`.
    func next() throws(TraceFileError) -> [(Lane, String)] {
        var said: [(Lane, String)] = []
        guard let entry = try files.nextEntry() else {
            isAtEnd = true
            for id in apps.keys.sorted() { leave(id, &said) }
            return said
        }
        var decoded: [TrafficEntry] = []
        decoding.receive(entry, into: &decoded)
        for message in decoded { read(message, &said) }
        return said
    }

    private func read(_ message: TrafficEntry, _ said: inout [(Lane, String)]) {
        guard let id = message.app, apps[id] != nil || apps.count < Self.maximumNames else {
            return
        }
        switch message.content {
        case .event(.appConnected): leave(id, &said)
        case .event(.appClosed): leave(id, &said)
        case .control(let control): read(control, message, id, &said)
        case .rpc(let rpc): read(rpc, message, id, &said)
        default: break
        }
    }

    private func read(
        _ control: ControlEntry, _ message: TrafficEntry, _ id: AppID,
        _ said: inout [(Lane, String)]
    ) {
        switch control.type {
        case .heartbeat, .heartbeatACK, .serviceDataACK, .transportEventUpdate: return
        default:
            if message.fate == .replaced { return }
            say(id, .services, "\(control.type.name) \(message.service?.name ?? "")", &said)
        }
    }

    private func read(
        _ rpc: RPCEntry, _ message: TrafficEntry, _ id: AppID, _ said: inout [(Lane, String)]
    ) {
        let function = rpc.message.functionName
        switch rpc.message.type {
        case .request:
            if let name = message.appName, apps[id]?.name == nil {
                self.name(id, name, &said)
            }
            let who = message.direction == .fromApp ? "" : " (of the head unit)"
            apps[id, default: App()].requests.append((message.number, function + who, nil))
            if apps[id]?.requests.count ?? 0 > Self.maximumWaiting {
                apps[id]?.requests[0].result = Self.noAnswer
            }
        case .response:
            let result = rpc.outcome.map { outcome in
                outcome.resultCode.isEmpty
                    ? (outcome.success ? "success" : "failed") : outcome.resultCode
            }
            let index = apps[id]?.requests.firstIndex { $0.number == rpc.request?.number }
            if let index {
                apps[id]?.requests[index].result = result ?? ""
            } else {
                apps[id, default: App()].requests.append(
                    (message.number, "\(function), not asked", result ?? ""))
            }
        case .notification:
            if rpc.message.functionID == .onVehicleData {
                guard apps[id]?.hasVehicleData != true else { return }
                apps[id, default: App()].hasVehicleData = true
                say(id, .vehicleData, function, &said)
                return
            }
            var words = function
            if rpc.message.functionID == .onHMIStatus,
                let level = rpc.message.parameters.string("hmiLevel")
            {
                words += " \(level)"
            }
            if message.direction == .fromApp { words += " (of the app)" }
            guard apps[id]?.lastNotification != words else { return }
            apps[id, default: App()].lastNotification = words
            say(id, .notifications, words, &said)
        }
        sayAnswered(id, &said)
    }

    /// Reports requests in their order, each once it is answered.
    private func sayAnswered(_ id: AppID, _ said: inout [(Lane, String)]) {
        while let request = apps[id]?.requests.first, let result = request.result {
            apps[id]?.requests.removeFirst()
            say(id, .requests, "\(request.words) → \(result)", &said)
        }
    }

    private func say(
        _ id: AppID, _ about: Lane.About, _ words: String, _ said: inout [(Lane, String)]
    ) {
        if let name = apps[id]?.name {
            said.append((Lane(app: name, about: about), words))
            return
        }
        apps[id, default: App()].early.append((about, words))
        if apps[id]?.early.count ?? 0 > Self.maximumEarly { name(id, Self.unnamed, &said) }
    }

    private func name(_ id: AppID, _ name: String, _ said: inout [(Lane, String)]) {
        let isKnown = names[name] != nil
        let plain = isKnown || names.count < Self.maximumNames ? name : "(others)"
        let count = names[plain, default: 0] + 1
        names[plain] = count
        let full = count > 1 && plain != "(others)" ? "\(plain) (\(count))" : plain
        apps[id, default: App()].name = full
        for (about, words) in apps[id]?.early ?? [] {
            said.append((Lane(app: full, about: about), words))
        }
        apps[id]?.early = []
    }

    private func leave(_ id: AppID, _ said: inout [(Lane, String)]) {
        guard let app = apps[id] else { return }
        if app.name == nil, app.early.isEmpty, app.requests.isEmpty {
            apps[id] = nil
            return
        }
        if app.name == nil { name(id, Self.unnamed, &said) }
        for index in app.requests.indices where app.requests[index].result == nil {
            apps[id]?.requests[index].result = Self.noAnswer
        }
        sayAnswered(id, &said)
        apps[id] = nil
    }
}
