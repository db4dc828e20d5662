import Testing

@testable import AccessoryLinks

@Suite("ShortPackets")
struct ShortPacketsTests {
    @Test("what fills its last packet leaves the head unit waiting")
    func fullPackets() {
        for packet in [64, 512, 1024] {
            for count in [packet, 3 * packet, ShortPackets.transferBytes] {
                #expect(ShortPackets.leavesWaiting(after: count, packetBytes: packet))
            }
            for count in [0, 1, packet - 1, packet + 1, ShortPackets.transferBytes - 1] {
                #expect(!ShortPackets.leavesWaiting(after: count, packetBytes: packet))
            }
        }
        // 128 bytes are two packets at full speed, and a short one at high speed.
        #expect(ShortPackets.leavesWaiting(after: 128, packetBytes: 64))
        #expect(!ShortPackets.leavesWaiting(after: 128, packetBytes: 512))
        #expect(!ShortPackets.leavesWaiting(after: 512, packetBytes: 0))
    }

    @Test("behind a full packet others gather, while enough are asked for; behind a short one none")
    func gathering() {
        #expect(ShortPackets.goesOn(after: 512, packetBytes: 512, ahead: 64, of: 128))
        #expect(!ShortPackets.goesOn(after: 512, packetBytes: 512, ahead: 63, of: 128))
        for last in [-108, 0, 1, 511] {
            #expect(!ShortPackets.goesOn(after: last, packetBytes: 512, ahead: 127, of: 128))
        }
    }

    @Test("the last packet of a transfer is full, or what is left")
    func lastPackets() {
        let counts = [0, 1, 511, 512, 513, ShortPackets.transferBytes]
        let last = counts.map { ShortPackets.lastPacket(of: $0, packetBytes: 512) }
        #expect(last == [0, 1, 511, 512, 1, 512])
        #expect(ShortPackets.lastPacket(of: 10, packetBytes: 0) == 0)
    }
}
