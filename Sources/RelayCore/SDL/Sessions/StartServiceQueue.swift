import NIOCore
import SDLProtocol

/// StartServices of session 0 in order of arrival, at most one of them on the link.
///
/// An answer does not name its request, so it belongs to the request sent longest ago. The answer to a request that
/// was given up may still come, and must not be taken for the answer to another. But one grant is as good as
/// another for a request that asks for the same: the waiting request gets it, and the surplus grant is ended. Apps
/// whose requests for v5 differ lose up to `lateAnswerLimit` grants to requests that were given up in the last
/// `lateAnswerTimeout`: three with a `startServiceTimeout` of 20 s. Where it is in doubt whether another answer is
/// due, only a grant of v5 is taken for it, and only when the waiting request has asked for v4: with a head unit
/// that always grants v5, that request loses its grant.
struct StartServiceQueue<App: Hashable> {
    struct Request {
        var app: App
        var frame: Frame
        /// When it is given up if no head unit comes.
        var holdUntil: NIODeadline
        /// It was unanswered, or waited for its turn, when a link closed, and is recorded for the next one as well.
        var isRepeat = false
        /// It could not be sent when it came, and has not been since.
        var hasWaited = false
    }

    /// The request on the link. Its app may have left; the answer is due all the same.
    private struct Sent {
        var app: App?
        var frame: Frame
        var answerUntil: NIODeadline
    }

    /// A request given up whose answer may still come, before any other.
    private struct GivenUp {
        var frame: Frame
        var expectedUntil: NIODeadline
        /// An answer came while it was on the link, and was taken for that to another request: one of the two
        /// answers is still due, or none if the other's was lost.
        var isDoubtful = false
    }

    /// How long an answer is expected after its request was given up. The latest that real head
    /// units gave came after 14 s; a head unit that was off never answers.
    static var lateAnswerTimeout: TimeAmount { .seconds(60) }
    /// Late answers expected at once; beyond that, the oldest is no longer expected.
    static var lateAnswerLimit: Int { 8 }

    private var waitingRequests: [Request] = []
    private var sent: Sent?
    private var givenUp: [GivenUp] = []
    /// An answer came while `sent` waited and was taken for a late one.
    private var hasTakenLateAnswer = false

    var waiting: Int { waitingRequests.count }
    var waitingFrames: [Frame] { waitingRequests.map(\.frame) }
    var isAwaitingAnswer: Bool { sent != nil }
    var answerDeadline: NIODeadline? { sent?.answerUntil }
    var holdDeadline: NIODeadline? { waitingRequests.map(\.holdUntil).min() }

    func pending(of app: App) -> Int {
        waitingRequests.count { $0.app == app } + (sent?.app == app ? 1 : 0)
    }

    mutating func append(_ frame: Frame, of app: App, holdUntil: NIODeadline) {
        // The frame may wait for long, and must not keep alive the read that it came with.
        waitingRequests.append(Request(app: app, frame: frame.keptCheaply, holdUntil: holdUntil))
    }

    /// Marks the requests that have not been sent by now, and so have to wait.
    ///
    /// - Returns: Whether there are any.
    mutating func noteWaiting() -> Bool {
        // A repeated request has been seen to be sent on an earlier link, or is marked already.
        for index in waitingRequests.indices where !waitingRequests[index].isRepeat {
            waitingRequests[index].hasWaited = true
        }
        return !waitingRequests.isEmpty
    }

    mutating func forget(_ app: App) {
        waitingRequests.removeAll { $0.app == app }
        if sent?.app == app { sent?.app = nil }
    }

    /// Queues the request on the link again for the next link, before those that waited for their turn.
    mutating func linkClosed(holdUntil: NIODeadline) {
        if let unanswered = sent.take(), let app = unanswered.app {
            waitingRequests.insert(
                Request(app: app, frame: unanswered.frame, holdUntil: holdUntil), at: 0)
        }
        for index in waitingRequests.indices {
            // Until now there was a head unit.
            waitingRequests[index].holdUntil = holdUntil
            waitingRequests[index].isRepeat = true
        }
        givenUp = []
        hasTakenLateAnswer = false
    }

