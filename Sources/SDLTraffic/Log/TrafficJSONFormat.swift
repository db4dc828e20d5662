import NIOCore
import RelayCore
import SDLAdvice
import SDLProtocol

/// The log for programs: one JSON object per line. Driven by `TrafficLog`. Keys are stable; new
/// ones may be added. Absent means unknown or not applicable, never null.
///
/// always        n           number of the entry, from 1
///               time        RFC 3339, UTC; microseconds in the log, milliseconds in the API
///               kind        request, response, notification, control, stream, security,
///                           encrypted, undecodable, dropped, event
///               priority    debug, info, warning, error
///               level       the same word; relayd's own lines have more levels there
/// where         app         the app's connection: "#1"
///               app_name    as registered
///               app_id      as registered
///               session     0 while there is none
///               service     control, rpc, audio, video, bulk
///               from        app or accessory
///               bytes       payload, without frame headers
///               frames      when more than one
///               fate        amended, replaced, by_relay, to_relay, held, corrupted, truncated, repeated or
///                           reordered, when not simply forwarded
///               fault_rule  number of the fault rule that did the last five, or dropped it
/// RPCs          function, function_id, correlation_id
///               success, result_code, info      responses
///               latency_ms, request             responses; n of the request
///               waits_for_people                true: a person brings the answer; not of notifications
///               unasked                         true: a response that no request waits for
///               replaces                        requests; n of the one whose ID it took
///               bulk_bytes                      size only, never bytes
///               bulk_kind                       where it can be told: "PNG 70×70", "PCM 16 kHz 16 bit"
///               crc_matches                     of PutFile with crc: whether the data has it
///               params                          as it travelled, without whitespace
///               params_truncated                true: too long, params left out
///               problem                         assembled, but not as announced
///               problems                        what the specification has against it: objects
///                                               with rule, severity (note, warning, error), path
///                                               (of the parameter, "" = all), message, did_you_mean
/// control       control (the frame's name), protocol_version (of its header), protected, payload:
///               its keys as they travelled, authToken blanked out; fault (app, relayd or
///               head_unit) of a StartServiceNAK; waits_for_turn (true) of a StartService that
///               relayd sends when the head unit has answered those before it
/// stream        messages (begun since the line before; pictures of video), total_frames, total_bytes,
///               duration_ms, encrypted, final
/// security      query, error_code
/// undecodable   reason, function, first_bytes (hex)
/// dropped       reason, function or frame; by a fault rule also fault_rule, correlation_id, params
/// words         message     the text log's line without its time, one space between words; added by
///                           the writer of the lines, and absent where `summary` replaces it
/// event         event: app_connected, app_left, link_opened, link_closed, missed; with peer,
///               reason or address. unanswered: function, correlation_id, request, waited_ms;
///               unanswered_start: waited_ms, fault; notice: reason
struct TrafficJSONFormat: Sendable {
    private var time: UTCTimeText
    private let isWhole: Bool
    private let maximumParameterBytes: Int

    /// - Parameters:
    ///   - isWhole: If false, leaves out `params`, `payload` and `problems`.
    ///   - maximumParameterBytes: Leaves out `params` that would take more bytes of the line.
    init(
        time precision: UTCTimeText.Precision, isWhole: Bool = true,
        maximumParameterBytes: Int = .max
    ) {
        time = UTCTimeText(precision)
        self.isWhole = isWhole
        self.maximumParameterBytes = maximumParameterBytes
    }

    /// Appends the object of `entry`, without a line end.
    mutating func append(_ entry: TrafficEntry, to line: inout LineBuilder) {
        line.append("{\"n\":")
        line.append(entry.number)
        line.append(",\"time\":\"")
        time.append(entry.time, to: &line)
        line.append("\",\"kind\":\"")
        line.append(entry.content.kind)
        line.append("\",\"priority\":\"")
        line.append(entry.priority.name)
        line.append("\",\"level\":\"")
        line.append(entry.priority.name)
        line.append(ascii: "\"")
        appendPlace(entry, to: &line)
        switch entry.content {
        case .rpc(let rpc): append(rpc, to: &line)
        case .control(let control): append(control, to: &line)
        case .stream(let summary): append(summary, to: &line)
        case .security(let query): append(query, to: &line)
        case .encrypted: break
        case .undecodable(let undecodable):
            append(undecodable, to: &line)
            append(entry.validation, to: &line)
        case .dropped(let dropped): append(dropped, to: &line)
        case .event(let event): append(event, to: &line)
        }
        if let fault = entry.startFault { line.append(key: "fault", string: fault.rawValue) }
        line.append(ascii: "}")
    }

