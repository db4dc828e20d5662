import NIOCore
import SDLProtocol

/// StartServices of session 0 in order of arrival, at most one of them on the link.
///
/// An answer names nobody, so it belongs to the request sent longest ago. When one is given up, its
/// answer may still come, and must not be taken for the answer to another. But one grant is as good
/// as another for a request that asks for the same: who waits gets it, and the grant that comes too
/// many is ended. Apps whose requests for v5 differ lose up to `lateAnswerLimit` grants to requests
/// that were given up in the last `lateAnswerTimeout`: three with a `startServiceTimeout` of 20 s.
/// Where it is in doubt whether another answer is due, only a grant of v5 is taken for it, and only
/// when the one that waits has asked for v4: a head unit that always grants v5 loses it that one.
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
        /// An answer came while it was on the link, and was taken for that of another: one of the two
        /// is still due, or none if the other's was lost.
        var isDoubtful = false
    }

    /// How long an answer is expected after its request was given up. The latest that real head
    /// units gave came after 14 s; a head unit that was off never answers.
    static var lateAnswerTimeout: TimeAmount { .seconds(60) }
    /// Late answers expected at once; of more the oldest is not expected any more.
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
        // It may wait for long, and must not keep the read alive that it came with.
        waitingRequests.append(Request(app: app, frame: frame.keptCheaply, holdUntil: holdUntil))
    }

    /// What has not been sent by now has to wait.
    ///
    /// - Returns: Whether there is any.
    mutating func noteWaiting() -> Bool {
        // One that is repeated has been seen to be sent on a link before, or is marked already.
        for index in waitingRequests.indices where !waitingRequests[index].isRepeat {
            waitingRequests[index].hasWaited = true
        }
        return !waitingRequests.isEmpty
    }

    mutating func forget(_ app: App) {
        waitingRequests.removeAll { $0.app == app }
        if sent?.app == app { sent?.app = nil }
    }

    /// The request on the link is asked again when the next link comes, before those that waited for their turn.
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

    /// Whose answer has come: `app` is nil when nobody waits for it any more, `isDue` is false when
    /// none was expected at all.
    mutating func takeAnswer(
        _ answer: Frame, at now: NIODeadline
    ) -> (app: App?, isDue: Bool) {
        givenUp.removeAll { $0.expectedUntil <= now }
        if takeDoubtful(answer) { return (nil, false) }
        if let late = lateRequest(of: answer) {
            let request = givenUp.remove(at: late).frame
            // One that can only be the late request's is not taken from the one on the link.
            if let sent, answer.fits(request), !answer.fits(sent.frame) { return (nil, true) }
            hasTakenLateAnswer = true
            return (nil, true)
        }
        guard let answered = sent.take() else { return (nil, false) }
        return (answered.app, true)
    }

    /// The request given up that this is the answer to; nil when the one on the link gets it.
    private func lateRequest(of answer: Frame) -> Int? {
        // By default it is the oldest one's.
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

    /// Takes the answer if it is that to a request of which it was in doubt that one is due.
    private mutating func takeDoubtful(_ answer: Frame) -> Bool {
        guard answer.controlType == .startServiceACK, answer.version >= 5,
            let sent, !answer.fits(sent.frame),
            !givenUp.contains(where: { !$0.isDoubtful && answer.fits($0.frame) }),
            let late = givenUp.firstIndex(where: { $0.isDoubtful && answer.fits($0.frame) })
        else { return false }
        givenUp.remove(at: late)
        return true
    }

    /// The request whose answer did not come in time.
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

    /// The requests that no head unit came for.
    mutating func giveUpHeld(at now: NIODeadline) -> [Request] {
        let late = waitingRequests.filter { $0.holdUntil <= now }
        waitingRequests.removeAll { $0.holdUntil <= now }
        return late
    }
}

extension Frame {
    /// Of a StartService: the head unit is to speak v5 if it can (SDL protocol spec, "Version
    /// negotiation").
    fileprivate var asksForVersion5: Bool { version >= 5 || payloadBytes > 0 }

    /// Whether this can be the answer to a StartService, as far as its version tells: a grant of v5
    /// is for who asked for it, and who asked for it gets one of v5 unless the head unit is old.
    fileprivate func fits(_ request: Frame) -> Bool {
        controlType != .startServiceACK || request.asksForVersion5 == (version >= 5)
    }

    /// The version of the header alone makes no difference to the answer.
    fileprivate func asksForSame(as other: Frame) -> Bool {
        self == other || asksForVersion5 && other.asksForVersion5 && payload == other.payload
    }
}
