package import NIOCore
import RelayCore
import SDLProtocol

/// Reads a trace from its bytes, in whatever pieces they come. Memory does not grow with the trace.
///
/// Files of other programs may hold packets of SDL too: packets that are not relayd's are skipped and
/// counted.
package struct TraceReader {
    private var blocks = PcapngReader()
    private var interfaces: [Interface] = []
    private var application: String?
    /// The first record of the file, once it is read.
    package private(set) var header: TraceHeader?
    /// Packets that are not relayd's.
    package private(set) var foreignPackets = 0
    private var hasEntries = false

    private struct Interface {
        var isExportedPDU: Bool
        var app: AppID?
        var clock: PcapngClock
    }

    /// Nanoseconds since 1970, until 2116: the difference of two of them must not overflow.
    private static let times = 0...(Int64.max / 2)
    /// More interfaces than a section can have connections make no sense.
    private static let maximumInterfaces = 1 << 20

    package init() {}

    package mutating func append(_ bytes: ByteBuffer) { blocks.append(bytes) }

    /// Bytes of an incomplete packet; at the end of a file, a packet that its writer did not finish.
    package var unfinishedBytes: Int { blocks.unfinishedBytes }

    /// The file offset of the next packet.
    package var offset: UInt64 { blocks.offset }

    /// The next entry; nil until more bytes come.
    ///
    /// - Throws: `TraceError`. After one that concerns a packet, the reader continues with the next; after
    ///   `pcapng` and `newer` it must not be used again.
    package mutating func next() throws(TraceError) -> TraceEntry? {
        while let block = try nextBlock() {
            switch block {
            case .section(let section):
                // In a file that was joined from several, each part starts over.
                interfaces = []
                application = section.application
            case .interface(let interface): add(interface)
            case .packet(let packet):
                if let entry = try entry(packet) {
                    hasEntries = true
                    return entry
                }
                foreignPackets += 1
            case .other: break
            }
        }
        return nil
    }

    /// Checks the end of the file.
    ///
    /// - Throws: `TraceError.empty` or `tooShort` when the file ends before the first packet, `noBeginning`
    ///   when its first packet is missing, `notATrace` when it has no packet of relayd.
    package func finish() throws(TraceError) {
        guard header == nil else { return }
        if hasEntries { throw .noBeginning }
        let bytes = offset.addingReportingOverflow(UInt64(unfinishedBytes)).partialValue
        if bytes == 0 { throw .empty }
        let isOurs = application?.hasPrefix("relayd") ?? false
        if foreignPackets == 0, offset == 0 || isOurs {
            throw .tooShort(bytes: bytes)
        }
        throw .notATrace(application: application)
    }

    private mutating func nextBlock() throws(TraceError) -> PcapngBlock? {
        do throws(PcapngError) {
            return try blocks.next()
        } catch {
            throw .pcapng(error)
        }
    }

    private mutating func add(_ interface: PcapngInterface) {
        guard interfaces.count < Self.maximumInterfaces else { return }
        let name = interface.name ?? ""
        let app = name.hasPrefix("app ") ? UInt64(name.dropFirst(4)).map(AppID.init) : nil
        interfaces.append(
            Interface(
                isExportedPDU: interface.linkType == ExportedPDU.linkType, app: app,
                clock: interface.clock))
    }

    // MARK: - Packets

    private mutating func entry(_ packet: PcapngPacket) throws(TraceError) -> TraceEntry? {
        guard packet.interface < interfaces.count else {
            throw .noInterface(packet.interface)
        }
        let interface = interfaces[Int(packet.interface)]
        guard interface.isExportedPDU else { return nil }
        guard let nanoseconds = interface.clock.nanoseconds(packet.ticks),
            Self.times.contains(nanoseconds)
        else { throw .timeOutOfRange(packet.ticks) }
        let time = WallTime(nanoseconds: nanoseconds)
        var data = packet.data
        let omitted = packet.originalBytes - data.readableBytes
        switch try dissector(&data) {
        case .frame:
            return try frame(data, packet, interface, time, omitted: omitted)
        case .bytes: return bytes(data, packet, interface, time)
        case .record: return try record(data, packet, time)
        case nil: return nil
        }
    }

    private enum Dissector {
        case frame
        case bytes
        case record
    }

    /// Reads the tags; nil when the packet is for another dissector.
    private func dissector(_ data: inout ByteBuffer) throws(TraceError) -> Dissector? {
        var found: Dissector?
        while let tag = data.readInteger(as: UInt16.self) {
            guard let length = data.readInteger(as: UInt16.self),
                let value = data.readSlice(length: Int(length))
            else { throw .tags }
            if tag == 0 { return found }
            guard tag == ExportedPDU.dissectorTag else { continue }
            let name = value.readableBytesView.prefix { $0 != 0 }
            if name.elementsEqual("sdl".utf8) {
                found = .frame
            } else if name.elementsEqual("relayd".utf8) {
                found = .record
            } else if name.elementsEqual("data".utf8) {
                found = .bytes
            }
        }
        throw .tags
    }

    private func frame(
        _ data: ByteBuffer, _ packet: PcapngPacket, _ interface: Interface, _ time: WallTime,
        omitted: Int
    ) throws(TraceError) -> TraceEntry {
        guard Self.isFrame(data, omitted: omitted) else {
            throw .noFrame(bytes: data.readableBytes)
        }
        guard packet.direction != .unknown else { throw .noDirection }
        let frame = Frame(checked: data)
        var tapped = TappedFrame(
            frame: frame, direction: Self.direction(packet, interface), app: interface.app,
            time: time)
        var isMasked = false
        var notes: [String] = []
        for text in packet.comments {
            switch TraceComment(text) {
            case .masked: isMasked = true
            case .earlier: tapped.isEarlier = true
            case .waits: tapped.isWaiting = true
            case .grant(let meaning): tapped.grant = meaning
            case let comment?: tapped.fate = comment.fate(session: frame.sessionID) ?? tapped.fate
            case nil: notes.append(text)
            }
        }
        return TraceEntry(
            time: time, content: .frame(tapped, omitted: omitted, isMasked: isMasked),
            comments: notes)
    }

    /// Whether the data begins with an SDL header whose length matches the packet; only in audio and video,
    /// bytes may be missing.
    private static func isFrame(_ data: ByteBuffer, omitted: Int) -> Bool {
        let start = data.readerIndex
        guard let first = data.getInteger(at: start, as: UInt8.self),
            let service = data.getInteger(at: start + 1, as: UInt8.self),
            let size = data.getInteger(at: start + 4, as: UInt32.self),
            (1...5).contains(first >> 4), let type = FrameType(rawValue: first & 0b111),
            let service = ServiceType(rawValue: service),
            omitted == 0 || service.isStream && type != .control
        else { return false }
        let header = FrameHeader.bytes(version: first >> 4)
        return data.readableBytes >= header && data.readableBytes + omitted == header + Int(size)
    }

    private func bytes(
        _ data: ByteBuffer, _ packet: PcapngPacket, _ interface: Interface, _ time: WallTime
    ) -> TraceEntry {
        var offset: UInt64 = 0
        var notes: [String] = []
        for text in packet.comments {
            if case .offset(let value) = TraceComment(text) {
                offset = value
            } else {
                notes.append(text)
            }
        }
        let run = TappedBytes(
            bytes: data, direction: Self.direction(packet, interface),
            app: interface.app, offset: offset, time: time)
        return TraceEntry(time: time, content: .bytes(run), comments: notes)
    }

    private mutating func record(
        _ data: ByteBuffer, _ packet: PcapngPacket, _ time: WallTime
    ) throws(TraceError) -> TraceEntry {
        let record = try TraceRecord(json: data)
        if case .trace(let header) = record {
            guard header.version <= TraceHeader.version else {
                throw .newer(version: header.version)
            }
            if self.header == nil { self.header = header }
        }
        return TraceEntry(time: time, content: .record(record), comments: packet.comments)
    }

    private static func direction(
        _ packet: PcapngPacket, _ interface: Interface
    ) -> Direction {
        // Inbound is what relayd received: on an app's connection, the frames of the app.
        (packet.direction == .inbound) == (interface.app != nil) ? .fromApp : .fromAccessory
    }
}
