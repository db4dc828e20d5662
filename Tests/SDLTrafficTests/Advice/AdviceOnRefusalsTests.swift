import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic
import Testing

// Advice on what the hub did in an app's place: messages that it refused or ended.

@Suite("Advice on refused and ended messages")
struct AdviceOnRefusalsTests {
    private func advice(_ body: (inout Dialogue) -> Void) -> [Advice] {
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        body(&talk)
        let advisor = TrafficAdvisor(facts: SessionFacts(), sink: { _ in })
        advisor.consume(talk.entries)
        return advisor.recent()
    }

    @Test("each reason to refuse a message has its own words and its own remedy")
    func refusals() throws {
        let cases: [(Frame, DropReason, says: String, remedy: String)] = [
            (.announcing(bytes: 0), .emptyMessage, "a message of 0 bytes", "that has content"),
            (
                .announcing(bytes: 1 << 30), .messageTooLarge,
                "larger than apps.message_limit (1073741824 bytes)", "raise apps.message_limit"
            ),
            (
                .data(session: 1, bytes: 131_073), .frameTooLarge,
                "larger than the head unit's mtu (131073 bytes)", "frames of the mtu"
            ),
        ]
        for (frame, reason, says, remedy) in cases {
            let found = advice { $0.says(.fromApp, frame, fate: .dropped(reason)) }
            #expect(found.map(\.code) == [.messageRefused], "\(reason)")
            let only = try #require(found.first)
            #expect(only.text.contains(says), "\(only.text)")
            #expect(only.remedy.contains(remedy), "\(only.remedy)")
        }
    }

    @Test(
        "an mtu in which no frame fits is told of once, and no frame is judged by it",
        arguments: [-1, 0, 1, 12] as [Int64])
    func impossibleMTU(mtu: Int64) throws {
        let found = advice { talk in
            for turn in 1...3 as ClosedRange<Int32> {
                talk.grants(Dialogue.grant { $0["mtu"] = .int64(mtu) })
                talk.silence(1)
                talk.says(.fromApp, .rpc(session: 1, message: 1, correlation: turn))
            }
        }
        #expect(found.map(\.code) == [.ackWrongType])
        let only = try #require(found.first)
        #expect(only.text.contains("mtu (rpc) is \(mtu), which leaves no room"), "\(only.text)")
        #expect(only.remedy.contains("mtu in bytes"), "\(only.remedy)")
    }

    @Test("an app that goes on is told of the message relayd ended; one that left, at its next run")
    func endedMessages() {
        for (cause, code) in [
            (EndedMessage.Cause.restarted, AdviceCode?.some(.leftInMessage)),
            (.ended, .leftInMessage), (.dropped, .leftInMessage), (.left, nil), (.encrypted, nil),
            (.paused, .leftInMessage), (.expiring, .leftInMessage),
        ] {
            let message = EndedMessage(
                cause: cause, messageID: 9, functionID: FunctionID.putFile.rawValue,
                correlationID: 7, service: .bulk, frames: 36, announcedFrames: 62)
            let found = advice { $0.notices(.messageEnded(message)) }
            #expect(found.map(\.code) == (code.map { [$0] } ?? []), "\(cause)")
            if let only = found.first {
                #expect(only.text.contains("PutFile #7 (36 of 62 frames)"), "\(only.text)")
            }
        }
    }
}
