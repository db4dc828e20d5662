import NIOCore
package import RelayCore
import SDLProtocol

/// Turns the items of the tap into blocks of a trace.
///
/// Knows who is connected, so that each file of a ring begins with that. The output is appended to blocks,
/// which their owner writes.
package struct TraceEncoder {
    /// The header of each file, with the number of the file.
    private var header: TraceHeader
    private let operatingSystem: String?
    private var mask: TraceMask?
    /// The frames that a further file has to begin with; nil when there will be none.
    private var prologue: TapPrologue?
    /// The interfaces of this file.
    private var interfaces: TraceInterfaces
    private var apps: [AppID: App] = [:]
    private var link: Link?
    /// The number of the latest link.
    private var latestLink = 0
    /// The totals of this file.
    package private(set) var sum = TraceEnd(reason: "")
    private var news = (frames: 0, missedFrames: 0)

    private typealias Place = TraceInterfaces.Place

    private struct App {
        var peer: String
        var connectedAt: WallTime
    }

    private struct Link {
        var number: Int
        var address: String
        var openedAt: WallTime
    }

    /// Maximum bytes of frames at the beginning of a file.
    private static let prologueBytes = 8 << 20

    /// - Parameter isSeveral: Whether several files are made, each of which can be understood by itself.
    package init(
        _ header: TraceHeader, operatingSystem: String? = nil, isSeveral: Bool = false
    ) {
        self.header = header
        if isSeveral { prologue = TapPrologue(maximumBytes: Self.prologueBytes) }
        self.operatingSystem = operatingSystem
        interfaces = TraceInterfaces(accessory: header.accessory)
        if !header.masked.isEmpty { mask = TraceMask(header.masked) }
    }

    /// Whether the payload of audio and video is left out.
    package var omitsStreams: Bool { header.streams == .headers }

    /// The frames appended and missed since the last call.
    package mutating func takeNews() -> (frames: Int, missedFrames: Int) {
        defer { news = (0, 0) }
        return news
    }

    // MARK: - Files

    /// Begins a file: the section, then the current connections.
    ///
    /// - Parameter started: The start of this file, in RFC 3339 format.
    package mutating func begin(
        started: String, at time: WallTime, into blocks: inout TraceBlocks
    ) {
        interfaces = TraceInterfaces(accessory: header.accessory)
        sum = TraceEnd(reason: "")
        header.started = started
        var section = PcapngSection()
        section.application = header.program
        section.operatingSystem = operatingSystem
        section.comments = ["relayd trace \(TraceHeader.version)"]
        PcapngWriter.append(section, to: &blocks)
        append(.trace(header), at: time, to: &blocks)
        header.file += 1
        if let link {
            append(
                .linkOpened(number: link.number, address: link.address), at: link.openedAt,
                to: &blocks)
        }
        for (id, app) in apps.sorted(by: { $0.key < $1.key }) {
            append(.appConnected(id, peer: app.peer), at: app.connectedAt, to: &blocks)
        }
        appendPrologue(to: &blocks)
    }

    private mutating func appendPrologue(to blocks: inout TraceBlocks) {
        guard let frames = prologue?.frames, !frames.isEmpty else { return }
        // Messages may be incomplete, and the current mask has to continue where it is.
        var other = header.masked.isEmpty ? nil : TraceMask(header.masked)
        swap(&mask, &other)
        for frame in frames { append(frame, to: &blocks) }
        swap(&mask, &other)
    }

    /// Ends a file that is closed properly.
    package mutating func end(
        because reason: String, at time: WallTime, into blocks: inout TraceBlocks
    ) {
        var end = sum
        end.reason = reason
        append(.end(end), at: time, to: &blocks)
    }

    // MARK: - What happens

    /// - Parameter time: The time of items that have none.
    package mutating func append(
        _ item: TapItem, at time: WallTime, into blocks: inout TraceBlocks
    ) {
        prologue?.learn(item)
        switch item {
        case .frames(let frames):
            for frame in frames { append(frame, to: &blocks) }
        case .bytes(let run):
            append(run, to: &blocks)
        case .appConnected(let id, let peer, let time):
            apps[id] = App(peer: peer, connectedAt: time)
            append(.appConnected(id, peer: peer), at: time, to: &blocks)
        case .appClosed(let id, let reason, let time):
            append(.appLeft(id, reason: reason), at: time, to: &blocks)
            apps[id] = nil
            interfaces.forget(id)
            mask?.forget(id)
        case .session(.startSent, let id, let time):
            append(.startSent(id), at: time, to: &blocks)
        case .session(.ended(let session), let id, let time):
            append(.sessionEnded(id, session: session), at: time, to: &blocks)
        case .session(.serviceEnded(let service, let session), let id, let time):
            append(.serviceEnded(id, session: session, service), at: time, to: &blocks)
        // The frames show it, and the advice about it is recorded.
        case .session(.wrongHash, _, _), .session(.transportOffered, _, _): break
        case .linkOpened(let number, let address, let time):
            link = Link(number: number, address: address, openedAt: time)
            latestLink = number
            append(.linkOpened(number: number, address: address), at: time, to: &blocks)
        case .linkClosed(let reason, let time):
            append(.linkClosed(reason: reason), at: time, to: &blocks)
            link = nil
            mask?.forgetAll()
        case .missed(let frames, let bytes):
            sum.missedFrames += frames
            news.missedFrames += frames
            append(.gap(frames: frames, bytes: bytes), at: time, to: &blocks)
            // The next frames may be the middle of a message.
            mask?.forgetAll()
        case .noticed(let notice, let app, let time):
            append(
                .notice(code: notice.code, text: notice.description, app: app), at: time,
                to: &blocks)
        case .noted(let note, let time):
            append(TraceRecord(note), at: time, to: &blocks)
        }
    }

    /// Appends a record about an event that does not come through the tap.
    package mutating func append(
        _ record: TraceRecord, at time: WallTime, to blocks: inout TraceBlocks
    ) {
        PcapngWriter.packet(
            interface: interface(Place(of: record, link: latestLink), &blocks),
            nanoseconds: time.nanoseconds,
            direction: .unknown, head: ExportedPDU.record, bytes: record.json, to: &blocks)
    }

    private mutating func append(_ tapped: TappedFrame, to blocks: inout TraceBlocks) {
        let frame = tapped.frame
        let full = frame.headerBytes + frame.payloadBytes
        var wire = frame.wire
        var comments: [String] = []
        if let fate = TraceComment(tapped.fate) { comments.append(fate.text) }
        if tapped.isWaiting { comments.append(TraceComment.waits.text) }
        if let grant = tapped.grant { comments.append(TraceComment.grant(grant).text) }
        if mask?.cover(&wire, tapped) == true { comments.append(TraceComment.masked.text) }
        if tapped.isEarlier {
            comments.append(TraceComment.earlier.text)
        } else {
            sum.frames += 1
            news.frames += 1
            sum.bytes += full
        }
        PcapngWriter.packet(
            interface: interface(Place(of: tapped.app, link: latestLink), &blocks),
            nanoseconds: tapped.time.nanoseconds,
            direction: TraceInterfaces.direction(tapped.direction, app: tapped.app),
            head: ExportedPDU.frame, bytes: wire, omitted: max(0, full - wire.readableBytes),
            comments: comments, to: &blocks)
    }

    private mutating func append(_ run: TappedBytes, to blocks: inout TraceBlocks) {
        var bytes = run.bytes
        var comments = [TraceComment.offset(run.offset).text]
        if mask != nil {
            // The meaning of these bytes is unknown.
            bytes = ByteBuffer(repeating: 0, count: bytes.readableBytes)
            comments.append(TraceComment.masked.text)
        }
        PcapngWriter.packet(
            interface: interface(Place(of: run.app, link: latestLink), &blocks),
            nanoseconds: run.time.nanoseconds,
            direction: TraceInterfaces.direction(run.direction, app: run.app),
            head: ExportedPDU.bytes, bytes: bytes, comments: comments, to: &blocks)
    }

    // MARK: - Interfaces

    private mutating func interface(_ place: Place, _ blocks: inout TraceBlocks) -> UInt32 {
        if let number = interfaces.number(of: place) { return number }
        let description: String? =
            switch place {
            case .relay: header.accessory
            case .link: link?.address ?? header.accessory
            case .app(let id): apps[id]?.peer
            }
        return interfaces.add(place, description, to: &blocks)
    }
}
