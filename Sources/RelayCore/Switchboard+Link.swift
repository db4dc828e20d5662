// The link at the hub: it comes, goes, brings garbage, stalls; and the hub stops.

import Logging
import NIOCore
import SDLProtocol

extension Switchboard {
    func linkOpened(_ handler: LinkHandler) {
        guard linkHandler !== handler else { return }
        beginRead()
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
        for entry in scheduler.removeAll() {
            entry.app?.linkQueuedBytes = 0
        }
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

    func garbage(_ report: GarbageReport) {
        if let recognised = WrongProtocol(firstBytes: report.excerpt) {
            link.recognised = recognised
        }
        logger.warning(
            """
            \(report.bytes) bytes from the head unit were no SDL frames\
            \(report.isOver ? "" : " so far") (from byte \(report.offset) on: \(report.error))\
            \(link.recognised.map { "; " + $0.adviceOnLink } ?? ""); bytes \(report.excerpt.hexExcerpt())
            """)
    }

    /// A peer stopped in the middle of a frame; `app` is nil for the head unit.
    func stalled(_ position: StallWatch.Position, app: AppHandler?) {
        let problem =
            "stopped in the middle of a frame \(configuration.stallTimeout.seconds) s ago: "
            + "\(position.bytes) bytes since byte \(position.offset)"
        app?.lastProblem = problem
        if let app {
            logger.warning("the app \(problem)", metadata: ["app": "\(app.id)"])
        } else {
            logger.warning("the head unit \(problem)")
        }
    }

    // MARK: - Stopping

    /// Ends all sessions and closes the apps; `done` is called when the head unit has confirmed.
    func shutDown(done: @escaping () -> Void) {
        isShuttingDown = true
        beginRead()
        router.endAllSessions()
        performActions()
        endRead()
        for app in apps.values { close(app, .shutdown) }
        guard linkHandler != nil, !router.hasSaidAllGoodbyes else { return done() }
        whenGoodbyesAreSaid.append(done)
    }

    /// Shows the observers what they have not seen yet.
    func emptyTap() {
        tap.emit()
    }
}
