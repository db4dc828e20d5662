// What the hub writes to the link: at once while it takes all, else in the scheduler's order and no
// more at a time than the pacer allows.

import Logging
import NIOCore
import SDLProtocol

extension Switchboard {
    /// Writes to the link, or queues while it is busy.
    func forward(_ frame: Frame, from origin: Origin<AppHandler>) {
        guard let linkHandler else { return }
        let bytes = frame.wire.readableBytes
        if !isLinkUnflushed {
            noteWhetherFull(linkHandler)
            if pacer.isLookWelcome, !isLinkFull { look() }
        }
        if !scheduler.hasReady, !isLinkFull, mayGo(frame, from: origin),
            bytes <= pacer.room || lookFindsRoom(for: bytes)
        {
            write(frame, from: origin, to: linkHandler)
            return
        }
        // Looking flushes, and flushing may show that the link is gone: what would be queued now
        // would go to the next one, which has never heard of its session.
        guard self.linkHandler === linkHandler else { return }
        scheduler.enqueue(frame.keptCheaply, from: origin, at: now)
        // Of what is held back for its session's rate the link is not the cause.
        if scheduler.hasReady {
            pacer.held(at: now)
            watchLink()
            scheduleLook()
            watchWhatLeaves()
        }
        guard let app = origin.app else { return }
        app.linkQueuedBytes += bytes
        if app.linkQueuedBytes >= configuration.linkQueueBytes {
            app.pause(.link)
            hit(.linkQueue)
        }
    }

    /// Every frame to the head unit passes here, in the order it gets them.
    @inline(__always)
    func write(_ frame: Frame, from origin: Origin<AppHandler>, to linkHandler: LinkHandler) {
        while let end = router.endOfExpiring(before: frame, at: now, arrivingIn: rates.epochs.delay)
        {
            writeBetween(end, to: linkHandler)
        }
        let last = link.counters.bytesOut &+ UInt64(frame.wire.readableBytes)
        if let end = router.willWrite(frame, from: origin, upTo: last, at: now) {
            writeBetween(end, to: linkHandler)
        }
        put(frame, to: linkHandler)
        if origin.isRelay || frame.type == .control { router.wrote(frame, at: now) }
        if !frame.service.isStream { count(frame.sessionID) }
    }

    @inline(__always)
    private func put(_ frame: Frame, to linkHandler: LinkHandler) {
        let bytes = frame.wire.readableBytes
        link.counters.sent(bytes)
        rates.epochs.wrote(upTo: link.counters.bytesOut, at: now)
        pacer.wrote(bytes)
        linkHandler.write(frame)
        isLinkUnflushed = true
    }

    /// The end of a half message goes right before the frame that would continue or expire it.
    @inline(never)
    private func writeBetween(_ end: Frame, to linkHandler: LinkHandler) {
        tap.record(end, .fromApp, app: nil, time: time, fate: .byRelay)
        put(end, to: linkHandler)
        count(end.sessionID)
    }

    func flushLink() {
        guard isLinkUnflushed, let linkHandler else { return }
        isLinkUnflushed = false
        linkHandler.flush()
        noteWhetherFull(linkHandler)
    }

    @inline(__always)
    private func noteWhetherFull(_ linkHandler: LinkHandler) {
        isLinkFull = !linkHandler.isWritable
        if isLinkFull {
            rates.epochs.linkIsFull()
        } else {
            rates.epochs.linkTookAll(at: loop.now)
        }
    }

    // MARK: - Looking

    /// More may have gone than is known.
    private func lookFindsRoom(for bytes: Int) -> Bool {
        flushLink()
        guard !isLinkFull else { return false }
        look()
        return bytes <= pacer.room
    }

    /// - Parameter wasFull: The kernel took no more until just now.
    private func look(wasFull: Bool = false) {
        guard let linkHandler else { return }
        pacer.looked(waiting: linkHandler.bytesInKernel, isFull: wasFull, at: loop.now)
    }

    /// A timer runs only while frames wait for bytes in the kernel.
    private func scheduleLook() {
        guard linkLook == nil, !isLinkFull else { return }
        linkLook = loop.assumeIsolated().scheduleTask(in: pacer.nextLook) {
            self.linkLook = nil
            guard !self.isLinkFull else { return }
            self.look()
            self.drainLink(mayLook: true)
        }
    }

    // MARK: - Draining

