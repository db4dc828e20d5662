package import NIOCore
package import RelayCore
import SDLProtocol

/// Writes entries that were read from traces as a new trace. relayd's own recordings are written by
/// `TraceEncoder`, which knows more and is called for every frame.
///
/// Interfaces are numbered anew. The bytes are appended to a buffer, which its owner writes.
package struct TraceWriter {
    private let header: TraceHeader
    private let operatingSystem: String?
    private var interfaces: TraceInterfaces
    private var peers: [AppID: String] = [:]
    private var link = 0
    private var address: String
    /// The totals written so far.
    package private(set) var sum = TraceEnd(reason: "")

    private typealias Place = TraceInterfaces.Place

    /// A bench has a handful; in a trace with more, further apps have no address.
    private static let maximumPeers = 4096

    package init(_ header: TraceHeader, operatingSystem: String? = nil) {
        self.header = header
        self.operatingSystem = operatingSystem
        address = header.accessory
        interfaces = TraceInterfaces(accessory: header.accessory)
    }

    /// - Parameter time: The time of the first record.
    package mutating func begin(at time: WallTime, into buffer: inout ByteBuffer) {
        var section = PcapngSection()
        section.application = header.program
        section.operatingSystem = operatingSystem
        section.comments = ["relayd trace \(TraceHeader.version)"]
        TraceBlocks.appending(to: &buffer) { blocks in
            PcapngWriter.append(section, to: &blocks)
            append(.trace(header), at: time, comments: [], to: &blocks)
        }
    }

    package mutating func end(
        because reason: String, at time: WallTime, into buffer: inout ByteBuffer
    ) {
        var end = sum
        end.reason = reason
        TraceBlocks.appending(to: &buffer) {
            append(.end(end), at: time, comments: [], to: &$0)
        }
    }

    /// Appends an entry. The beginnings and ends of the source files are left out: this file has its own.
    package mutating func append(_ entry: TraceEntry, into buffer: inout ByteBuffer) {
        TraceBlocks.appending(to: &buffer) { append(entry, to: &$0) }
    }

    private mutating func append(_ entry: TraceEntry, to blocks: inout TraceBlocks) {
        switch entry.content {
        case .record(.trace), .record(.end): break
        case .record(let record):
            learn(record)
            append(record, at: entry.time, comments: entry.comments, to: &blocks)
            if case .appLeft(let app, _) = record { forget(app) }
        case .frame(let tapped, let omitted, let isMasked):
            append(tapped, omitted, isMasked, comments: entry.comments, to: &blocks)
        case .bytes(let run):
            PcapngWriter.packet(
                interface: interface(Place(of: run.app, link: link), &blocks),
                nanoseconds: run.time.nanoseconds,
                direction: TraceInterfaces.direction(run.direction, app: run.app),
                head: ExportedPDU.bytes,
                bytes: run.bytes, comments: [TraceComment.offset(run.offset).text] + entry.comments,
                to: &blocks)
        }
    }

    private mutating func learn(_ record: TraceRecord) {
        switch record {
        case .linkOpened(let number, let address): (link, self.address) = (number, address)
        case .appConnected(let app, let peer):
            forget(app)
            if peers.count < Self.maximumPeers { peers[app] = peer }
        case .gap(let frames, _):
            sum.missedFrames = sum.missedFrames.addingReportingOverflow(frames).partialValue
        default: break
        }
    }

    private mutating func forget(_ app: AppID) {
        peers[app] = nil
        interfaces.forget(app)
    }

    private mutating func append(
        _ record: TraceRecord, at time: WallTime, comments: [String], to blocks: inout TraceBlocks
    ) {
        PcapngWriter.packet(
            interface: interface(Place(of: record, link: link), &blocks),
            nanoseconds: time.nanoseconds,
            direction: .unknown, head: ExportedPDU.record, bytes: record.json,
            comments: comments, to: &blocks)
    }

    private mutating func append(
        _ tapped: TappedFrame, _ omitted: Int, _ isMasked: Bool, comments: [String],
        to blocks: inout TraceBlocks
    ) {
        var said: [String] = []
        if let fate = TraceComment(tapped.fate) { said.append(fate.text) }
        if tapped.isWaiting { said.append(TraceComment.waits.text) }
        if let grant = tapped.grant { said.append(TraceComment.grant(grant).text) }
        if isMasked { said.append(TraceComment.masked.text) }
        if tapped.isEarlier {
            said.append(TraceComment.earlier.text)
        } else {
            sum.frames += 1
            sum.bytes += tapped.frame.wire.readableBytes + omitted
        }
        PcapngWriter.packet(
            interface: interface(Place(of: tapped.app, link: link), &blocks),
            nanoseconds: tapped.time.nanoseconds,
            direction: TraceInterfaces.direction(tapped.direction, app: tapped.app),
            head: ExportedPDU.frame, bytes: tapped.frame.wire, omitted: omitted,
            comments: said + comments, to: &blocks)
    }

    private mutating func interface(_ place: Place, _ blocks: inout TraceBlocks) -> UInt32 {
        if let number = interfaces.number(of: place) { return number }
        let description: String? =
            switch place {
            case .relay: header.accessory
            case .link: address
            case .app(let id): peers[id]
            }
        return interfaces.add(place, description, to: &blocks)
    }
}
