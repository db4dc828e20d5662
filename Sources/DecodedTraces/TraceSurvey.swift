package import ControlAPI
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic
package import Traces

/// Reads traces and summarises their contents, for `relayctl trace info` and the control API.
package struct TraceSurvey {
    private var summary = TraceReport()
    /// Indices in `summary.apps` of the apps that are connected.
    private var apps: [AppID: Int] = [:]
    private var sessions: [AppID: Set<UInt8>] = [:]
    private var lanes: [Lane: TraceReport.Amount] = [:]
    /// Registrations may be longer than a frame.
    private var assembler = MessageAssembler()
    private var path = ""
    private var isListed = false
    package private(set) var hasEntries = false

    private struct Lane: Hashable {
        var service: ServiceType
        var direction: Direction
    }

    package init() {}

    /// Maximum listed items of each kind; the rest is only counted.
    private static let maximumListed = 500

    /// - Throws: `TraceFileError`; what was read before it counts.
    package mutating func read(_ path: String) throws(TraceFileError) {
        var file = try TraceFile(path)
        begin(path)
        while let entry = try file.next() { receive(entry) }
        end(unfinishedBytes: file.unfinishedBytes)
    }

    /// Begins a file, to which the following entries belong.
    package mutating func begin(_ path: String) { (self.path, isListed) = (path, false) }

    package mutating func receive(_ entry: TraceEntry) {
        if !isListed {
            summary.files.append(.init(path: path))
            (isListed, hasEntries) = (true, true)
        }
        count(entry)
    }

    /// - Parameters:
    ///   - unfinishedBytes: Bytes of a packet that the file's writer did not finish.
    ///   - problem: Why the file was not read to its end.
    package mutating func end(unfinishedBytes: Int = 0, problem: String? = nil) {
        guard isListed, let last = summary.files.indices.last else { return }
        summary.files[last].unfinishedBytes = unfinishedBytes
        summary.files[last].problem = problem
    }

    package var report: TraceReport {
        var report = summary
        for (app, sessions) in sessions {
            guard let index = apps[app] else { continue }
            report.apps[index].sessions = sessions.map(Int.init).sorted()
        }
        report.services = lanes.sorted {
            ($0.key.service.rawValue, $0.key.direction.sender)
                < ($1.key.service.rawValue, $1.key.direction.sender)
        }.map {
            .init(
                service: $0.key.service.name, from: $0.key.direction.sender,
                frames: $0.value.frames, bytes: $0.value.bytes)
        }
        return report
    }

    // MARK: Entries

    private mutating func count(_ entry: TraceEntry) {
        let time = Timestamp(entry.time)
        switch entry.content {
        case .frame(let tapped, let omitted, let isMasked):
            count(tapped, omitted)
            if isMasked { summary.maskedFrames += 1 }
        case .bytes(let run):
            summary.garbageBytes = TraceReport.Amount.sum(
                summary.garbageBytes, run.bytes.readableBytes)
        case .record(let record): count(record, entry, time)
        }
        if case .record(.trace) = entry.content, summary.from == nil { summary.from = time }
        summary.to = max(summary.to ?? time, time)
    }

    private mutating func count(_ tapped: TappedFrame, _ omitted: Int) {
        let frame = tapped.frame
        guard !tapped.isEarlier else { return learn(tapped) }
        let bytes = frame.wire.readableBytes + omitted
        let lane = Lane(service: frame.service, direction: tapped.direction)
        switch tapped.fate {
        case .dropped(let reason): summary.dropped[reason.code, default: 0] += 1
        case .byRelay: summary.own += 1
        // The amended frame follows.
        case .replaced: return
        case .forwarded, .amended, .faulted: break
        }
        if tapped.direction == .fromApp {
            summary.fromApps.add(1, bytes)
        } else {
            summary.fromHeadUnit.add(1, bytes)
        }
        lanes[lane, default: .init()].add(1, bytes)
        guard let app = tapped.app, let index = place(of: app) else { return }
        if tapped.direction == .fromApp {
            summary.apps[index].sent.add(1, bytes)
        } else {
            summary.apps[index].received.add(1, bytes)
        }
        learn(tapped)
    }

    /// Learns the identity of an app, also from frames of before the recording, which are not counted.
    private mutating func learn(_ tapped: TappedFrame) {
        let frame = tapped.frame
        guard let app = tapped.app, frame.service == .rpc, let index = place(of: app) else {
            return
        }
        if tapped.direction == .fromApp {
            // An earlier frame may come from another file, in the middle of other messages.
            if !tapped.isEarlier || summary.apps[index].name == nil { learnName(tapped, index) }
        } else if frame.controlType == .startServiceACK, tapped.grant == .opens {
            sessions[app, default: []].insert(frame.sessionID)
        }
    }

    private mutating func learnName(_ tapped: TappedFrame, _ index: Int) {
        guard tapped.frame.type != .control, !tapped.frame.isEncrypted,
            case .message(let message, _) = assembler.receive(
                tapped.frame, at: tapped.time.nanoseconds),
            message.version == 1
                || RPCHeader(message.payload)?.functionID
                    == FunctionID.registerAppInterface.rawValue,
            let rpc = try? RPCMessage(message), rpc.type == .request,
            rpc.functionID == .registerAppInterface
        else { return }
        summary.apps[index].name = rpc.parameters.string("appName").map(Self.short)
        let appID = rpc.parameters.string("appID") ?? rpc.parameters.string("fullAppID")
        summary.apps[index].appID = appID.map(Self.short)
    }

    private static func short(_ text: String) -> String { PrintableText.string(text, limit: 100) }

    /// The index of the app in the list, added if necessary; nil when the list is full.
    private mutating func place(of app: AppID) -> Int? {
        if let index = apps[app] { return index }
        guard Self.hasRoom(summary.apps.count) else { return nil }
        apps[app] = summary.apps.count
        summary.apps.append(.init(app: Int(clamping: app.rawValue)))
        return apps[app]
    }

    private static func hasRoom(_ count: Int) -> Bool { count < maximumListed }

    private mutating func count(_ record: TraceRecord, _ entry: TraceEntry, _ time: Timestamp) {
        switch record {
        case .trace(let header): begin(header)
        case .end(let end):
            let last = summary.files.indices.last
            if let last { summary.files[last].closed = end.reason }
        case .linkOpened(let number, let address): openLink(number, address, time)
        case .linkClosed(let reason):
            guard let last = summary.links.indices.last, summary.links[last].closedAt == nil else {
                return
            }
            (summary.links[last].closedAt, summary.links[last].reason) = (time, reason)
        case .appConnected(let app, let peer): connect(app, peer, time)
        case .appLeft(let app, let reason): leave(app, reason, time)
        case .gap(let frames, let bytes):
            summary.gaps += 1
            summary.missed.add(frames, bytes)
        case .notice, .advice, .mark: note(entry)
        case .startSent, .sessionEnded, .serviceEnded, .other: break
        }
    }

    private mutating func begin(_ header: TraceHeader) {
        if summary.accessory.isEmpty {
            summary.accessory = header.accessory
            summary.streams = header.streams.rawValue
        }
        for name in header.masked where !summary.masked.contains(name) {
            if Self.hasRoom(summary.masked.count) {
                summary.masked.append(Self.short(name))
            } else {
                summary.more["parameters", default: 0] += 1
            }
        }
        guard let last = summary.files.indices.last else { return }
        summary.files[last].number = header.file
        summary.files[last].program = header.program
        summary.files[last].started = header.started
    }

    private mutating func openLink(_ number: Int, _ address: String, _ time: Timestamp) {
        // The next file of a ring begins with the same link.
        if let last = summary.links.last, last.number == number, last.closedAt == nil { return }
        guard Self.hasRoom(summary.links.count) else {
            summary.more["links", default: 0] += 1
            return
        }
        summary.links.append(.init(number: number, address: address, openedAt: time))
    }

    private mutating func connect(_ app: AppID, _ peer: String, _ time: Timestamp) {
        if let known = apps[app], summary.apps[known].peer == peer { return }
        apps[app] = nil
        guard let index = place(of: app) else {
            summary.more["apps", default: 0] += 1
            return
        }
        (summary.apps[index].peer, summary.apps[index].connectedAt) = (peer, time)
    }

    private mutating func leave(_ app: AppID, _ reason: String, _ time: Timestamp) {
        guard let index = apps[app] else { return }
        (summary.apps[index].leftAt, summary.apps[index].reason) = (time, reason)
        summary.apps[index].sessions = (sessions[app] ?? []).map(Int.init).sorted()
        sessions[app] = nil
        apps[app] = nil
    }

    private mutating func note(_ entry: TraceEntry) {
        guard let note = TraceNote(entry, name: nil) else { return }
        guard Self.hasRoom(summary.notes.count) else {
            summary.more["notes", default: 0] += 1
            return
        }
        summary.notes.append(
            .init(
                at: Timestamp(note.time), kind: note.kind.rawValue,
                app: note.app.map { Int(clamping: $0.rawValue) }, code: note.code, text: note.text))
    }
}
