import Testing

@testable import AccessoryLinks

@Suite("Transfers from the device")
struct USBInboundTests {
    private func started(_ transfers: [String] = ["a", "b", "c"]) -> USBInbound<String> {
        var inbound = USBInbound(endpoint: 0x82, transfers: transfers)
        for transfer in transfers { #expect(inbound.takeIdle() == transfer) }
        #expect(inbound.takeIdle() == nil)
        return inbound
    }

    @Test(
        "bytes keep their order, and a transfer is submitted again only when its bytes are written")
    func order() {
        var inbound = started()
        #expect(inbound.returned("b", .completed, bytes: 5) == .go)
        #expect(inbound.filled.isEmpty)
        #expect(inbound.returned("a", .completed, bytes: 3) == .go)
        #expect(inbound.filled.map(\.transfer) == ["a", "b"])
        inbound.wrote(2)
        #expect(inbound.filled[0].bytes == 2..<3)
        #expect(inbound.takeIdle() == nil)
        inbound.wrote(1)
        #expect(inbound.takeIdle() == "a")
        #expect(inbound.filled.map(\.transfer) == ["b"])
        #expect(inbound.dropFilled() == 5)
    }

    /// Returns the transfer with this many bytes, which the socket takes at once, and submits it again.
    private func bring(
        _ bytes: Int, _ inbound: inout USBInbound<String>, _ outcome: USBOutcome = .completed
    ) {
        let transfer = inbound.underWay[0]
        #expect(inbound.returned(transfer, outcome, bytes: bytes) == .go)
        if bytes > 0 { inbound.wrote(bytes) }
        #expect(inbound.takeIdle() == transfer)
    }

    @Test("a device that has more and more is asked for more at once, but not for ever")
    func streams() {
        var inbound = started()
        for _ in 1..<4 {
            bring(16_384, &inbound)
            #expect(inbound.request == .usual)
        }
        bring(16_384, &inbound)
        #expect(inbound.request.bytes == 32_768 && inbound.request.milliseconds > 0)
        // Not every transfer need be full.
        for bytes in [32_768, 20_000, 700, 32_768] { bring(bytes, &inbound) }
        #expect(inbound.request == .ofStream)
        // Nothing more comes: the next request has no timeout, as before.
        bring(0, &inbound, .timedOut)
        #expect(inbound.request == .usual)
        #expect(inbound.filledBytes == 0)
    }

    @Test("small packets are no stream, however many")
    func smallPackets() {
        var inbound = started()
        for bytes in 0..<1000 {
            bring(bytes % 600, &inbound)
            #expect(inbound.request == .usual)
        }
        for _ in 0..<4 { bring(16_384, &inbound) }
        #expect(inbound.request == .ofStream, "it takes no longer than at the start")
    }

    @Test("bytes of a transfer whose time was over count, and its device is left in peace")
    func timedOut() {
        var inbound = started()
        for _ in 0..<8 { bring(16_384, &inbound) }
        #expect(inbound.returned("a", .completed, bytes: 32_768) == .go)
        #expect(inbound.returned("b", .timedOut, bytes: 9000) == .go)
        #expect(inbound.returned("c", .timedOut, bytes: 0) == .go)
        #expect(inbound.filled.map(\.bytes.count) == [32_768, 9000])
        inbound.wrote(32_768)
        inbound.wrote(9000)
        for _ in 0..<3 { _ = inbound.takeIdle() }
        for _ in 0..<100 { bring(16_384, &inbound) }
        #expect(inbound.request == .usual)
    }

    @Test("an empty packet is no news")
    func empty() {
        var inbound = started()
        #expect(inbound.returned("a", .completed, bytes: 0) == .go)
        #expect(inbound.filled.isEmpty)
        #expect(inbound.takeIdle() == "a")
    }

    @Test("after a stall the rest is cancelled, the halt is cleared, and nothing is lost")
    func stall() {
        var inbound = started()
        #expect(inbound.returned("a", .stalled, bytes: 2) == .cancelRest)
        #expect(inbound.takeIdle() == nil)
        #expect(inbound.underWay == ["b", "c"])
        #expect(inbound.returned("c", .cancelled, bytes: 0) == .go)
        #expect(inbound.returned("b", .cancelled, bytes: 4) == .clearHalt)
        #expect(inbound.filled.map(\.transfer) == ["a", "b"])
        #expect(inbound.takeIdle() == nil)
        inbound.recovered()
        #expect(inbound.takeIdle() == "c")
    }

    @Test("a device that stalls again and again without a byte is given up; one byte is enough")
    func stallsForEver() {
        var inbound = started(["a"])
        for _ in 0..<maximumUSBStalls {
            #expect(inbound.returned("a", .stalled, bytes: 0) == .clearHalt)
            inbound.recovered()
            _ = inbound.takeIdle()
        }
        var alive = inbound
        #expect(
            inbound.returned("a", .stalled, bytes: 0) == .fail(.stalled(endpoint: 0x82)))
        #expect(alive.returned("a", .completed, bytes: 1) == .go)
        alive.wrote(1)
        _ = alive.takeIdle()
        #expect(alive.returned("a", .stalled, bytes: 0) == .clearHalt)
    }

