import RelayCore
import SDLProtocol

/// The log for people: one line per entry, as short as the console that bench users know from the RPC
/// Builder. Driven by `TrafficLog`.
///
///     10:31:07.131  Relay Test  ←  response  RegisterAppInterface #65529  SUCCESS  9.4 KiB  8 ms
///     time          app            kind      what                         result   size     latency
struct TrafficTextFormat: Sendable {
    /// Columns of the app's name; longer names are shortened.
    static let appColumns = 16
    static let kindColumns = 8
    /// Fits "OnSystemCapabilityUpdated" and most functions with their correlation ID.
    static let whatColumns = 27
    /// Scalars shown of a response's `info`.
    static let infoLimit = 160

    /// Responses that took longer are marked, unless they wait for people: 1 s in nanoseconds. A person at
    /// the head unit notices that; recorded sessions of sdl_core answer within 0.4 s.
    static let slowResponse: Int64 = 1_000_000_000

    private var time: LocalTimeText

    init(zone: LogTimeZone) {
        time = LocalTimeText(zone: zone)
    }

    /// Appends the line of `entry`, without a line end.
    mutating func append(_ entry: TrafficEntry, to line: inout LineBuilder) {
        line.begin(.unimportant)
        time.append(entry.time, to: &line)
        line.endColour()
        line.gap()
        appendUntimed(entry, to: &line)
    }

    /// Appends the line of `entry` from the app on.
    func appendUntimed(_ entry: TrafficEntry, to line: inout LineBuilder) {
        appendApp(entry, to: &line)
        line.gap()
        switch entry.direction {
        case .fromApp: line.append("→")
        case .fromAccessory: line.append("←")
        case nil: line.append("·")
        }
        line.gap()
        switch entry.content {
        case .rpc(let rpc): append(rpc, entry, to: &line)
        case .control(let control): append(control, entry, to: &line)
        case .stream(let summary): append(summary, entry, to: &line)
        case .security(let query): append(query, entry, to: &line)
        case .encrypted: appendEncrypted(entry, to: &line)
        case .undecodable(let undecodable): append(undecodable, entry, to: &line)
        case .dropped(let dropped): append(dropped, entry, to: &line)
        case .event(let event): append(event, entry, to: &line)
        }
        append(entry.fate, to: &line)
        line.trimEnd()
    }

    /// Appends `message`, the line of `entry` without its time, to the object made by `TrafficJSONFormat`:
    /// log collectors look for that member.
    ///
    /// - Parameter words: A buffer for the line.
    func appendMessage(
        _ entry: TrafficEntry, to line: inout LineBuilder, using words: inout LineBuilder
    ) {
        words.clear()
        appendUntimed(entry, to: &words)
        line.cut(to: line.bytes.count - 1)
        line.append(",\"message\":\"")
        line.append(escapedWordsOf: words)
        line.append("\"}")
    }

    private func append(_ fate: FrameFate, to line: inout LineBuilder) {
        switch fate {
        case .dropped(.answersRelay): line.append("  to relayd")
        case .forwarded, .dropped: break
        case .amended: line.append("  secondary transports taken out")
        case .replaced: line.append("  not passed on as it is")
        case .byRelay: line.append("  by relayd")
        case .faulted(let mark): line.append("  \(mark)")
        }
    }

    /// Appends the rest of the line of `entry`, without time, app, arrow, kind, name, size and latency: for
    /// an answer its result first. Appends nothing if there is nothing more.
    func appendSummary(_ entry: TrafficEntry, to line: inout LineBuilder) {
        switch entry.content {
        case .rpc(let rpc):
            if let outcome = rpc.outcome { append(outcome, rpc, mark: "", to: &line) }
            appendContents(of: rpc, to: &line)
            if rpc.isSlow {
                line.gap()
                line.append("slow", .warning)
            }
            appendTroubles(of: rpc, to: &line)
        case .control(let control): appendDetails(of: control, entry, to: &line)
        case .stream(let summary):
            line.gap()
            appendFlow(of: summary, to: &line)
            appendDetails(of: summary, entry, to: &line)
        case .security(let query): appendDetails(of: query, to: &line)
        case .encrypted: break
        case .undecodable(let undecodable):
            line.gap()
            line.append(undecodable.reason.description)
            appendFirstBytes(of: undecodable, to: &line)
        case .dropped(let dropped):
            line.gap()
            line.append(dropped.reason.description)
        case .event(let event):
            line.gap()
            appendWords(of: event, entry, isNamed: false, to: &line)
        }
        append(entry.fate, to: &line)
    }

    private func appendApp(_ entry: TrafficEntry, to line: inout LineBuilder) {
        line.beginColumn()
        if let name = entry.appName, !name.isEmpty {
            return line.append(printable: name, inColumn: Self.appColumns)
        } else if let app = entry.app {
            line.append(ascii: "#")
            line.append(app.rawValue)
        } else {
            line.append(entry.direction == nil ? "relayd" : "-")
        }
        line.endColumn(width: Self.appColumns)
    }

    // MARK: RPCs

