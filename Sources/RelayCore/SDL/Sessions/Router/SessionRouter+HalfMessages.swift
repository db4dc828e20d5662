// How the router ends half messages, and keeps waiting frames of a session out of the next one.

package import NIOCore
package import SDLProtocol

extension SessionRouter {
    /// Ends the session's messages that the head unit holds in part.
    mutating func endHalfMessages(of session: UInt8) {
        let cause = causeOfEnds(in: session)
        let app = farewells[session]?.app
        for said in halves.takeSaid(of: session) {
            expectAnswer(to: said)
            farewells[session]?.answersDue += 1
        }
        for half in halves.unfinished(of: session) {
            guard !half.isEncrypted else {
                // A plain last frame is not part of a message of TLS records; nobody has shown what
                // ends such a message. The head unit forgets it by itself.
                farewells[session]?.mustHold = true
                farewells[session]?.unregisters = true
                tell(half, of: app, cause: .encrypted)
                continue
            }
            say(endOf: half, of: app, cause: cause)
            if half.isAwaited { farewells[session]?.answersDue += 1 }
        }
        halves.removeEncrypted(of: session)
    }

    private func causeOfEnds(in session: UInt8) -> EndedMessage.Cause {
        if farewells[session]?.isUnclaimed == true { return .dropped }
        return routes[session].phase == .ending ? .ended : .left
    }

    /// Ends one half message; its answer is swallowed.
    mutating func say(
        endOf half: HalfMessages.Half, of app: App?, cause: EndedMessage.Cause
    ) {
        halves.noteEnding(half)
        routes[half.session].isWatched = true
        let end = half.ending(correlationID: Self.messageEndCorrelationID)
        actions.append(.toLink(end, from: .relay))
        tell(half, of: app, cause: cause)
    }

    /// The end of a message, to be written at once.
    private mutating func endFrame(of half: HalfMessages.Half) -> Frame {
        if half.isAnswered { expectAnswer(to: half) }
        return half.ending(correlationID: Self.messageEndCorrelationID)
    }

    /// Expects the head unit's answer to the message, which reaches nobody.
    private mutating func expectAnswer(to half: HalfMessages.Half) {
        ownRequests.add(answer(to: half))
        routes[half.session].isWatched = true
    }

    func answer(to half: HalfMessages.Half) -> OwnRequests.Request {
        .init(
            session: half.session,
            kind: .messageEnd(functionID: half.functionID, maySucceed: half.pause == .said),
            correlationID: half.correlationID ?? Self.messageEndCorrelationID,
            expectedUntil: now + OwnRequests.patience)
    }

    /// Tells why the head unit has refused a message that it has given up, as its app does not know.
    mutating func tellPaused(_ refused: HalfMessages.Half) {
        guard refused.pause == .none, let owner = routes[refused.session].owner else { return }
        tell(refused, of: owner, cause: .paused)
    }

    mutating func tell(_ half: HalfMessages.Half, of app: App?, cause: EndedMessage.Cause) {
        actions.append(.event(.messageEnded(app, EndedMessage(half, cause: cause))))
    }

    /// Takes over a number that the head unit grants, whose former session may not have been ended.
    ///
    /// No frame of the former session may be written any more. Its half messages are ended in the new
    /// session; the answers are swallowed.
    ///
    /// - Parameter isClaimed: Whether an app gets the new session. Otherwise the session's goodbye
    ///   follows, which ends half messages itself.
    /// - Returns: The app that had the number.
    mutating func takeOver(_ session: UInt8, grant: SessionGrant, isClaimed: Bool) -> App? {
        let former = routes[session].owner ?? farewells[session]?.app
        if let owner = routes[session].owner, routes[session].phase == .open {
            actions.append(.event(.sessionReassigned(from: owner, session: session)))
        }
        if routes[session].phase != .free { actions.append(.purge(session)) }
        noteStrayEnd(of: session)
        release(session)
        grants[session] = grant
        guard isClaimed else { return former }
        halves.removeEncrypted(of: session)
        for said in halves.takeSaid(of: session) { expectAnswer(to: said) }
        for half in halves.unfinished(of: session) {
            say(endOf: half, of: former, cause: .dropped)
        }
        return former
    }

