// Apps at the hub: they come, go, read too slowly, send too fast, send garbage.

import Logging
import NIOCore
import SDLProtocol

extension Switchboard {
    func accept(_ channel: any Channel) throws {
        guard apps.count < configuration.maximumApps, !isShuttingDown else {
            refusedConnections += 1
            limits[.maximumApps, default: LimitHits()].hit(at: .now())
            logger.warning(
                """
                connection refused: \(configuration.maximumApps) apps are connected already \
                (apps.maximum)
                """, metadata: ["peer": "\(Self.peerName(channel))"])
            channel.close(promise: nil)
            return
        }
        lastAppID += 1
        let app = AppHandler(
            id: AppID(rawValue: lastAppID), peer: Self.peerName(channel), connectedAt: .now(),
            switchboard: self)
        try channel.pipeline.syncOperations.addHandler(app)
    }

    private static func peerName(_ channel: any Channel) -> String {
        guard let address = channel.remoteAddress, let port = address.port else { return "local" }
        let host = address.ipAddress ?? "?"
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    func appConnected(_ app: AppHandler) {
        apps[app.id] = app
        router.connect(app)
        tap.record(.appConnected(app.id, peer: app.peer, time: .now()))
        logger.debug("app connected", metadata: ["app": "\(app.id)", "peer": "\(app.peer)"])
    }

    func appDisconnected(_ app: AppHandler, reason: CloseReason) {
        beginRead()
        guard apps.removeValue(forKey: app.id) != nil else { return }
        router.disconnect(app, at: now)
        flow.drained(app)
        performActions()
        endRead()
        tap.record(.appClosed(app.id, reason: "\(reason)", time: time))
        departures.append(
            Departure(id: app.id, peer: app.peer, closedAt: time, reason: reason))
        if departures.count > Self.departureCount { departures.removeFirst() }
        logger.log(
            level: reason.isToldElsewhere ? .debug : .warning,
            "app closed: \(reason)\(reason.excerpt)",
            metadata: ["app": "\(app.id)", "peer": "\(app.peer)"])
        if !flow.isLinkHeld { linkHandler?.resumeReading() }
        sessionsMayHaveChanged()
    }

    /// Bytes from an app that are no frame: that app alone is closed.
    func garbage(_ error: FrameError, at offset: UInt64, bytes: ByteBuffer, from app: AppHandler) {
        let length = min(bytes.readableBytes, 64)
        let excerpt = bytes.getSlice(at: bytes.readerIndex, length: length) ?? ByteBuffer()
        let garbage = CloseReason.GarbageFromApp(
            offset: offset, error: error, excerpt: excerpt,
            recognised: WrongProtocol(firstBytes: bytes))
        let notice = GarbageNotice(
            offset: offset, error: error, recognised: garbage.recognised,
            excerpt: excerpt.hexExcerpt())
        tap.record(.noticed(.garbage(notice), app.id, time: time))
        close(app, .garbage(garbage))
    }

    // MARK: - Slow apps

    var isLinkHeld: Bool { flow.isLinkHeld }

    func appBlocked(_ app: AppHandler) {
        let queued = app.queuedBytes
        guard queued <= configuration.appQueueBytes else {
            limits[.appQueue, default: LimitHits()].hit(at: time)
            let notice = RelayNotice.stoppedReading(queuedBytes: queued, seconds: nil)
            tap.record(.noticed(notice, app.id, time: time))
            return close(app, .tooSlow(queuedBytes: queued))
        }
        app.queuedBytesSeen = max(app.queuedBytesSeen, queued)
        flow.blocked(app, at: now)
    }

    func appDrained(_ app: AppHandler) {
        app.queuedBytesSeen = 0
        flow.drained(app)
        if !flow.isLinkHeld { linkHandler?.resumeReading() }
    }

    /// The app sends faster than a head unit stands; it goes on at `deadline`.
    func paced(_ app: AppHandler, until deadline: NIODeadline) {
        if limits[.framesPerSecond] == nil || app.lastProblem == nil {
            logger.warning(
                """
                app is paced to \(configuration.framesPerSecond) frames/s: head units end a \
                session at 1000 (apps.frames_per_second)
                """, metadata: ["app": "\(app.id)"])
        }
        app.lastProblem = "paced to \(configuration.framesPerSecond) frames/s"
        limits[.framesPerSecond, default: LimitHits()].hit(at: time)
        loop.assumeIsolated().scheduleTask(deadline: deadline) { app.resume(.rate) }
    }
}
