import NIOCore

/// Appends pcapng blocks, little-endian, with times in nanoseconds.
enum PcapngWriter {
    static func append(_ section: PcapngSection, to blocks: inout TraceBlocks) {
        block(PcapngNumbers.section, to: &blocks) { blocks in
            write(PcapngNumbers.byteOrderMagic, to: &blocks.copied)
            write(UInt16(1), to: &blocks.copied)
            write(UInt16(0), to: &blocks.copied)
            // The length of the section, which is not known yet.
            write(Int64(-1), to: &blocks.copied)
            let option = PcapngNumbers.Option.self
            for comment in section.comments { text(option.comment, comment, to: &blocks.copied) }
            text(option.operatingSystem, section.operatingSystem, to: &blocks.copied)
            text(option.application, section.application, to: &blocks.copied)
            write(UInt32(0), to: &blocks.copied)
        }
    }

    static func append(_ interface: PcapngInterface, to blocks: inout TraceBlocks) {
        block(PcapngNumbers.interface, to: &blocks) { blocks in
            write(interface.linkType, to: &blocks.copied)
            write(UInt16(0), to: &blocks.copied)
            // No limit on the captured bytes of a packet.
            write(UInt32(0), to: &blocks.copied)
            let option = PcapngNumbers.Option.self
            text(option.name, interface.name, to: &blocks.copied)
            text(option.description, interface.description, to: &blocks.copied)
            write(option.resolution, to: &blocks.copied)
            write(UInt16(1), to: &blocks.copied)
            write(UInt32(PcapngClock.nanoseconds), to: &blocks.copied)
            write(UInt32(0), to: &blocks.copied)
        }
    }

    /// Appends a packet whose data is `head` followed by `bytes`.
    ///
    /// - Parameters:
    ///   - nanoseconds: Since 1970.
    ///   - omitted: The number of further bytes that the packet had.
    static func packet(
        interface: UInt32, nanoseconds: Int64, direction: PcapngDirection, head: StaticString,
        bytes: ByteBuffer, omitted: Int = 0, comments: [String] = [], to blocks: inout TraceBlocks
    ) {
        let captured = head.utf8CodeUnitCount + bytes.readableBytes
        let padding = PcapngNumbers.padding(captured)
        let copied = blocks.isLent(bytes) ? 0 : captured
        blocks.copied.reserveCapacity(minimumWritableBytes: copied + 64)
        block(PcapngNumbers.packet, to: &blocks) { blocks in
            let ticks = UInt64(max(0, nanoseconds))
            write(interface, to: &blocks.copied)
            write(UInt32(ticks >> 32), to: &blocks.copied)
            write(UInt32(truncatingIfNeeded: ticks), to: &blocks.copied)
            write(UInt32(clamping: captured), to: &blocks.copied)
            write(UInt32(clamping: captured + omitted), to: &blocks.copied)
            blocks.copied.writeStaticString(head)
            blocks.append(bytes)
            blocks.copied.writeRepeatingByte(0, count: padding)
            write(PcapngNumbers.Option.flags, to: &blocks.copied)
            write(UInt16(4), to: &blocks.copied)
            write(UInt32(direction.rawValue), to: &blocks.copied)
            for comment in comments {
                text(PcapngNumbers.Option.comment, comment, to: &blocks.copied)
            }
            write(UInt32(0), to: &blocks.copied)
        }
    }

    private static func block(
        _ type: UInt32, to blocks: inout TraceBlocks, _ body: (inout TraceBlocks) -> Void
    ) {
        let start = blocks.count
        let place = blocks.copied.writerIndex
        write(type, to: &blocks.copied)
        write(UInt32(0), to: &blocks.copied)
        body(&blocks)
        let length = UInt32(clamping: blocks.count - start + 4)
        write(length, to: &blocks.copied)
        blocks.copied.setInteger(length, at: place + 4, endianness: .little)
    }

    /// Appends a text, cut to the maximum length of an option.
    private static func text(_ option: UInt16, _ text: String?, to buffer: inout ByteBuffer) {
        guard let text else { return }
        let bytes = text.utf8.prefix(PcapngNumbers.maximumOptionBytes)
        write(option, to: &buffer)
        write(UInt16(clamping: bytes.count), to: &buffer)
        buffer.writeBytes(bytes)
        buffer.writeRepeatingByte(0, count: PcapngNumbers.padding(bytes.count))
    }

    @inline(__always)
    private static func write(_ number: some FixedWidthInteger, to buffer: inout ByteBuffer) {
        buffer.writeInteger(number, endianness: .little)
    }
}