    private func appendPlace(_ entry: TrafficEntry, to line: inout LineBuilder) {
        if let app = entry.app {
            line.append(",\"app\":\"#")
            line.append(app.rawValue)
            line.append(ascii: "\"")
        }
        if let name = entry.appName { line.append(key: "app_name", string: name) }
        if let appID = entry.registeredAppID { line.append(key: "app_id", string: appID) }
        if let session = entry.sessionID { line.append(key: "session", number: session) }
        if let service = entry.service { line.append(key: "service", string: service.name) }
        if let direction = entry.direction {
            line.append(key: "from", string: direction.sender)
            line.append(key: "bytes", number: entry.bytes)
        }
        if entry.frames > 1 { line.append(key: "frames", number: entry.frames) }
        switch entry.fate {
        case .dropped(.answersRelay): line.append(",\"fate\":\"to_relay\"")
        case .forwarded, .dropped: break
        case .amended: line.append(",\"fate\":\"amended\"")
        case .replaced: line.append(",\"fate\":\"replaced\"")
        case .byRelay: line.append(",\"fate\":\"by_relay\"")
        case .faulted(let mark):
            line.append(key: "fate", string: mark.kind.rawValue)
            line.append(key: "fault_rule", number: mark.rule)
        }
    }

    private func append(_ rpc: RPCEntry, to line: inout LineBuilder) {
        let message = rpc.message
        line.append(key: "function", string: message.functionName)
        line.append(key: "function_id", number: message.functionID.rawValue)
        if let correlationID = message.correlationID {
            line.append(key: "correlation_id", number: correlationID)
        }
        if let outcome = rpc.outcome {
            line.append(key: "success", bool: outcome.success)
            line.append(key: "result_code", string: outcome.resultCode)
            if let info = message.parameters.string("info") {
                line.append(key: "info", string: info)
            }
        }
        if let latency = rpc.latency {
            line.append(key: "latency_ms", milliseconds: latency)
        }
        if let request = rpc.request { line.append(key: "request", number: request.number) }
        if let replaced = rpc.replaced { line.append(key: "replaces", number: replaced.number) }
        if message.type != .notification, rpc.waitsForPeople {
            line.append(key: "waits_for_people", bool: true)
        }
        if rpc.isUnasked { line.append(key: "unasked", bool: true) }
        if message.bulkBytes > 0 { line.append(key: "bulk_bytes", number: message.bulkBytes) }
        if let name = rpc.bulk?.name { line.append(key: "bulk_kind", string: name) }
        if let isRight = rpc.bulk?.isChecksumRight {
            line.append(key: "crc_matches", bool: isRight)
        }
        append(parametersOf: message, to: &line)
        if let problem = rpc.problem { line.append(key: "problem", string: problem.description) }
        append(rpc.validation, to: &line)
    }

    private func append(parametersOf message: RPCMessage, to line: inout LineBuilder) {
        let start = line.bytes.count
        if isWhole, !message.isTruncated {
            line.append(",\"params\":")
            line.append(compacted: message.parameters)
        }
        guard message.isTruncated || line.bytes.count - start > maximumParameterBytes else {
            return
        }
        line.cut(to: start)
        line.append(key: "params_truncated", bool: true)
    }

    private func append(_ problems: [ValidationProblem], to line: inout LineBuilder) {
        guard isWhole, !problems.isEmpty else { return }
        line.append(",\"problems\":[")
        for (index, problem) in problems.enumerated() {
            line.append(index == 0 ? "{\"rule\":" : ",{\"rule\":")
            line.append(jsonString: problem.rule.rawValue)
            line.append(key: "severity", string: problem.severity.name)
            line.append(key: "path", string: problem.path)
            line.append(key: "message", string: problem.description)
            if let hint = problem.hint { line.append(key: "did_you_mean", string: hint) }
            line.append(ascii: "}")
        }
        line.append(ascii: "]")
    }

    private func append(_ control: ControlEntry, to line: inout LineBuilder) {
        line.append(key: "control", string: control.type.name)
        line.append(key: "protocol_version", number: control.version)
        if control.isProtected { line.append(key: "protected", bool: true) }
        if control.isWaiting { line.append(key: "waits_for_turn", bool: true) }
        guard isWhole, control.payload != .none else { return }
        line.append(",\"payload\":")
        line.append(jsonPayload: control.payload)
    }

    private func append(_ summary: StreamSummary, to line: inout LineBuilder) {
        line.append(key: "messages", number: summary.messages)
        line.append(key: "total_frames", number: summary.totalFrames)
        line.append(key: "total_bytes", number: summary.totalBytes)
        line.append(key: "duration_ms", milliseconds: summary.duration)
        if summary.isEncrypted { line.append(key: "encrypted", bool: true) }
        if summary.isFinal { line.append(key: "final", bool: true) }
    }