    @Test("what ends a link is told apart, and bytes that came before it are kept")
    func faults() {
        let expected: [(USBOutcome, USBFault)] = [
            (.gone, .vanished), (.failed, .failed(endpoint: 0x82)), (.cancelled, .interrupted),
            (.overflow, .overflow(endpoint: 0x82)),
        ]
        for (outcome, fault) in expected {
            var inbound = started()
            #expect(inbound.returned("a", .completed, bytes: 7) == .go)
            #expect(inbound.returned("b", outcome, bytes: 0) == .fail(fault))
            #expect(inbound.filledBytes == 7)
            #expect(inbound.underWay == ["c"])
        }
    }

    @Test("an unplug while it recovers from a stall is an unplug")
    func unplugInRecovery() {
        var inbound = started()
        #expect(inbound.returned("a", .stalled, bytes: 0) == .cancelRest)
        #expect(inbound.returned("b", .gone, bytes: 0) == .fail(.vanished))
    }
}

@Suite("Transfers to the device")
struct USBOutboundTests {
    private func filled(_ counts: [Int] = [10, 20, 30]) -> USBOutbound<String> {
        var outbound = USBOutbound(endpoint: 0x05, transfers: ["a", "b", "c"])
        for count in counts { outbound.filled(count) }
        return outbound
    }

    @Test("a transfer is filled again when it has been sent; what is not sent is known")
    func order() {
        var outbound = filled()
        #expect(!outbound.canFill)
        #expect(outbound.unsentBytes == 60)
        #expect(outbound.returned("b", .completed, bytes: 20) == .go)
        #expect(!outbound.canFill)
        #expect(outbound.unsentBytes == 40)
        #expect(outbound.returned("a", .completed, bytes: 10) == .go)
        #expect(outbound.free == ["a", "b"])
        #expect(outbound.unsentBytes == 30)
        #expect(outbound.returned("c", .completed, bytes: 30) == .go)
        #expect(outbound.isEmpty && outbound.unsentBytes == 0)
    }

    @Test("what is under way at once is bounded, whatever the number of transfers")
    func room() {
        var outbound = USBOutbound(endpoint: 0x05, transfers: ["a", "b", "c", "d"])
        #expect(outbound.room == 32_768)
        outbound.filled(32_768)
        outbound.filled(20_000)
        #expect(outbound.canFill && outbound.room == 65_536 - 52_768)
        outbound.filled(outbound.room)
        #expect(!outbound.canFill && outbound.free == ["d"])
        #expect(outbound.returned("a", .completed, bytes: 32_768) == .go)
        #expect(outbound.canFill && outbound.room == 32_768)
    }

    @Test("a short transfer goes on at its offset, and those behind it follow")
    func short() {
        var outbound = filled()
        #expect(outbound.returned("a", .completed, bytes: 4) == .cancelRest)
        #expect(outbound.underWay == ["b", "c"])
        #expect(outbound.returned("c", .cancelled, bytes: 0) == .go)
        #expect(outbound.returned("b", .cancelled, bytes: 0) == .resume)
        #expect(!outbound.canFill)
        #expect(
            outbound.recovered() == [
                .init(transfer: "a", bytes: 4..<10), .init(transfer: "b", bytes: 0..<20),
                .init(transfer: "c", bytes: 0..<30),
            ])
        #expect(outbound.unsentBytes == 56)
        #expect(outbound.returned("a", .completed, bytes: 6) == .go)
        #expect(outbound.free == ["a"])
    }

    @Test("a stall clears the halt and sends the rest again")
    func stall() {
        var outbound = filled()
        #expect(outbound.returned("a", .completed, bytes: 10) == .go)
        #expect(outbound.returned("b", .stalled, bytes: 8) == .cancelRest)
        #expect(outbound.returned("c", .cancelled, bytes: 0) == .clearHalt)
        #expect(
            outbound.recovered() == [
                .init(transfer: "b", bytes: 8..<20), .init(transfer: "c", bytes: 0..<30),
            ])
        #expect(outbound.canFill)
    }

    @Test("a hole in the stream ends the link rather than reaching the head unit")
    func hole() {
        var outbound = filled()
        #expect(outbound.returned("a", .stalled, bytes: 4) == .cancelRest)
        #expect(outbound.returned("b", .completed, bytes: 20) == .go)
        #expect(outbound.returned("c", .cancelled, bytes: 0) == .fail(.outOfOrder))
    }

    @Test("a device that takes nothing is given up")
    func stallsForEver() {
        var outbound = filled([10])
        for _ in 0..<maximumUSBStalls {
            #expect(outbound.returned("a", .stalled, bytes: 0) == .clearHalt)
            #expect(outbound.recovered() == [.init(transfer: "a", bytes: 0..<10)])
        }
        #expect(
            outbound.returned("a", .stalled, bytes: 0) == .fail(.stalled(endpoint: 0x05)))
    }

    @Test("one that failed counts as unsent, though one before it has come back well after it")
    func failedBehindCompleted() {
        var outbound = filled([10, 20])
        #expect(outbound.returned("b", .failed, bytes: 0) == .fail(.failed(endpoint: 0x05)))
        #expect(outbound.returned("a", .completed, bytes: 10) == .go)
        #expect(outbound.unsentBytes == 20)
    }

    @Test("unsent bytes are known when the device goes")
    func gone() {
        var outbound = filled()
        #expect(outbound.returned("a", .gone, bytes: 3) == .fail(.vanished))
        #expect(outbound.returned("b", .gone, bytes: 0) == .fail(.vanished))
        #expect(outbound.unsentBytes == 57)
    }
}
