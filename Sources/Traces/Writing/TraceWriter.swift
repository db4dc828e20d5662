package import NIOCore
package import RelayCore
import SDLProtocol

/// Writes entries that were read from traces as a new trace. What relayd records is written by
/// `TraceEncoder`, which knows more and is asked for every frame.
///
/// Interfaces are numbered anew. The bytes are appended to a buffer; whoever owns it writes them.
package struct TraceWriter {
    private let header: TraceHeader
    private let operatingSystem: String?
    private var interfaces: [Place: UInt32] = [:]
    private var interfaceCount: UInt32 = 0
    private var peers: [AppID: String] = [:]
    private var link = 0
    private var address: String
    /// What was written so far.
    package private(set) var sum = TraceEnd(reason: "")

    private enum Place: Hashable {
        case relay
        case link(Int)
        case app(AppID)
    }

    package init(_ header: TraceHeader, operatingSystem: String? = nil) {
        self.header = header
        self.operatingSystem = operatingSystem
        address = header.accessory
    }

    /// - Parameter time: Of the first record.
    package mutating func begin(at time: WallTime, into buffer: inout ByteBuffer) {
        var section = PcapngSection()
        section.application = header.program
        section.operatingSystem = operatingSystem
        section.comments = ["relayd trace \(TraceHeader.version)"]
        PcapngWriter.append(section, to: &buffer)
        append(.trace(header), at: time, comments: [], to: &buffer)
    }

    package mutating func end(
        because reason: String, at time: WallTime, into buffer: inout ByteBuffer
    ) {
        var end = sum
        end.reason = reason
        append(.end(end), at: time, comments: [], to: &buffer)
    }

    /// Beginnings and ends of the files that entries come from are left out: this file has its own.
    package mutating func append(_ entry: TraceEntry, into buffer: inout ByteBuffer) {
        switch entry.content {
        case .record(.trace), .record(.end): break
        case .record(let record):
            learn(record)
            append(record, at: entry.time, comments: entry.comments, to: &buffer)
            if case .appLeft(let app, _) = record { forget(app) }
        case .frame(let tapped, let omitted, let isMasked):
            append(tapped, omitted, isMasked, comments: entry.comments, to: &buffer)
        case .bytes(let run):
            PcapngWriter.packet(
                interface: interface(run.app.map(Place.app) ?? .link(link), &buffer),
                nanoseconds: run.time.nanoseconds,
                direction: Self.direction(run.direction, app: run.app), head: ExportedPDU.bytes,
                bytes: run.bytes, comments: [TraceComment.offset(run.offset).text] + entry.comments,
                to: &buffer)
        }
    }

    private mutating func learn(_ record: TraceRecord) {
        switch record {
        case .linkOpened(let number, let address): (link, self.address) = (number, address)
        case .appConnected(let app, let peer):
            forget(app)
            peers[app] = peer
        case .gap(let frames, _):
            sum.missedFrames = sum.missedFrames.addingReportingOverflow(frames).partialValue
        default: break
        }
    }

    private mutating func forget(_ app: AppID) {
        peers[app] = nil
        interfaces[.app(app)] = nil
    }

    private mutating func append(
        _ record: TraceRecord, at time: WallTime, comments: [String], to buffer: inout ByteBuffer
    ) {
        let place: Place =
            record.app.map(Place.app) ?? (record.isOfLink ? .link(link) : .relay)
        PcapngWriter.packet(
            interface: interface(place, &buffer), nanoseconds: time.nanoseconds,
            direction: .unknown, head: ExportedPDU.record, bytes: record.json,
            comments: comments, to: &buffer)
    }

    private mutating func append(
        _ tapped: TappedFrame, _ omitted: Int, _ isMasked: Bool, comments: [String],
        to buffer: inout ByteBuffer
    ) {
        var said: [String] = []
        if let fate = TraceComment(tapped.fate) { said.append(fate.text) }
        if let grant = tapped.grant { said.append(TraceComment.grant(grant).text) }
        if isMasked { said.append(TraceComment.masked.text) }
        sum.frames += 1
        sum.bytes += tapped.frame.wire.readableBytes + omitted
        PcapngWriter.packet(
            interface: interface(tapped.app.map(Place.app) ?? .link(link), &buffer),
            nanoseconds: tapped.time.nanoseconds,
            direction: Self.direction(tapped.direction, app: tapped.app),
            head: ExportedPDU.frame, bytes: tapped.frame.wire, omitted: omitted,
            comments: said + comments, to: &buffer)
    }

    /// relayd's own view: what it receives is inbound.
    private static func direction(_ direction: Direction, app: AppID?) -> PcapngDirection {
        (direction == .fromApp) == (app != nil) ? .inbound : .outbound
    }

    private mutating func interface(_ place: Place, _ buffer: inout ByteBuffer) -> UInt32 {
        if let number = interfaces[place] { return number }
        if place != .relay, interfaces.isEmpty { _ = interface(.relay, &buffer) }
        let (name, description): (String, String?) =
            switch place {
            case .relay: ("relayd", header.accessory)
            case .link(let number): ("link \(number)", address)
            case .app(let id): ("app \(id.rawValue)", peers[id])
            }
        PcapngWriter.append(
            PcapngInterface(
                linkType: ExportedPDU.linkType, name: name, description: description),
            to: &buffer)
        let number = interfaceCount
        interfaceCount += 1
        interfaces[place] = number
        return number
    }
}
