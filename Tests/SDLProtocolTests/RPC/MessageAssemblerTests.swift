import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite struct MessageAssemblerTests {
    private let second: Int64 = 1_000_000_000

    private func first(
        bytes: Int, frames: Int, session: UInt8 = 1, messageID: UInt32 = 6, version: UInt8 = 5
    ) -> Frame {
        var payload = ByteBuffer()
        payload.writeInteger(UInt32(bytes))
        payload.writeInteger(UInt32(frames))
        return Frame(
            version: version, type: .first, service: .rpc, sessionID: session,
            messageID: messageID, payload: payload)
    }

    private func next(
        _ info: Int, _ payload: String = "x", session: UInt8 = 1, messageID: UInt32 = 6,
        version: UInt8 = 5, isEncrypted: Bool = false
    ) -> Frame {
        Frame(
            version: version, isEncrypted: isEncrypted, type: .consecutive, service: .rpc,
            info: UInt8(info), sessionID: session, messageID: messageID,
            payload: ByteBuffer(string: payload))
    }

    /// The outcomes in words, for tables.
    private func feed(
        _ frames: [Frame], _ assembler: inout MessageAssembler, at time: Int64 = 0
    ) -> [String] {
        frames.map { frame in
            switch assembler.receive(frame, at: time) {
            case .incomplete: "…"
            case .message(let message, nil): String(buffer: message.payload)
            case .message(_, let problem?): "message, \(problem)"
            case .broken(_, let problem): "broken, \(problem)"
            }
        }
    }

    @Test("the protocol's example of three frames becomes one RPC")
    func assemblesExample() throws {
        var assembler = MessageAssembler()
        var message: Message?
        for frame in try RPCExamples.frames(RPCExamples.multiFrame) {
            if case .message(let whole, nil) = assembler.receive(frame, at: 0) { message = whole }
        }
        let rpc = try RPCMessage(#require(message))
        #expect(rpc.functionID == .listFiles)
        #expect(rpc.parameters.bool("success") == true)
        #expect(message?.frames == 4)
        #expect(assembler.unfinishedMessages == 0)
    }

    @Test(
        "sequence numbers wrap from 255 to 1, and the last frame has 0",
        arguments: [1, 2, 254, 255, 256, 257, 511, 600], [1, 5] as [UInt8])
    func wraps(frames: Int, version: UInt8) {
        var assembler = MessageAssembler()
        var all = [first(bytes: frames, frames: frames, version: version)]
        for ordinal in 1...frames {
            let info = ordinal == frames ? 0 : (ordinal - 1) % 255 + 1
            all.append(next(info, version: version))
        }
        let outcomes = feed(all, &assembler)
        #expect(outcomes.dropLast().allSatisfy { $0 == "…" })
        #expect(outcomes.last == String(repeating: "x", count: frames))
    }

    @Test("messages of several sessions, and of one session, may interleave")
    func interleaves() {
        var assembler = MessageAssembler()
        #expect(
            feed(
                [
                    first(bytes: 2, frames: 2), first(bytes: 2, frames: 2, session: 2),
                    first(bytes: 2, frames: 2, messageID: 7), next(1, "a"),
                    next(1, "b", session: 2), next(1, "c", messageID: 7), next(0, "A"),
                    next(0, "C", messageID: 7), next(0, "B", session: 2),
                ], &assembler) == ["…", "…", "…", "…", "…", "…", "aA", "cC", "bB"])
    }

    @Test("a missing frame is told once, and the rest of the message is swallowed")
    func missingFrame() {
        var assembler = MessageAssembler()
        #expect(
            feed(
                [first(bytes: 4, frames: 4), next(1), next(3), next(4), next(0)], &assembler)
                == ["…", "…", "broken, consecutive frame 3 where 2 was expected", "…", "…"])
        #expect(assembler.unfinishedMessages == 0)
        #expect(feed([first(bytes: 1, frames: 1), next(0, "y")], &assembler) == ["…", "y"])
    }

    @Test("zero does not follow 255")
    func zeroAfter255() {
        var assembler = MessageAssembler()
        let frames =
            [first(bytes: 300, frames: 300)] + (1...255).map { next($0) } + [next(0)]
        #expect(
            feed(frames, &assembler).last
                == "message, ended after 256 frames, 300 announced")
    }

    @Test("frames without a first frame are told once")
    func noFirstFrame() {
        var assembler = MessageAssembler()
        #expect(
            feed([next(5), next(6), next(0)], &assembler) == [
                "broken, consecutive frame 5 of a message whose first frame was never seen", "…",
                "…",
            ])
    }

    @Test("a message that starts again gives up the one before")
    func restarts() {
        var assembler = MessageAssembler()
        #expect(
            feed(
                [
                    first(bytes: 3, frames: 3), next(1), first(bytes: 2, frames: 2), next(1, "a"),
                    next(0, "b"),
                ], &assembler) == [
                    "…", "…", "broken, started again after 1 of 3 frames", "…", "ab",
                ])
    }

    @Test("counts that differ from the announced ones are told, the message is kept")
    func wrongCounts() {
        var assembler = MessageAssembler()
        #expect(
            feed([first(bytes: 2, frames: 3), next(1), next(0)], &assembler).last
                == "message, ended after 2 frames, 3 announced")
        #expect(
            feed([first(bytes: 9, frames: 2), next(1), next(0)], &assembler).last
                == "message, ended after 2 bytes, 9 announced")
    }

    @Test("a huge announced size costs nothing, and bytes beyond the limit are only counted")
    func boundsMemory() throws {
        var limits = MessageAssembler.Limits()
        limits.maximumMessageBytes = 10
        var assembler = MessageAssembler(limits: limits)
        _ = feed([first(bytes: 0xFFFF_FFFF, frames: 0xFFFF_FFFF)], &assembler)
        for info in 1...3 {
            _ = assembler.receive(next(info, "12345678"), at: 0)
        }
        guard case .message(let message, let problem) = assembler.receive(next(0, "9"), at: 0)
        else {
            Issue.record("no message")
            return
        }
        #expect(problem == .frameCount(received: 4, announced: 0xFFFF_FFFF))
        #expect(message.payloadBytes == 25)
        #expect(String(buffer: message.payload) == "1234567812")
        #expect(message.isTruncated)
    }

    @Test("all unfinished messages together are bounded in bytes and number")
    func boundsTotal() {
        var limits = MessageAssembler.Limits()
        limits.maximumKeptBytes = 10
        limits.maximumUnfinished = 2
        var assembler = MessageAssembler(limits: limits)
        _ = feed(
            [first(bytes: 16, frames: 2), next(1, "12345678")], &assembler, at: 1)
        _ = feed(
            [first(bytes: 9, frames: 2, messageID: 7), next(1, "12345678", messageID: 7)],
            &assembler, at: 2)
        #expect(
            feed([first(bytes: 2, frames: 2, messageID: 8)], &assembler, at: 3)
                == ["broken, given up: more than 2 messages are unfinished"])
        // The oldest is gone; of the second, only the part that fitted was kept.
        #expect(feed([next(0, "x", messageID: 7)], &assembler, at: 4) == ["12"])
        #expect(assembler.unfinishedMessages == 1)
    }

    @Test("a message without further frames for ten seconds is given up")
    func expires() {
        var assembler = MessageAssembler()
        _ = feed([first(bytes: 3, frames: 3)], &assembler, at: 0)
        _ = feed([next(1)], &assembler, at: 5 * second)
        #expect(assembler.expire(at: 14 * second).isEmpty)
        let expired = assembler.expire(at: 15 * second)
        #expect(expired.map(\.1) == [.expired(received: 1, announced: 3)])
        #expect(expired.first?.0.payloadBytes == 1)
        #expect(assembler.unfinishedMessages == 0)
    }

    @Test("what a session leaves unfinished is handed back when it ends")
    func abandons() {
        var assembler = MessageAssembler()
        _ = feed(
            [first(bytes: 3, frames: 3), first(bytes: 3, frames: 3, session: 2)], &assembler)
        #expect(
            assembler.abandon(session: 2).map(\.1) == [.abandoned(received: 0, announced: 3)])
        #expect(assembler.abandon().count == 1)
        #expect(assembler.unfinishedMessages == 0)
    }

    @Test("after a gap in observation nobody is blamed for missing frames")
    func skipsGap() {
        var assembler = MessageAssembler()
        _ = feed([first(bytes: 3, frames: 3), next(1)], &assembler)
        assembler.skipGap(at: 0)
        #expect(feed([next(3), next(0)], &assembler, at: second) == ["…", "…"])
        #expect(feed([next(3)], &assembler, at: 11 * second).first?.hasPrefix("broken") == true)
    }

    @Test("a message with an encrypted frame is marked, and its bytes are not kept")
    func encrypted() {
        var assembler = MessageAssembler()
        _ = feed([first(bytes: 3, frames: 2), next(1, "secret", isEncrypted: true)], &assembler)
        guard
            case .message(let message, nil) = assembler.receive(
                next(0, "more", isEncrypted: true), at: 0)
        else {
            Issue.record("no message")
            return
        }
        #expect(message.isEncrypted)
        #expect(message.payload.readableBytes == 0)
        #expect(message.payloadBytes == 10)
    }

    @Test("a first frame of the wrong size is told")
    func malformedFirst() {
        var assembler = MessageAssembler()
        let frame = Frame(
            version: 5, type: .first, service: .rpc, sessionID: 1, messageID: 6,
            payload: ByteBuffer(string: "short"))
        #expect(
            feed([frame, next(1), next(0)], &assembler)
                == ["broken, first frame with 5 payload bytes, expected 8", "…", "…"])
    }

    @Test("single frames pass through, sharing the frame's bytes")
    func singleFrames() throws {
        var assembler = MessageAssembler()
        let frame = try RPCExamples.frames(RPCExamples.onHMIStatus)[0]
        guard case .message(let message, nil) = assembler.receive(frame, at: 0) else {
            Issue.record("no message")
            return
        }
        #expect(message.payload == frame.payload)
        #expect(message.frames == 1)
    }

    @Test("random sequences of frames stay within bounds")
    func survivesFuzzing() async {
        var random = SeededGenerator(seed: 99)
        var limits = MessageAssembler.Limits()
        limits.maximumUnfinished = 16
        limits.maximumKeptBytes = 4096
        var assembler = MessageAssembler(limits: limits)
        for step in 0..<50_000 {
            if step % 100 == 0 { await Task.yield() }
            let session = UInt8.random(in: 1...4, using: &random)
            let messageID = UInt32.random(in: 1...8, using: &random)
            let frame =
                Int.random(in: 0..<4, using: &random) == 0
                ? first(
                    bytes: Int.random(in: 0...100, using: &random),
                    frames: Int.random(in: 0...5, using: &random), session: session,
                    messageID: messageID)
                : next(
                    Int.random(in: 0...3, using: &random), "payload", session: session,
                    messageID: messageID,
                    isEncrypted: Int.random(in: 0..<50, using: &random) == 0)
            _ = assembler.receive(frame, at: Int64(step))
            #expect(assembler.unfinishedMessages <= 16)
        }
        _ = assembler.abandon()
        #expect(assembler.unfinishedMessages == 0)
    }
}
