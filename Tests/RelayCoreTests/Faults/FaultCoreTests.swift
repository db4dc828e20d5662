// Rules that need no permission for a real head unit, with the stand-in for sdl_core: their effect on one app
// costs no other app anything.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What a fault rule may do on sdl_core's link without permission hurts no other app")
struct FaultCoreTests {
    /// One app talks a lot under the rule, and its frames are let go at once in the end; another asks now and then.
    @Test(
        "floods, half messages and malformed frames do not come of it",
        arguments: [
            "hold", "hold 2s", "delay 800ms jitter 900ms", "duplicate", "reorder", "rate 20KB/s",
            "drop probability 50%", "answer REJECTED probability 50%", "disconnect from 1s count 1",
        ])
    func neighbour(action: String) throws {
        let bench = try SharedCoreBench(seed: 7, framesPerSecond: 950)
        let radio = try bench.connect()
        let maps = try bench.connect()
        #expect(try bench.register(radio, "radio") == "SUCCESS")
        #expect(try bench.register(maps, "maps") == "SUCCESS")
        let rule = try FaultRule(
            filter: "session:\(radio.session)", action: action, isHeadUnitReal: true)
        #expect(try bench.switchboard.sdl.addFaults([rule], knowing: [:]) == [1])
        var asked: [Int32] = []
        for turn in 0..<30 as Range<Int32> {
            // With those of the files some 1,500 frames: half again as many as the head unit tolerates in a second.
            for number in 0..<40 as Range<Int32> where radio.channel.isActive {
                try radio.say(.request(radio.session, .show, 1000 + turn * 100 + number))
            }
            for frame in file(radio.session, turn) where radio.channel.isActive {
                try radio.say(frame)
            }
            asked.append(100 + turn)
            try maps.say(.request(maps.session, .show, 100 + turn))
            try bench.pass(.milliseconds(60))
        }
        _ = bench.switchboard.sdl.removeFaults()
        try bench.pass(.seconds(4))
        #expect(bench.switchboard.sdl.faults == nil)
        let answers = try maps.heard().filter { asked.contains($0.correlationID ?? 0) }
        #expect(answers.compactMap(\.correlationID).sorted() == asked)
        #expect(answers.allSatisfy { $0.resultCode == "SUCCESS" })
        #expect(bench.core.counters.floods == 0)
        #expect(bench.core.counters.malformed == 0)
        #expect(bench.core.counters.strayMessages == 0)
        #expect(bench.core.unfinishedMessages == 0)
        #expect(!bench.core.hasStoppedReading(bench.connection))
        #expect(bench.core.running.count == (radio.channel.isActive ? 2 : 1))
        #expect(radio.channel.isActive == !action.hasPrefix("disconnect"))
    }

    private func file(_ session: UInt8, _ turn: Int32) -> [Frame] {
        Frame.putFile(
            session, name: "cover\(turn).png", contents: ByteBuffer(repeating: 7, count: 3000),
            correlationID: 5000 + turn, service: .bulk, frameBytes: 400)
    }

    @Test("a file that a rate slows down beyond sdl_core's patience is not mixed with another's")
    func slowFile() throws {
        let bench = try SharedCoreBench(seed: 8, framesPerSecond: 950)
        let radio = try bench.connect()
        let maps = try bench.connect()
        #expect(try bench.register(radio, "radio") == "SUCCESS")
        #expect(try bench.register(maps, "maps") == "SUCCESS")
        // A frame every 16 s, and sdl_core waits for 10 s.
        let rule = try FaultRule(
            filter: "session:\(radio.session) service:bulk", action: "rate 250B/s",
            isHeadUnitReal: true)
        _ = try bench.switchboard.sdl.addFaults([rule], knowing: [:])
        let slow = Frame.putFile(
            radio.session, name: "slow.png", contents: ByteBuffer(repeating: 7, count: 12_000),
            correlationID: 900, service: .bulk, frameBytes: 4000)
        for frame in slow { try radio.say(frame) }
        var asked: [Int32] = []
        for turn in 0..<70 as Range<Int32> {
            asked.append(100 + turn)
            try maps.say(.request(maps.session, .show, 100 + turn))
            try bench.pass(.seconds(1))
        }
        let answers = try maps.heard().filter { asked.contains($0.correlationID ?? 0) }
        #expect(answers.map(\.resultCode) == asked.map { _ in "SUCCESS" })
        #expect(bench.core.counters.malformed == 0)
        #expect(bench.core.counters.strayMessages == 0)
        #expect(bench.core.unfinishedMessages == 0)
        #expect(bench.core.stored.allSatisfy { $0.lives.count == 1 })
        #expect(bench.core.running.count == 2)
    }
}
