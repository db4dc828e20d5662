// The link at the hub: it comes, goes, brings garbage, stalls; and the hub stops.

import Logging
import NIOCore
import SDLProtocol

extension Switchboard {
    func linkOpened(_ handler: LinkHandler) {
        guard linkHandler !== handler else { return }
        beginRead()
        forgetLinkOutput()
        linkHandler = handler
        link.openedCount += 1
        link.recognised = nil
        tap.record(.linkOpened(address: accessoryAddress, time: time))
        router.linkOpened(at: now)
        performActions()
        endRead()
    }

    func linkClosed(_ handler: LinkHandler, reason: String) {
        guard linkHandler === handler else { return }
        beginRead()
        linkHandler = nil
        link.garbageBytes += handler.garbageBytes
        linkWatch?.cancel()
        linkWatch = nil
        forgetLinkOutput()
        for entry in scheduler.removeAll() {
            entry.app?.linkQueuedBytes = 0
        }
        draining = SessionSet()
        router.linkClosed(reason: reason, at: now)
        performActions()
        for app in apps.values { app.resume(.link) }
        endRead()
        tap.record(.linkClosed(reason: reason, time: time))
        sessionsMayHaveChanged()
    }

    func reopenLink(reason: String) {
        linkHandler?.close(reason)
    }

    func linkWillClose(because reason: String) {
        linkHandler?.willClose(because: reason)
    }

    func garbage(_ report: GarbageReport) {
        if let recognised = WrongProtocol(firstBytes: report.excerpt) {
            link.recognised = recognised
        }
        let notice = GarbageNotice(
            offset: report.offset, error: report.error,
            recognised: WrongProtocol(firstBytes: report.excerpt),
            excerpt: report.excerpt.hexExcerpt())
        tap.record(.noticed(.garbage(notice), nil, time: time))
        // Of what is recognised the advice warns.
        logger.log(
            level: notice.recognised == nil ? .warning : .debug,
            """
            \(report.bytes) bytes from the head unit were no SDL frames\
            \(report.isOver ? "" : " so far") (from byte \(report.offset) on: \(report.error))\
            \(link.recognised.map { "; " + $0.adviceOnLink } ?? ""); bytes \(report.excerpt.hexExcerpt())
            """)
    }

    /// A peer stopped in the middle of a frame; `app` is nil for the head unit.
    func stalled(_ position: StreamPosition, app: AppHandler?) {
        let problem =
            "stopped in the middle of a frame \(configuration.stallTimeout.seconds) s ago: "
            + "\(position.bytes) bytes since byte \(position.offset)"
        app?.lastProblem = problem
        let notice = RelayNotice.stoppedSending(
            bytes: position.bytes, seconds: configuration.stallTimeout.secondsAsNumber)
        tap.record(.noticed(notice, app?.id, time: .now()))
        // The advice warns.
        if let app {
            logger.debug("the app \(problem)", metadata: ["app": "\(app.id)"])
        } else {
            logger.debug("the head unit \(problem)")
        }
    }

    /// Notices a head unit that takes nothing while frames wait for it, once until it takes some.
    /// To be called when a frame has to wait.
    func watchLink() {
        let written = link.counters.framesOut
        guard linkWatch == nil, writtenWhenStalled != written else { return }
        linkWatch = loop.assumeIsolated().scheduleTask(in: configuration.stallTimeout) {
            self.linkWatch = nil
            guard !self.scheduler.isEmpty, self.linkHandler != nil else { return }
            guard self.link.counters.framesOut == written else { return self.watchLink() }
            self.linkStalled()
        }
    }

    private func linkStalled() {
        writtenWhenStalled = link.counters.framesOut
        let notice = RelayNotice.stoppedReading(
            queuedBytes: scheduler.waitingBytes,
            seconds: configuration.stallTimeout.secondsAsNumber)
        tap.record(.noticed(notice, nil, time: .now()))
        logger.debug("the head unit \(notice.description)")
    }

    // MARK: - Stopping

    /// Ends all sessions and closes the apps; `done` is called when the head unit has confirmed and
    /// the apps have hung up.
    func shutDown(done: @escaping () -> Void) {
        isShuttingDown = true
        beginRead()
        router.endAllSessions(at: now)
        performActions()
        endRead()
        for app in apps.values { close(app, .shutdown) }
        guard !hasSaidAllGoodbyes else { return done() }
        whenGoodbyesAreSaid.append(done)
    }

    /// Shows the observers what they have not seen yet.
    func emptyTap() {
        tap.emit()
    }
}
