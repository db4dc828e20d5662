// The lines for people of everything that is not an RPC: control frames, streams, unreadable messages,
// dropped frames, events. Called by `TrafficTextFormat.append`, which begins and ends them.

import NIOCore
import RelayCore
import SDLAdvice
import SDLProtocol

extension TrafficTextFormat {
    // MARK: Control frames

    func append(
        _ control: ControlEntry, _ entry: TrafficEntry, to line: inout LineBuilder
    ) {
        line.append("control ")
        line.gap()
        line.beginColumn()
        if entry.isBad { line.begin(.failure) }
        line.append(control.type.name)
        if entry.isBad {
            line.append(ascii: "!")
            line.endColour()
        }
        if let service = entry.service, service != .control {
            line.append(ascii: " ")
            line.append(service.name)
        }
        line.endColumn(width: Self.whatColumns)
        appendDetails(of: control, entry, to: &line)
        if entry.bytes > 0 { appendSize(entry, to: &line) }
    }

    func appendDetails(
        of control: ControlEntry, _ entry: TrafficEntry, to line: inout LineBuilder
    ) {
        if let session = entry.sessionID, session != 0 {
            line.append("  session ")
            line.append(session)
        }
        if control.isProtected { line.append("  protected") }
        for words in ControlDetails(control).words {
            line.gap()
            line.append(printable: words, limit: Self.infoLimit)
        }
        if control.isWaiting { line.append("  waits for its turn") }
        append(fault: entry.startFault, to: &line)
    }

    /// Appends the side at fault for a failed StartService.
    private func append(fault: FaultSide?, to line: inout LineBuilder) {
        guard let fault else { return }
        line.append("  fault: ")
        line.append(fault.name)
    }

    // MARK: Streams

    func append(
        _ summary: StreamSummary, _ entry: TrafficEntry, to line: inout LineBuilder
    ) {
        line.beginColumn()
        line.append(entry.service?.name ?? "stream")
        line.endColumn(width: Self.kindColumns)
        line.gap()
        line.beginColumn()
        appendFlow(of: summary, to: &line)
        line.endColumn(width: Self.whatColumns)
        appendDetails(of: summary, entry, to: &line)
        guard !summary.isFinal else { return }
        line.gap()
        line.append(size: summary.bytes)
    }

    func appendFlow(of summary: StreamSummary, to line: inout LineBuilder) {
        append(frames: summary.frames, to: &line)
        if let rate = summary.bitRate {
            line.append(ascii: " ")
            append(bitRate: rate, to: &line)
        }
    }

    func appendDetails(
        of summary: StreamSummary, _ entry: TrafficEntry, to line: inout LineBuilder
    ) {
        if let session = entry.sessionID {
            line.append("  session ")
            line.append(session)
        }
        if summary.isEncrypted { line.append("  encrypted") }
        guard summary.isFinal else { return }
        line.append("  ended after ")
        append(frames: summary.totalFrames, to: &line)
        line.append(ascii: " ")
        line.append(size: summary.totalBytes)
    }

    private func append(bitRate: Double, to line: inout LineBuilder) {
        // Limited because converting a Double that does not fit would trap.
        let kilobits = UInt64(min(max(0, bitRate / 1000), 1e12))
        if kilobits < 1000 {
            line.append(kilobits)
            line.append(" kbit/s")
        } else {
            line.append(tenths: kilobits / 100)
            line.append(" Mbit/s")
        }
    }

    // MARK: What cannot be read

    func append(
        _ query: SecurityQuery, _ entry: TrafficEntry, to line: inout LineBuilder
    ) {
        line.append("security")
        line.gap()
        line.beginColumn()
        switch query.queryID {
        case .sendHandshakeData: line.append("SendHandshakeData")
        case .sendInternalError: line.append("SendInternalError!", .failure)
        case .invalid, nil: line.append("invalid query")
        }
        line.endColumn(width: Self.whatColumns)
        appendDetails(of: query, to: &line)
        appendSize(entry, to: &line)
    }

    func appendDetails(of query: SecurityQuery, to line: inout LineBuilder) {
        if let code = query.errorCode {
            line.gap()
            line.append(SecurityQuery.meaning(ofError: code))
        }
        if let json = query.json, let text = json.value("text"), text.kind == .string {
            line.append("  \"")
            line.append(printable: text, of: json, limit: Self.infoLimit)
            line.append(ascii: "\"")
        }
    }

