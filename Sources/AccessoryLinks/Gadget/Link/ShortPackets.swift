/// How the bytes for the head unit are cut into transfers, so that it gets each of them at once. Values only.
///
/// A host's read of 16 KB ends when it is full or when a packet comes that is shorter than others. Android's
/// accessory driver, with which head units are tested, moves 16,384 bytes at most, and ends what would not end
/// by itself with an empty packet. So does relayd.
///
/// The other way nothing can be relied on: sdl_core ends nothing with an empty packet, so a read that asks for
/// more than a packet would wait for what comes after a frame of 512 bytes. Each read therefore asks for one
/// packet, which ends it always; many are asked for ahead, so that no packet waits for relayd.
enum ShortPackets {
    /// Of one transfer to the host.
    static let transferBytes = 16_384
    /// At high speed, when the kernel does not tell.
    static let usualPacketBytes = 512

    /// Whether the host goes on waiting after these bytes, until more bytes or an empty packet end its read.
    static func leavesWaiting(after count: Int, packetBytes: Int) -> Bool {
        count > 0 && packetBytes > 0 && count.isMultiple(of: packetBytes)
    }

    /// Whether to leave more packets to come before those that have come are looked at: a full one is followed by
    /// another as a rule, and each look costs as much as a packet.
    ///
    /// - Parameters:
    ///   - last: Bytes of the last one that has come.
    ///   - ahead: Packets that are asked for and have not come.
    ///   - room: Packets that can be asked for. Half of them are left to the controller meanwhile.
    static func goesOn(after last: Int, packetBytes: Int, ahead: Int, of room: Int) -> Bool {
        last == packetBytes && ahead >= room / 2
    }

    /// Bytes of the last packet of a transfer.
    static func lastPacket(of count: Int, packetBytes: Int) -> Int {
        guard count > 0, packetBytes > 0 else { return 0 }
        return (count - 1) % packetBytes + 1
    }
}
