/// What a client and relayd still have to say to each other: counts requests and answers. Pure;
/// `LastAnswerHandler` asks it when a connection may end.
package struct Conversation: Sendable, Equatable {
    /// Requests that have begun to come and have not got all of their answer.
    private var unanswered = 0
    /// A request has begun to come and is not whole.
    private var isRequestComing = false
    /// What came is not HTTP, so that nobody knows for sure where it ends.
    private var isBroken = false
    /// It seems to be over.
    private var isAtEmptyLine = false
    /// The client has closed its sending half.
    private var isInputOver = false
    private var isStopping = false

    package init() {}

    /// Whether the client has sent all of what it began to send. When its connection is closed before
    /// that, its system may throw the answer away with it: that is how TCP takes a reset.
    package var isInputWhole: Bool {
        isInputOver || (isBroken ? isAtEmptyLine : !isRequestComing)
    }

    // MARK: What happens

    package mutating func requestBegins() {
        unanswered += 1
        isRequestComing = true
    }

    package mutating func requestEnds() { isRequestComing = false }

    /// This gets an answer too: the one of the request it is a part of, or one of its own.
    ///
    /// - Parameter isAtEmptyLine: What has come so far ends with an empty line.
    package mutating func inputBreaks(isAtEmptyLine: Bool) {
        if !isBroken, !isRequestComing { unanswered += 1 }
        isBroken = true
        self.isAtEmptyLine = isAtEmptyLine
    }

    package mutating func inputEnds() { isInputOver = true }

    /// - Returns: Whether this was the last one.
    package mutating func answerEnds() -> Bool {
        unanswered = max(0, unanswered - 1)
        return isStopping && unanswered == 0
    }

    /// relayd is going to stop: what was asked is answered, and nothing else.
    ///
    /// - Returns: Whether there is nothing to answer.
    package mutating func stop() -> Bool {
        isStopping = true
        return unanswered == 0
    }
}