    /// Notes that a frame is about to be written to the link.
    ///
    /// - Parameter end: Bytes written to the link, including this frame.
    /// - Returns: What has to be written first: the end of a half message that this frame would
    ///   otherwise continue.
    @inline(__always)
    package mutating func willWrite(
        _ frame: Frame, from origin: Origin<App>, upTo end: UInt64 = 0, at now: NIODeadline
    ) -> Frame? {
        guard frame.type == .first || frame.type == .consecutive else { return nil }
        guard !origin.isRelay else {
            noteEnd(frame, at: now)
            return nil
        }
        return noteHalf(frame, upTo: end, at: now)
    }

    /// Notes that the end of a half message is about to be written. Its answer is expected only now: an
    /// end that waits may be dropped with everything else of its session, and be sent again.
    @inline(never)
    private mutating func noteEnd(_ frame: Frame, at now: NIODeadline) {
        self.now = now
        guard let half = halves.takeEnded(by: frame), half.isAnswered else { return }
        expectAnswer(to: half)
    }

    /// Returns what is to be written before a frame: the end of a message that the head unit would give
    /// up because of the frame, or for which it would have to keep too much room beside it. To be
    /// called until it returns nil.
    ///
    /// - Parameter delay: How long the frame will be on its way.
    @inline(__always)
    package mutating func endOfExpiring(
        before frame: Frame, at now: NIODeadline,
        arrivingIn delay: @autoclosure () -> TimeAmount = .zero
    ) -> Frame? {
        guard !halves.isEmpty else { return nil }
        if frame.type == .first, let end = endOfExceeding(before: frame, at: now) { return end }
        let arrival = now + delay()
        return halves.expiry <= arrival ? takeExpiring(before: frame, at: now, arrival) : nil
    }

    /// A head unit reserves room for announced messages at once, so `apps.message_limit` applies to all
    /// unfinished messages of an app together.
    @inline(never)
    private mutating func endOfExceeding(before frame: Frame, at now: NIODeadline) -> Frame? {
        let owner = routes[frame.sessionID].owner
        let sessions = owner.flatMap { apps[$0]?.sessions } ?? [frame.sessionID]
        guard
            let half = halves.takeExceeding(
                before: frame, in: sessions, limit: configuration.messageBytes)
        else { return nil }
        self.now = now
        tell(half, of: owner, cause: .exceeding)
        return endFrame(of: half)
    }

    @inline(never)
    private mutating func takeExpiring(
        before frame: Frame, at now: NIODeadline, _ arrival: NIODeadline
    ) -> Frame? {
        guard let half = halves.takeExpiring(before: frame, at: arrival) else { return nil }
        self.now = now
        tell(half, of: routes[half.session].owner, cause: .expiring)
        return endFrame(of: half)
    }

    @inline(never)
    private mutating func noteHalf(
        _ frame: Frame, upTo end: UInt64, at now: NIODeadline
    ) -> Frame? {
        // The head unit may give the message up and say so while the app is silent.
        if frame.type == .first { routes[frame.sessionID].isWatched = true }
        guard let remark = halves.willWrite(frame, upTo: end, at: now) else { return nil }
        self.now = now
        switch remark {
        case .endBefore(let half):
            tell(half, of: routes[half.session].owner, cause: .restarted)
            return endFrame(of: half)
        case .late(let half):
            tell(half, of: routes[half.session].owner, cause: .paused)
            return nil
        }
    }

    /// Called when the kernel has been asked how much has left.
    ///
    /// - Parameter bytes: Bytes that have left for the head unit, of all that were ever written.
    package mutating func linkPolled(left bytes: UInt64, at now: NIODeadline) {
        if !halves.isEmpty { halves.polled(left: bytes, at: now) }
    }

    /// Called when nothing waits for the link any more.
    package mutating func linkUnwatched() {
        if !halves.isEmpty { halves.allLeft() }
    }
}
