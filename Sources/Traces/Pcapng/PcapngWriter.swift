import NIOCore

/// Appends blocks of pcapng to a buffer, little-endian, with times in nanoseconds.
enum PcapngWriter {
    static func append(_ section: PcapngSection, to buffer: inout ByteBuffer) {
        block(PcapngNumbers.section, to: &buffer) { buffer in
            write(PcapngNumbers.byteOrderMagic, to: &buffer)
            write(UInt16(1), to: &buffer)
            write(UInt16(0), to: &buffer)
            // The length of the section, which nobody knows yet.
            write(Int64(-1), to: &buffer)
            let option = PcapngNumbers.Option.self
            for comment in section.comments { text(option.comment, comment, to: &buffer) }
            text(option.operatingSystem, section.operatingSystem, to: &buffer)
            text(option.application, section.application, to: &buffer)
            write(UInt32(0), to: &buffer)
        }
    }

    static func append(_ interface: PcapngInterface, to buffer: inout ByteBuffer) {
        block(PcapngNumbers.interface, to: &buffer) { buffer in
            write(interface.linkType, to: &buffer)
            write(UInt16(0), to: &buffer)
            // No limit to what is captured of a packet.
            write(UInt32(0), to: &buffer)
            let option = PcapngNumbers.Option.self
            text(option.name, interface.name, to: &buffer)
            text(option.description, interface.description, to: &buffer)
            write(option.resolution, to: &buffer)
            write(UInt16(1), to: &buffer)
            write(UInt32(PcapngClock.nanoseconds), to: &buffer)
            write(UInt32(0), to: &buffer)
        }
    }

    /// Appends a packet whose data is `head` and behind it `bytes`.
    ///
    /// - Parameters:
    ///   - nanoseconds: Since 1970.
    ///   - omitted: Bytes that the packet had behind these.
    static func packet(
        interface: UInt32, nanoseconds: Int64, direction: PcapngDirection, head: StaticString,
        bytes: ByteBuffer, omitted: Int = 0, comments: [String] = [], to buffer: inout ByteBuffer
    ) {
        let captured = head.utf8CodeUnitCount + bytes.readableBytes
        let padding = PcapngNumbers.padding(captured)
        buffer.reserveCapacity(minimumWritableBytes: captured + 64)
        block(PcapngNumbers.packet, to: &buffer) { buffer in
            let ticks = UInt64(max(0, nanoseconds))
            write(interface, to: &buffer)
            write(UInt32(ticks >> 32), to: &buffer)
            write(UInt32(truncatingIfNeeded: ticks), to: &buffer)
            write(UInt32(clamping: captured), to: &buffer)
            write(UInt32(clamping: captured + omitted), to: &buffer)
            buffer.writeStaticString(head)
            buffer.writeImmutableBuffer(bytes)
            buffer.writeRepeatingByte(0, count: padding)
            write(PcapngNumbers.Option.flags, to: &buffer)
            write(UInt16(4), to: &buffer)
            write(UInt32(direction.rawValue), to: &buffer)
            for comment in comments { text(PcapngNumbers.Option.comment, comment, to: &buffer) }
            write(UInt32(0), to: &buffer)
        }
    }

    private static func block(
        _ type: UInt32, to buffer: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void
    ) {
        let start = buffer.writerIndex
        write(type, to: &buffer)
        write(UInt32(0), to: &buffer)
        body(&buffer)
        let length = UInt32(clamping: buffer.writerIndex - start + 4)
        write(length, to: &buffer)
        buffer.setInteger(length, at: start + 4, endianness: .little)
    }

    /// Texts longer than an option may be are cut.
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
