/// The state of the exchange between a client and relayd: counts requests and answers. Pure;
/// `LastAnswerHandler` asks it when a connection may end.
package struct Conversation: Sendable, Equatable {
    /// Requests that have begun to arrive and are not fully answered.
    private var unanswered = 0
    /// A request has begun to arrive and is incomplete.
    private var isRequestComing = false
    /// The input is not HTTP, so its end is not known for sure.
    private var isBroken = false
    /// The broken input seems to be complete.
    private var isAtEmptyLine = false
    /// The client has closed its sending half.
    private var isInputOver = false
    private var isStopping = false

    package init() {}

    /// Whether the client has sent all of what it began to send. If its connection is closed earlier,
    /// its system may discard the answer: that is what TCP does on a reset.
    package var isInputWhole: Bool {
        isInputOver || (isBroken ? isAtEmptyLine : !isRequestComing)
    }

    // MARK: Events

    package mutating func requestBegins() {
        unanswered += 1
        isRequestComing = true
    }

    package mutating func requestEnds() { isRequestComing = false }

    /// Broken input is answered too: as part of the current request, or on its own.
    ///
    /// - Parameter isAtEmptyLine: The input so far ends with an empty line.
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

    /// relayd is going to stop: requests that have begun are answered, and nothing else.
    ///
    /// - Returns: Whether there is nothing to answer.
    package mutating func stop() -> Bool {
        isStopping = true
        return unanswered == 0
    }
}