    mutating func sendNext(answerUntil: NIODeadline) -> Request? {
        guard sent == nil, !waitingRequests.isEmpty else { return nil }
        let next = waitingRequests.removeFirst()
        sent = Sent(app: next.app, frame: next.frame, answerUntil: answerUntil)
        hasTakenLateAnswer = false
        return next
    }

    /// Tells whose answer has come: `app` is nil when nobody waits for the answer any more, `isDue` is false when
    /// none was expected at all.
    mutating func takeAnswer(
        _ answer: Frame, at now: NIODeadline
    ) -> (app: App?, isDue: Bool) {
        givenUp.removeAll { $0.expectedUntil <= now }
        if takeDoubtful(answer) { return (nil, false) }
        if let late = lateRequest(of: answer) {
            let request = givenUp.remove(at: late).frame
            // An answer that can only be the late request's is not taken from the request on the link.
            if let sent, answer.fits(request), !answer.fits(sent.frame) { return (nil, true) }
            hasTakenLateAnswer = true
            return (nil, true)
        }
        guard let answered = sent.take() else { return (nil, false) }
        return (answered.app, true)
    }

    /// The index of the given-up request that this answers; nil when the request on the link gets the answer.
    private func lateRequest(of answer: Frame) -> Int? {
        // By default the answer is the oldest request's.
        let fitting = givenUp.firstIndex { !$0.isDoubtful && answer.fits($0.frame) }
        guard let late = fitting ?? givenUp.firstIndex(where: { !$0.isDoubtful }) else {
            return nil
        }
        guard let sent, sent.app != nil else { return late }
        if answer.fits(sent.frame) {
            // A grant of v4 or less has no parameters: it is as good as any other.
            let isPlain = answer.controlType == .startServiceACK && answer.version < 5
            if fitting == nil || isPlain { return nil }
        } else if fitting != nil {
            return late
        }
        return sent.frame.asksForSame(as: givenUp[late].frame) ? nil : late
    }

    /// Takes the answer if it belongs to a request for which it was in doubt whether one is due.
    private mutating func takeDoubtful(_ answer: Frame) -> Bool {
        guard answer.controlType == .startServiceACK, answer.version >= 5,
            let sent, !answer.fits(sent.frame),
            !givenUp.contains(where: { !$0.isDoubtful && answer.fits($0.frame) }),
            let late = givenUp.firstIndex(where: { $0.isDoubtful && answer.fits($0.frame) })
        else { return false }
        givenUp.remove(at: late)
        return true
    }

    /// Gives up the request whose answer did not come in time.
    mutating func giveUpAnswer(at now: NIODeadline) -> (app: App?, frame: Frame)? {
        guard let late = sent, late.answerUntil <= now else { return nil }
        sent = nil
        // If an answer came meanwhile and was taken for a late one, it may have been this request's,
        // and the late one lost: expecting another for certain would shift all pairs from now on.
        if givenUp.count >= Self.lateAnswerLimit { givenUp.removeFirst() }
        givenUp.append(
            GivenUp(
                frame: late.frame, expectedUntil: now + Self.lateAnswerTimeout,
                isDoubtful: hasTakenLateAnswer))
        return (late.app, late.frame)
    }

    /// Gives up the requests that no head unit came for.
    mutating func giveUpHeld(at now: NIODeadline) -> [Request] {
        let late = waitingRequests.filter { $0.holdUntil <= now }
        waitingRequests.removeAll { $0.holdUntil <= now }
        return late
    }
}

extension Frame {
    /// Whether a StartService asks the head unit to speak v5 if it can (SDL protocol spec, "Version negotiation").
    fileprivate var asksForVersion5: Bool { version >= 5 || payloadBytes > 0 }

    /// Whether this can be the answer to a StartService, as far as its version tells: a grant of v5 is for a
    /// request that asked for v5, and such a request gets one of v5 unless the head unit is old.
    fileprivate func fits(_ request: Frame) -> Bool {
        controlType != .startServiceACK || request.asksForVersion5 == (version >= 5)
    }

    /// The version of the header alone makes no difference to the answer.
    fileprivate func asksForSame(as other: Frame) -> Bool {
        self == other || asksForVersion5 && other.asksForVersion5 && payload == other.payload
    }
}