    func appendEncrypted(_ entry: TrafficEntry, to line: inout LineBuilder) {
        line.append("encrypt ")
        line.gap()
        line.beginColumn()
        line.append("encrypted ")
        line.append(entry.service?.name ?? "message")
        line.append(" message")
        line.endColumn(width: Self.whatColumns)
        appendSize(entry, to: &line)
    }

    func append(
        _ undecodable: UndecodableEntry, _ entry: TrafficEntry, to line: inout LineBuilder
    ) {
        line.append("invalid!", .failure)
        line.gap()
        line.beginColumn()
        if let header = undecodable.header {
            line.append(FunctionID(rawValue: header.functionID).description)
            if header.type != .notification {
                line.append(" #")
                line.append(header.correlationID)
            }
        } else {
            line.append(entry.service?.name ?? "unknown")
            line.append(" message")
        }
        line.endColumn(width: Self.whatColumns)
        line.gap()
        line.append(undecodable.reason.description)
        appendSize(entry, to: &line)
        appendFirstBytes(of: undecodable, to: &line)
    }

    func appendFirstBytes(of undecodable: UndecodableEntry, to line: inout LineBuilder) {
        guard undecodable.firstBytes.readableBytes > 0 else { return }
        line.append("  [")
        line.append(hexBytes: undecodable.firstBytes, separated: true)
        line.append(ascii: "]")
    }

    func append(
        _ dropped: DroppedEntry, _ entry: TrafficEntry, to line: inout LineBuilder
    ) {
        if entry.isBad {
            line.append("dropped!", .warning)
        } else {
            line.append("dropped ")
        }
        line.gap()
        if let rpc = dropped.rpc {
            append(what: rpc, to: &line)
        } else {
            line.beginColumn()
            if let frame = dropped.frame {
                line.append(frame.controlType?.name ?? "\(frame.type) frame")
                line.append(ascii: " ")
                line.append(frame.service.name)
            } else {
                line.append(entry.frames)
                line.append(entry.frames == 1 ? " more frame" : " more frames")
            }
            line.endColumn(width: Self.whatColumns)
        }
        line.gap()
        line.append(dropped.reason.description)
        line.gap()
        line.append(size: entry.bytes)
    }

    // MARK: Events

    func append(
        _ event: EventEntry, _ entry: TrafficEntry, to line: inout LineBuilder
    ) {
        line.append("relay   ")
        line.gap()
        appendWords(of: event, entry, isNamed: true, to: &line)
    }

    /// - Parameter isNamed: If false, leaves out the name of the unanswered request.
    func appendWords(
        of event: EventEntry, _ entry: TrafficEntry, isNamed: Bool, to line: inout LineBuilder
    ) {
        switch event {
        case .unanswered(let request, let waited):
            line.begin(.warning)
            if isNamed {
                line.append(request.functionID.description)
                line.append(" #")
                line.append(request.correlationID)
                line.append(ascii: " ")
            }
            line.append("has no answer for ")
            line.append(latency: waited)
            line.endColour()
        case .unansweredStart(let waited):
            line.begin(.warning)
            if isNamed {
                line.append("StartService ")
                line.append(entry.service?.name ?? "")
                line.append(ascii: " ")
            }
            line.append("has no answer for ")
            line.append(latency: waited)
            line.endColour()
            append(fault: entry.startFault, to: &line)
        case .noticed(let notice):
            line.begin(.warning)
            line.append(entry.app == nil ? "the head unit " : "the app ")
            line.append(notice.description)
            line.endColour()
        case .appConnected(let peer):
            line.append("app connected from ")
            line.append(peer)
        case .appClosed(let reason):
            line.append("app closed: ")
            line.append(reason)
        case .session: break  // Never shown: `TrafficEntry.isForPeople`.
        case .linkOpened(_, let address):
            line.append("link opened: ")
            line.append(address)
        case .linkClosed(let reason):
            line.begin(.warning)
            line.append("link closed: ")
            line.append(reason)
            line.endColour()
        case .missed(let frames, let bytes):
            line.begin(.warning)
            line.append("not shown: ")
            guard frames > 0 else {
                line.append(size: bytes)
                line.append(" that were no frame")
                line.endColour()
                return
            }
            append(frames: frames, to: &line)
            line.append(", ")
            line.append(size: bytes)
            line.append("; they were forwarded, but not decoded")
            line.endColour()
        }
    }
}
