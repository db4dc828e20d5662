package import NIOCore

/// One block of a pcapng file, as far as traces use blocks (draft-ietf-opsawg-pcapng, section 4).
package enum PcapngBlock: Hashable, Sendable {
    case section(PcapngSection)
    case interface(PcapngInterface)
    case packet(PcapngPacket)
    /// A block that traces do not use, by its type.
    case other(UInt32)
}

/// A section of a file, with the file's description of itself.
package struct PcapngSection: Hashable, Sendable {
    package var operatingSystem: String?
    /// The program that wrote the file.
    package var application: String?
    package var comments: [String] = []

    package init() {}
}

/// An interface on which packets were seen.
package struct PcapngInterface: Hashable, Sendable {
    package var linkType: UInt16
    package var name: String?
    package var description: String?
    package var clock = PcapngClock()

    package init(linkType: UInt16, name: String? = nil, description: String? = nil) {
        self.linkType = linkType
        self.name = name
        self.description = description
    }
}

/// The direction of a packet (`epb_flags`, bits 0 and 1).
package enum PcapngDirection: UInt8, Hashable, Sendable {
    case unknown = 0
    case inbound = 1
    case outbound = 2
}

/// An Enhanced Packet.
package struct PcapngPacket: Hashable, Sendable {
    /// The number of the interface in its section, from 0.
    package var interface: UInt32
    /// The time in ticks of the interface's clock.
    package var ticks: UInt64
    package var direction: PcapngDirection = .unknown
    /// The captured bytes.
    package var data: ByteBuffer
    /// The size of the packet before it was cut; never less than that of `data`.
    package var originalBytes: Int
    package var comments: [String] = []

    package init(interface: UInt32, ticks: UInt64, data: ByteBuffer) {
        self.interface = interface
        self.ticks = ticks
        self.data = data
        originalBytes = data.readableBytes
    }
}