    private func append(_ query: SecurityQuery, to line: inout LineBuilder) {
        switch query.queryID {
        case .sendHandshakeData: line.append(key: "query", string: "SendHandshakeData")
        case .sendInternalError: line.append(key: "query", string: "SendInternalError")
        case .invalid, nil: break
        }
        if let code = query.errorCode { line.append(key: "error_code", number: code) }
    }

    private func append(_ undecodable: UndecodableEntry, to line: inout LineBuilder) {
        line.append(key: "reason", string: undecodable.reason.description)
        if let header = undecodable.header {
            line.append(
                key: "function", string: FunctionID(rawValue: header.functionID).description)
        }
        line.append(",\"first_bytes\":\"")
        line.append(hexBytes: undecodable.firstBytes, separated: false)
        line.append(ascii: "\"")
    }

    private func append(_ dropped: DroppedEntry, to line: inout LineBuilder) {
        line.append(key: "reason", string: dropped.reason.description)
        // A fault rule dropped it, so its user may want to see its contents, or answer it.
        if case .fault(let rule) = dropped.reason {
            line.append(key: "fault_rule", number: rule)
            if let rpc = dropped.rpc, let correlationID = rpc.correlationID {
                line.append(key: "correlation_id", number: correlationID)
            }
        }
        if let rpc = dropped.rpc {
            line.append(key: "function", string: rpc.functionName)
            if case .fault = dropped.reason { append(parametersOf: rpc, to: &line) }
        } else if let frame = dropped.frame {
            line.append(key: "frame", string: frame.controlType?.name ?? "\(frame.type)")
        }
    }

    private func append(_ event: EventEntry, to line: inout LineBuilder) {
        switch event {
        case .appConnected(let peer):
            line.append(",\"event\":\"app_connected\"")
            line.append(key: "peer", string: peer)
        case .appClosed(let reason):
            line.append(",\"event\":\"app_left\"")
            line.append(key: "reason", string: reason)
        case .session: break  // Never shown: `TrafficEntry.isForPeople`.
        case .linkOpened(_, let address):
            line.append(",\"event\":\"link_opened\"")
            line.append(key: "address", string: address)
        case .linkClosed(let reason):
            line.append(",\"event\":\"link_closed\"")
            line.append(key: "reason", string: reason)
        case .missed(let frames, let bytes):
            line.append(",\"event\":\"missed\"")
            line.append(key: "missed_frames", number: frames)
            line.append(key: "missed_bytes", number: bytes)
        case .unanswered(let request, let waited):
            line.append(",\"event\":\"unanswered\"")
            line.append(key: "function", string: request.functionID.description)
            line.append(key: "correlation_id", number: request.correlationID)
            line.append(key: "request", number: request.number)
            line.append(key: "waited_ms", milliseconds: waited)
        case .unansweredStart(let waited):
            line.append(",\"event\":\"unanswered_start\"")
            line.append(key: "waited_ms", milliseconds: waited)
        case .noticed(let notice):
            line.append(",\"event\":\"notice\"")
            line.append(key: "reason", string: notice.description)
        }
    }
}

extension LineBuilder {
    fileprivate mutating func append(key: StaticString) {
        append(",\"")
        append(key)
        append("\":")
    }

    fileprivate mutating func append(key: StaticString, string: String) {
        append(key: key)
        append(jsonString: string)
    }

    fileprivate mutating func append(key: StaticString, number: some FixedWidthInteger) {
        append(key: key)
        append(number)
    }

    fileprivate mutating func append(key: StaticString, bool: Bool) {
        append(key: key)
        append(bool ? "true" : "false")
    }

    /// Nanoseconds as milliseconds with three decimals.
    fileprivate mutating func append(key: StaticString, milliseconds nanoseconds: Int64) {
        append(key: key)
        let microseconds = UInt64(max(0, nanoseconds)) / 1000
        append(microseconds / 1000, digits: 1)
        append(ascii: ".")
        append(microseconds % 1000, digits: 3)
    }
}

extension TrafficPriority {
    /// The name in options and JSON.
    package var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }

    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

extension TrafficEntry.Content {
    /// The word in JSON lines and journal fields.
    package var kind: String {
        switch self {
        case .rpc(let rpc): rpc.message.type.name
        case .control: "control"
        case .stream: "stream"
        case .security: "security"
        case .encrypted: "encrypted"
        case .undecodable: "undecodable"
        case .dropped: "dropped"
        case .event: "event"
        }
    }
}
