import SDLProtocol

/// Why bytes are not a pcapng file, and where.
package struct PcapngError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The file begins with something else.
        case notPcapng([UInt8])
        case noByteOrder(UInt32)
        case version(UInt16)
        /// Shorter than a block, or not a multiple of four.
        case blockLength(UInt32)
        /// A block of more than `PcapngReader.maximumBlockBytes`.
        case tooLarge(UInt32)
        /// The lengths at the beginning and the end of a block differ.
        case lengthsDiffer(first: UInt32, last: UInt32)
        case blockTooShort(String)
        case packetTooLong(captured: UInt32, available: Int)
        case optionTooLong(UInt16)
    }

    package var reason: Reason
    /// The start of the block, in bytes from the start of the file.
    package var offset: UInt64
}

extension PcapngError: CustomStringConvertible {
    /// What was found, what was expected, and what to do about it if anything.
    package var description: String {
        switch reason {
        case .notPcapng(let bytes):
            "not a pcapng file: it begins with \(Self.hex(bytes)), a pcapng file with "
                + "0A 0D 0D 0A\(Self.hint(bytes))"
        case .noByteOrder(let magic):
            "damaged at byte \(offset): a section begins with the byte order "
                + "0x\(String(magic, radix: 16)), expected 0x1a2b3c4d"
        case .version(let version):
            "pcapng version \(version) at byte \(offset), this program reads version 1"
        case .blockLength(let length):
            "damaged at byte \(offset): a block of \(length) bytes, expected a multiple of 4 from 12 on"
        case .tooLarge(let length):
            "damaged at byte \(offset): a block of \(length) bytes, at most "
                + "\(PcapngReader.maximumBlockBytes) are allowed"
        case .lengthsDiffer(let first, let last):
            "damaged at byte \(offset): a block says \(first) bytes in front and \(last) behind"
        case .blockTooShort(let name):
            "damaged at byte \(offset): a block too short for the \(name) it should be"
        case .packetTooLong(let captured, let available):
            "damaged at byte \(offset): a packet of \(captured) bytes in a block with room for "
                + "\(available)"
        case .optionTooLong(let option):
            "damaged at byte \(offset): option \(option) is longer than its block"
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { $0.hexDigits.uppercased() }.joined(separator: " ")
    }

    /// Names other kinds of files that users are likely to have.
    private static func hint(_ bytes: [UInt8]) -> String {
        switch bytes {
        case [0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x4D, 0x3C, 0xB2, 0xA1],
            [0xA1, 0xB2, 0x3C, 0x4D]:
            "; this is the older pcap, which does not keep who sent a frame: use the trace as relayd wrote it"
        case let start where start.starts(with: [0x1F, 0x8B]):
            "; this is compressed by gzip: unpack it first"
        case let start where start.starts(with: [0x28, 0xB5, 0x2F, 0xFD]):
            "; this is compressed by zstd: unpack it first"
        default: ""
        }
    }
}
