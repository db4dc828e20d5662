/// How the bytes for the head unit are cut into transfers, so that it gets each byte without delay. Values only.
///
/// A host's read of 16 KB ends when it is full or when a short packet comes. Android's accessory driver, with which
/// head units are tested, moves 16,384 bytes at most, and sends an empty packet after bytes that would not end the
/// read by themselves. So does relayd.
///
/// In the other direction nothing can be relied on: sdl_core never sends an empty packet, so a read that asks for
/// more than a packet would wait for what comes after a frame of 512 bytes. Each read therefore asks for one
/// packet, which always ends it; many are requested ahead, so that no packet waits for relayd.
enum ShortPackets {
    /// Bytes of one transfer to the host.
    static let transferBytes = 16_384
    /// The packet size at high speed, used when the kernel does not report one.
    static let usualPacketBytes = 512

    /// Whether the host goes on waiting after these bytes, until more bytes or an empty packet end its read.
    static func leavesWaiting(after count: Int, packetBytes: Int) -> Bool {
        count > 0 && packetBytes > 0 && count.isMultiple(of: packetBytes)
    }

    /// Whether to wait for more packets before handling those that have come: a full one is usually followed by
    /// another, and each look costs as much as a packet.
    ///
    /// - Parameters:
    ///   - last: Bytes of the last packet that has come.
    ///   - ahead: Packets that have been requested and have not come.
    ///   - room: Packets that can be requested. Half of them are left to the controller meanwhile.
    static func goesOn(after last: Int, packetBytes: Int, ahead: Int, of room: Int) -> Bool {
        last == packetBytes && ahead >= room / 2
    }

    /// Bytes of the last packet of a transfer.
    static func lastPacket(of count: Int, packetBytes: Int) -> Int {
        guard count > 0, packetBytes > 0 else { return 0 }
        return (count - 1) % packetBytes + 1
    }
}
