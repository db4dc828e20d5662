import Testing

@testable import AccessoryLinks

@Suite("ShortPackets")
struct ShortPacketsTests {
    @Test("an empty packet follows what fills its last one, unless more bytes do")
    func emptyPackets() {
        for packet in [64, 512, 1024] {
            for count in [packet, 3 * packet, ShortPackets.transferBytes] {
                #expect(
                    ShortPackets.needsEmptyPacket(after: count, packetBytes: packet, hasMore: false)
                )
                #expect(
                    !ShortPackets.needsEmptyPacket(after: count, packetBytes: packet, hasMore: true)
                )
            }
            for count in [0, 1, packet - 1, packet + 1, ShortPackets.transferBytes - 1] {
                #expect(
                    !ShortPackets.needsEmptyPacket(
                        after: count, packetBytes: packet, hasMore: false))
            }
        }
        // 128 bytes are two packets at full speed, and a short one at high speed.
        #expect(ShortPackets.needsEmptyPacket(after: 128, packetBytes: 64, hasMore: false))
        #expect(!ShortPackets.needsEmptyPacket(after: 128, packetBytes: 512, hasMore: false))
        #expect(!ShortPackets.needsEmptyPacket(after: 512, packetBytes: 0, hasMore: false))
    }

    @Test("the last packet of a transfer is full, or what is left")
    func lastPackets() {
        let counts = [0, 1, 511, 512, 513, ShortPackets.transferBytes]
        let last = counts.map { ShortPackets.lastPacket(of: $0, packetBytes: 512) }
        #expect(last == [0, 1, 511, 512, 1, 512])
        #expect(ShortPackets.lastPacket(of: 10, packetBytes: 0) == 0)
    }
}
