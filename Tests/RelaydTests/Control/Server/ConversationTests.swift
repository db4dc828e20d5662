import Testing

@testable import relayd

// When a connection to the control API may end: the decisions, without sockets.

@Suite("When a conversation with the control API is over")
struct ConversationTests {
    @Test("a client is heard out when its request is whole, and when it sends no more")
    func wholeInput() {
        var conversation = Conversation()
        #expect(conversation.isInputWhole)
        conversation.requestBegins()
        #expect(!conversation.isInputWhole)
        conversation.requestEnds()
        #expect(conversation.isInputWhole)
        conversation.requestBegins()
        conversation.inputEnds()
        #expect(conversation.isInputWhole)
    }

    @Test("what is no HTTP is over with an empty line, as far as anybody can tell") func broken() {
        var conversation = Conversation()
        conversation.inputBreaks(isAtEmptyLine: false)
        #expect(!conversation.isInputWhole)
        conversation.inputBreaks(isAtEmptyLine: true)
        #expect(conversation.isInputWhole)
        conversation.inputBreaks(isAtEmptyLine: false)
        #expect(!conversation.isInputWhole)
        conversation.inputEnds()
        #expect(conversation.isInputWhole)
    }

    @Test("at a stop everything that was asked is answered, and then it is over") func stop() {
        var conversation = Conversation()
        conversation.requestBegins()
        conversation.requestEnds()
        let isOverBefore = conversation.answerEnds()
        conversation.requestBegins()
        conversation.requestEnds()
        conversation.requestBegins()
        let isOverAtStop = conversation.stop()
        let isOver = (conversation.answerEnds(), conversation.answerEnds())
        #expect(!isOverBefore && !isOverAtStop)
        #expect(isOver == (false, true))
    }

    @Test("at a stop there is nothing to answer to somebody who has asked nothing") func idle() {
        var new = Conversation()
        var used = Conversation()
        used.requestBegins()
        used.requestEnds()
        _ = used.answerEnds()
        let isOver = (new.stop(), used.stop())
        #expect(isOver == (true, true))
    }

    @Test("at a stop what is no HTTP gets its answer, one for all of it") func stopBroken() {
        var alone = Conversation()
        alone.inputBreaks(isAtEmptyLine: false)
        alone.inputBreaks(isAtEmptyLine: false)
        let aloneIsOver = (alone.stop(), alone.answerEnds())
        #expect(aloneIsOver == (false, true))
        // The answer belongs to the request whose body is invalid.
        var inBody = Conversation()
        inBody.requestBegins()
        inBody.inputBreaks(isAtEmptyLine: false)
        let inBodyIsOver = (inBody.stop(), inBody.answerEnds())
        #expect(inBodyIsOver == (false, true))
    }
}

@Suite("Which clients a stop waits for")
struct ClientProgressTests {
    private let reading = ClientProgress(
        received: 100, taken: 5000, unsent: 300, isRequestWhole: true)

    @Test("one that takes its answer is waited for, also while the answer grows") func taking() {
        var later = reading
        later.taken += 1
        #expect(later.goesOn(since: reading))
        later.unsent = 100_000
        #expect(later.goesOn(since: reading))
    }

    @Test("one that takes nothing is not, however much is added to its answer") func stuck() {
        var later = reading
        #expect(!later.goesOn(since: reading))
        later.unsent += 70_000
        #expect(!later.goesOn(since: reading))
    }

    @Test("a request that does not come whole is waited for as long as it comes") func trickle() {
        let asking = ClientProgress(received: 80, taken: 0, unsent: 0, isRequestWhole: false)
        var later = asking
        #expect(!later.goesOn(since: asking))
        later.received += 1
        #expect(later.goesOn(since: asking))
    }

    @Test("when relayd's answer is late, that is not held against the client") func late() {
        let waiting = ClientProgress(received: 80, taken: 0, unsent: 0, isRequestWhole: true)
        #expect(waiting.goesOn(since: waiting))
    }
}
