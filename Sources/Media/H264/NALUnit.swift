package import NIOCore

/// One unit of an H.264 stream, without its start code (ITU-T H.264, 7.3.1 and table 7-1).
package struct NALUnit: Hashable, Sendable {
    /// Begins with the header byte; never empty.
    package let bytes: ByteBuffer
    /// Length of its start code: 3 or 4 bytes. Units that came without one get 4.
    package let startCodeBytes: Int
    /// Whether the unit was too long and only its first bytes are here.
    package let isCut: Bool

    /// - Returns: Nil without a header byte.
    package init?(_ bytes: ByteBuffer, startCodeBytes: Int = 4, isCut: Bool = false) {
        guard bytes.readableBytes > 0 else { return nil }
        (self.bytes, self.startCodeBytes, self.isCut) = (bytes, startCodeBytes, isCut)
    }

    /// The same unit for long-term storage: without the buffer that it is a slice of, which may be many times
    /// its size.
    var compact: NALUnit {
        guard bytes.storageCapacity > 2 * bytes.readableBytes + 256 else { return self }
        let copy = ByteBuffer(bytes: bytes.readableBytesView)
        return NALUnit(copy, startCodeBytes: startCodeBytes, isCut: isCut) ?? self
    }

    private func byte(_ offset: Int) -> UInt8? {
        bytes.getInteger(at: bytes.readerIndex + offset)
    }

    /// `nal_unit_type`.
    package var type: UInt8 { (byte(0) ?? 0) & 0b11111 }

    /// Part of a coded picture.
    package var isSlice: Bool { (1...5).contains(type) }
    /// Whether it is part of a picture that needs no earlier one.
    package var isIDR: Bool { type == 5 }
    package var isDelimiter: Bool { type == 9 }
    package var isSequenceParameterSet: Bool { type == 7 }
    package var isPictureParameterSet: Bool { type == 8 }

    /// Whether it is the first slice of its picture: `first_mb_in_slice` is 0, which as an Exp-Golomb code is
    /// a single 1.
    var isFirstSlice: Bool {
        switch type {
        case 1, 2, 5: (byte(1) ?? 0) & 0x80 != 0
        default: false
        }
    }

    /// Whether the unit begins a new picture when slices come before it (7.4.1.2.3).
    package var beginsPicture: Bool {
        switch type {
        case 6...9, 14...18: true
        default: isFirstSlice
        }
    }

    /// The ID of a parameter set; nil for other units and where the bytes end before it.
    var parameterSetID: UInt32? {
        // For a sequence: after profile, constraints and level.
        let start = isSequenceParameterSet ? 4 : isPictureParameterSet ? 1 : nil
        return start.flatMap(exponentialGolomb)
    }

    /// The unsigned Exp-Golomb code at a byte (9.1). IDs are below 256, so 17 bits are enough, and no
    /// emulation prevention byte can lie between them.
    private func exponentialGolomb(at offset: Int) -> UInt32? {
        var bits: UInt32 = 0
        for index in 0..<3 {
            guard let next = byte(offset + index) else {
                bits <<= 8
                continue
            }
            bits = bits << 8 | UInt32(next)
        }
        bits <<= 8
        let zeros = bits.leadingZeroBitCount
        guard zeros <= 8 else { return nil }
        return (bits << UInt32(zeros)) >> UInt32(31 - zeros) - 1
    }

    func append(to buffer: inout ByteBuffer) {
        if startCodeBytes > 3 { buffer.writeInteger(0, as: UInt8.self) }
        buffer.writeBytes([0, 0, 1])
        buffer.writeImmutableBuffer(bytes)
    }
}