    private func append(_ rpc: RPCEntry, _ entry: TrafficEntry, to line: inout LineBuilder) {
        let message = rpc.message
        line.begin(rpc.colour)
        switch message.type {
        case .request: line.append("request ")
        case .response: line.append("response")
        case .notification: line.append("notify  ")
        }
        line.endColour()
        line.gap()
        append(what: message, isBad: message.type == .notification && entry.isBad, to: &line)
        if let outcome = rpc.outcome { append(outcome, rpc, mark: "!", to: &line) }
        appendContents(of: rpc, to: &line)
        appendSize(entry, to: &line)
        if let latency = rpc.latency { append(latency: latency, rpc, to: &line) }
        appendTroubles(of: rpc, to: &line)
    }

    /// Appends the contents of an RPC.
    private func appendContents(of rpc: RPCEntry, to line: inout LineBuilder) {
        let message = rpc.message
        line.append(highlights: RPCHighlights.of(message), of: message.parameters)
        if message.isTruncated { line.append("  parameters too long to show") }
        if message.bulkBytes > 0 {
            line.append("  bulk ")
            line.append(size: message.bulkBytes)
            if let bulk = rpc.bulk { append(bulk, to: &line) }
        }
    }

    /// Appends the problems of an RPC.
    private func appendTroubles(of rpc: RPCEntry, to line: inout LineBuilder) {
        if let problem = rpc.problem {
            line.gap()
            line.append("\(problem)!", .warning)
        }
        if let problem = rpc.worstProblem {
            line.gap()
            line.begin(problem.isError ? .failure : .warning)
            line.append("⚠ ")
            line.append(problem.description)
            let more = rpc.problems - 1
            if more > 0 {
                line.append(" +")
                line.append(more)
                line.append(" more")
            }
            line.endColour()
        }
        if let replaced = rpc.replaced {
            line.gap()
            line.append("the ID still belongs to \(replaced.functionID)!", .warning)
        }
        if rpc.isUnasked {
            line.gap()
            line.append("nobody asked!", .warning)
        }
    }

    private func append(_ bulk: BulkFacts, to line: inout LineBuilder) {
        if let name = bulk.name {
            line.append(ascii: " ")
            line.append(name)
        }
        switch bulk.isChecksumRight {
        case true?: line.append(" crc ok")
        case false?:
            line.append(ascii: " ")
            line.append("crc wrong!", .warning)
        case nil: break
        }
    }

    /// Appends function name and correlation ID, as a column.
    func append(
        what message: RPCMessage, isBad: Bool = false, to line: inout LineBuilder
    ) {
        line.beginColumn()
        if isBad { line.begin(.failure) }
        if let name = message.functionID.name {
            line.append(name)
        } else {
            line.append(message.functionName)
        }
        if isBad {
            line.append(ascii: "!")
            line.endColour()
        }
        if message.type != .notification, let correlationID = message.correlationID {
            line.append(" #")
            line.append(correlationID)
        }
        line.endColumn(width: Self.whatColumns)
    }

    /// - Parameter mark: Follows a failure: "!" makes it stand out without colours and for `grep '!'`.
    private func append(
        _ outcome: RPCOutcome, _ rpc: RPCEntry, mark: StaticString, to line: inout LineBuilder
    ) {
        line.gap()
        line.begin(rpc.colour)
        if outcome.resultCode.isEmpty {
            line.append(outcome.success ? "success" : "failed")
        } else {
            line.append(printable: outcome.resultCode, limit: RPCHighlights.textLimit)
        }
        if !outcome.success { line.append(mark) }
        line.endColour()
        let parameters = rpc.message.parameters
        if !outcome.success || outcome.isWarning, let info = parameters.value("info"),
            info.kind == .string, info.range.count > 2
        {
            line.append("  \"")
            line.append(printable: info, of: parameters, limit: Self.infoLimit)
            line.append(ascii: "\"")
        }
        if let request = rpc.request, request.functionID != rpc.message.functionID {
            line.append("  to ")
            line.append(request.functionID.description)
        }
    }

    private func append(latency: Int64, _ rpc: RPCEntry, to line: inout LineBuilder) {
        line.gap()
        if rpc.isSlow { line.begin(.warning) }
        line.append(latency: latency)
        if rpc.isSlow {
            line.append(" slow")
            line.endColour()
        }
    }

    // MARK: Pieces

    func append(frames: Int, to line: inout LineBuilder) {
        line.append(frames)
        line.append(frames == 1 ? " frame" : " frames")
    }

    func appendSize(_ entry: TrafficEntry, to line: inout LineBuilder) {
        line.gap()
        line.append(size: entry.bytes)
        guard entry.frames > 1 else { return }
        line.append(" in ")
        append(frames: entry.frames, to: &line)
    }
}

extension RPCEntry {
    /// Whether it took longer than people should have to wait.
    fileprivate var isSlow: Bool {
        latency.map { $0 >= TrafficTextFormat.slowResponse } ?? false && !waitsForPeople
    }
}

extension TrafficEntry {
    /// Whether the entry stands out.
    var isBad: Bool { priority >= .warning }
}