    /// The kernel has taken what was flushed.
    func linkDrained() {
        isLinkFull = false
        rates.epochs.linkTookAll(at: loop.now)
        guard !isDraining, scheduler.hasReady else { return }
        look(wasFull: true)
        drainLink(mayLook: true)
    }

    /// Writes what waits, the scheduler's choice first, as far as there is room.
    ///
    /// - Parameter mayLook: Ask the kernel when there is no room as far as is known. Else it is asked
    ///   only when so much has been written that it is time to.
    func drainLink(mayLook: Bool) {
        guard !isDraining, let linkHandler, scheduler.hasReady else { return }
        isDraining = true
        now = loop.now
        var resumable: [AppHandler] = []
        var hasLooked = !mayLook
        while !isLinkFull, scheduler.hasReady {
            let bytes = writeBatch(to: linkHandler, &resumable)
            if bytes > 0 {
                hasLooked = !mayLook
                flushLink()
            } else {
                guard !hasLooked || pacer.isLookDue else { break }
                hasLooked = true
                look()
            }
        }
        isDraining = false
        if scheduler.hasReady {
            scheduleLook()
        } else {
            pacer.released()
            linkLook?.cancel()
            linkLook = nil
        }
        for app in resumable { app.resume(.link) }
        settle()
    }

    /// What the router wants because of what was written. Only goodbyes make it want anything.
    private func settle() {
        guard !router.actions.isEmpty else { return scheduleIfEnding() }
        performActions()
        flushAll()
        tap.endRead()
        scheduleWakeUp()
        goodbyesMayBeSaid()
    }

    /// What was written may have started the time the head unit has to answer it, or was the last word.
    private func scheduleIfEnding() {
        if router.isEndingSessions { scheduleWakeUp() }
        goodbyesMayBeSaid()
    }

    /// - Returns: Bytes written.
    private func writeBatch(
        to linkHandler: LinkHandler, _ resumable: inout [AppHandler]
    ) -> Int {
        var bytes = 0
        while bytes < pacer.batchBytes, let entry = scheduler.next(at: now, upTo: pacer.room) {
            write(entry.frame, from: entry.origin, to: linkHandler)
            let size = entry.frame.wire.readableBytes
            bytes += size
            if !draining.isEmpty { tellIfDrained(entry.frame.sessionID) }
            guard let app = entry.app else { continue }
            app.linkQueuedBytes -= size
            if app.isPaused, app.linkQueuedBytes <= configuration.linkQueueBytes / 2 {
                resumable.append(app)
            }
        }
        return bytes
    }

    // MARK: - Ends of sessions

    /// Tells the router when what waits of the session has gone.
    func drain(_ session: UInt8) {
        draining.insert(session)
        tellIfDrained(session)
    }

    private func tellIfDrained(_ session: UInt8) {
        guard draining.contains(session), !scheduler.isWaiting(session) else { return }
        draining.remove(session)
        router.drained(session, at: now)
    }

    /// The session is over: its frames that wait are dropped, counted and shown. The next app with
    /// its number must not be taken for their sender.
    func purge(_ session: UInt8) {
        let removed = scheduler.remove(session)
        for entry in removed {
            tap.record(
                entry.frame, .fromApp, app: entry.app?.id, time: time,
                fate: .dropped(.sessionOver(session)))
            guard let app = entry.app else { continue }
            app.linkQueuedBytes -= entry.frame.wire.readableBytes
            app.refusedFrames += 1
        }
        if !scheduler.hasReady { pacer.released() }
        // Whoever waited for them knows; the next one with the number has not asked yet.
        draining.remove(session)
        guard let app = removed.lazy.compactMap(\.app).first else { return }
        app.lastProblem =
            "\(removed.count) frames dropped: session \(session) ended while they waited for the link"
        logger.info(
            "frames dropped: their session ended while they waited for the link",
            metadata: [
                "app": "\(app.id)", "session": "\(session)", "frames": "\(removed.count)",
            ])
        app.resume(.link)
    }

    // MARK: -

    /// The link is gone; the next one is to be learnt anew.
    func forgetLinkOutput() {
        linkLook?.cancel()
        linkLook = nil
        heldSessions = SessionSet()
        rates.epochs.linkClosed(at: now)
        isLinkFull = false
        isLinkUnflushed = false
        pacer = LinkPacer()
    }

    /// For status.
    var linkBytesInFlight: Int {
        linkHandler.map { $0.bytesInChannel + $0.bytesInKernel } ?? 0
    }
}
