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

    /// Whether the host would go on waiting after these bytes.
    ///
    /// - Parameter hasMore: More bytes follow at once, and end what these do not.
    static func needsEmptyPacket(after count: Int, packetBytes: Int, hasMore: Bool) -> Bool {
        !hasMore && count > 0 && packetBytes > 0 && count.isMultiple(of: packetBytes)
    }

    /// Bytes of the last packet of a transfer.
    static func lastPacket(of count: Int, packetBytes: Int) -> Int {
        guard count > 0, packetBytes > 0 else { return 0 }
        return (count - 1) % packetBytes + 1
    }
}
