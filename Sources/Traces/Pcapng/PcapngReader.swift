package import NIOCore

/// Cuts the bytes of a pcapng file into blocks, in whatever pieces they come. Supports both byte orders and
/// several sections.
///
/// Its memory is bounded: one block at a time, of at most `maximumBlockBytes`.
package struct PcapngReader {
    /// A frame of SDL has at most a few hundred KiB; the largest block that Wireshark's reader accepts is 16
    /// MiB.
    package static let maximumBlockBytes = 16 << 20

    private var buffer = ByteBuffer()
    /// The file offset of the start of `buffer`.
    private var consumed: UInt64 = 0
    private var endianness = Endianness.little
    private var hasSection = false

    package init() {}

    /// The file offset of the next block.
    package var offset: UInt64 { consumed }

    /// Bytes of an incomplete block.
    package var unfinishedBytes: Int { buffer.readableBytes }

    package mutating func append(_ bytes: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// The next whole block; nil until more bytes come.
    ///
    /// - Throws: `PcapngError` where the bytes are not pcapng; the reader must not be used after that.
    package mutating func next() throws(PcapngError) -> PcapngBlock? {
        guard let type = number(at: 0) else {
            if !hasSection, buffer.readableBytes > 0 { try checkBeginning() }
            return nil
        }
        if !hasSection { try checkBeginning() }
        if type == PcapngNumbers.section {
            guard let magic = number(at: 8, .little) else { return nil }
            switch magic {
            case PcapngNumbers.byteOrderMagic: endianness = .little
            case PcapngNumbers.byteOrderMagic.byteSwapped: endianness = .big
            default: throw error(.noByteOrder(magic))
            }
            hasSection = true
        }
        guard let length = number(at: 4) else { return nil }
        let bytes = Int(length)
        guard bytes >= 12, bytes % 4 == 0 else { throw error(.blockLength(length)) }
        guard bytes <= Self.maximumBlockBytes else { throw error(.tooLarge(length)) }
        guard let end = number(at: bytes - 4) else { return nil }
        guard end == length else { throw error(.lengthsDiffer(first: length, last: end)) }
        var body = buffer.getSlice(at: buffer.readerIndex + 8, length: bytes - 12) ?? ByteBuffer()
        let block = try parsed(type, &body)
        buffer.moveReaderIndex(forwardBy: bytes)
        consumed += UInt64(bytes)
        return block
    }

    /// Recognises a file that is not pcapng by its first bytes, instead of waiting for a block of four GiB.
    private func checkBeginning() throws(PcapngError) {
        let magic: [UInt8] = [0x0A, 0x0D, 0x0D, 0x0A]
        let found = buffer.readableBytesView.prefix(4)
        guard magic.starts(with: found) else { throw error(.notPcapng(Array(found))) }
    }

    private func number(at offset: Int, _ order: Endianness? = nil) -> UInt32? {
        buffer.getInteger(at: buffer.readerIndex + offset, endianness: order ?? endianness)
    }

    private func error(_ reason: PcapngError.Reason) -> PcapngError {
        PcapngError(reason: reason, offset: consumed)
    }

    // MARK: Blocks

    private func parsed(
        _ type: UInt32, _ body: inout ByteBuffer
    ) throws(PcapngError) -> PcapngBlock {
        switch type {
        case PcapngNumbers.section: try section(&body)
        case PcapngNumbers.interface: try interface(&body)
        case PcapngNumbers.packet: try packet(&body)
        default: .other(type)
        }
    }

    private func section(_ body: inout ByteBuffer) throws(PcapngError) -> PcapngBlock {
        guard body.readSlice(length: 4) != nil,
            let major = body.readInteger(endianness: endianness, as: UInt16.self),
            body.readSlice(length: 10) != nil
        else { throw error(.blockTooShort("Section Header")) }
        guard major == 1 else { throw error(.version(major)) }
        var section = PcapngSection()
        try options(&body) { option, value in
            switch option {
            case PcapngNumbers.Option.comment: section.comments.append(String(buffer: value))
            case PcapngNumbers.Option.operatingSystem:
                section.operatingSystem = String(buffer: value)
            case PcapngNumbers.Option.application: section.application = String(buffer: value)
            default: break
            }
        }
        return .section(section)
    }

    private func interface(_ body: inout ByteBuffer) throws(PcapngError) -> PcapngBlock {
        guard let linkType = body.readInteger(endianness: endianness, as: UInt16.self),
            body.readSlice(length: 6) != nil
        else { throw error(.blockTooShort("Interface Description")) }
        var interface = PcapngInterface(linkType: linkType)
        let order = endianness
        try options(&body) { option, value in
            switch option {
            case PcapngNumbers.Option.name: interface.name = String(buffer: value)
            case PcapngNumbers.Option.description: interface.description = String(buffer: value)
            case PcapngNumbers.Option.resolution:
                interface.clock.resolution =
                    value.getInteger(at: value.readerIndex) ?? interface.clock.resolution
            case PcapngNumbers.Option.offset:
                interface.clock.offset =
                    value.getInteger(at: value.readerIndex, endianness: order) ?? 0
            default: break
            }
        }
        return .interface(interface)
    }

    private func packet(_ body: inout ByteBuffer) throws(PcapngError) -> PcapngBlock {
        guard let interface = body.readInteger(endianness: endianness, as: UInt32.self),
            let high = body.readInteger(endianness: endianness, as: UInt32.self),
            let low = body.readInteger(endianness: endianness, as: UInt32.self),
            let captured = body.readInteger(endianness: endianness, as: UInt32.self),
            let original = body.readInteger(endianness: endianness, as: UInt32.self)
        else { throw error(.blockTooShort("Enhanced Packet")) }
        let available = body.readableBytes
        guard let data = body.readSlice(length: Int(captured)) else {
            throw error(.packetTooLong(captured: captured, available: available))
        }
        body.moveReaderIndex(
            forwardBy: min(PcapngNumbers.padding(data.readableBytes), body.readableBytes))
        var packet = PcapngPacket(
            interface: interface, ticks: UInt64(high) << 32 | UInt64(low), data: data)
        packet.originalBytes = max(Int(original), data.readableBytes)
        let order = endianness
        try options(&body) { option, value in
            switch option {
            case PcapngNumbers.Option.comment: packet.comments.append(String(buffer: value))
            case PcapngNumbers.Option.flags:
                let flags = value.getInteger(
                    at: value.readerIndex, endianness: order, as: UInt32.self)
                packet.direction =
                    flags.flatMap { PcapngDirection(rawValue: UInt8($0 & 3)) } ?? .unknown
            default: break
            }
        }
        return .packet(packet)
    }

    /// Reads options, which may end with the block instead of an end marker.
    private func options(
        _ body: inout ByteBuffer, _ found: (UInt16, ByteBuffer) -> Void
    ) throws(PcapngError) {
        while let option = body.readInteger(endianness: endianness, as: UInt16.self) {
            guard let length = body.readInteger(endianness: endianness, as: UInt16.self) else {
                throw error(.optionTooLong(option))
            }
            if option == PcapngNumbers.Option.end { return }
            guard let value = body.readSlice(length: Int(length)) else {
                throw error(.optionTooLong(option))
            }
            body.moveReaderIndex(
                forwardBy: min(PcapngNumbers.padding(Int(length)), body.readableBytes))
            found(option, value)
        }
    }
}
