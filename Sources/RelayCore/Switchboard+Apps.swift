// Apps at the hub: they come, go, read too slowly, send too fast, send garbage.

import Glibc
import Logging
import NIOCore
import SDLProtocol

extension Switchboard {
    func accept(_ channel: any Channel) throws {
        let now = loop.now
        let peer = channel.remoteAddress.flatMap(PeerAddress.init)
        switch admission.decide(
            about: peer, apps: admittedConnections, surplus: surplusConnections, at: now)
        {
        case _ where isShuttingDown:
            channel.close(promise: nil)
        case .admit:
            lastAppID += 1
            let app = AppHandler(
                id: AppID(rawValue: lastAppID), peer: Self.peerName(channel),
                connectedAt: .now(), switchboard: self)
            try channel.pipeline.syncOperations.addHandler(app)
            admittedConnections += 1
            channel.closeFuture.assumeIsolated().whenComplete { _ in
                self.admittedConnections -= 1
                self.sessionsMayHaveChanged()
            }
        case .surplus:
            tell(refused: channel, at: now, .maximumApps, tooManyApps)
            let handler = SurplusHandler(reason: "relayd: \(tooManyApps)")
            try channel.pipeline.syncOperations.addHandler(handler)
            surplusConnections += 1
            channel.closeFuture.assumeIsolated().whenComplete { _ in
                self.surplusConnections -= 1
            }
        case .refuse(let refusal):
            let (limit, reason) = describe(refusal)
            tell(refused: channel, at: now, limit, reason)
            channel.close(promise: nil)
        }
    }

    private var tooManyApps: String {
        "\(configuration.maximumApps) apps are connected already (apps.maximum)"
    }

    private func describe(_ refusal: AppAdmission.Refusal) -> (RelayLimit, String) {
        switch refusal {
        case .notAllowed:
            let networks = configuration.allowedNetworks.map(\.description)
            return (
                .allow,
                "its address is in none of the networks that may connect (apps.allow: "
                    + "\(networks.joined(separator: ", "))); add its network there to let it in"
            )
        case .tooFast:
            return (
                .connectionsPerSecond,
                "its address makes more than \(configuration.connectionsPerSecond) connections "
                    + "a second (apps.connections_per_second); see what keeps reconnecting there"
            )
        case .tooMany:
            return (
                .maximumApps,
                tooManyApps + ", and \(surplusConnections) more are being refused"
            )
        }
    }

    private func tell(
        refused channel: any Channel, at now: NIODeadline, _ limit: RelayLimit, _ reason: String
    ) {
        refusedConnections += 1
        hit(limit, at: .now())
        guard let withheld = lines[limit, default: LineLimiter()].allow(at: now) else { return }
        logger.warning(
            "connection refused: \(reason)\(Self.more(withheld))",
            metadata: ["peer": "\(Self.peerName(channel))"])
    }

    /// The end of a line that stands for others too.
    static func more(_ withheld: Int) -> String {
        withheld == 0 ? "" : " (and \(withheld) more like this)"
    }

    /// accept(2) fails for want of descriptors or memory; the guard of the listening socket tries
    /// again by itself.
    func exhausted(_ error: IOError) {
        hit(.descriptors, at: .now())
        guard lines[.descriptors, default: LineLimiter()].allow(at: loop.now) != nil else { return }
        let remedy =
            error.errnoCode == EMFILE
            ? "raise LimitNOFILE= in the systemd unit, or ulimit -n"
            : "the machine itself is short of them; see what else runs on it"
        logger.warning(
            """
            no app can connect at the moment: \(String(cString: strerror(error.errnoCode))). \
            Apps that are connected stay, others wait; \(remedy)
            """)
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
        changeFlow { $0.drained(app, isAlone: isOneApp, at: now) }
        performActions()
        endRead()
        tap.record(.appClosed(app.id, reason: "\(reason)", time: time))
        departures.append(
            Departure(id: app.id, peer: app.peer, closedAt: time, reason: reason))
        if departures.count > Self.departureCount { departures.removeFirst() }
        if app.unsaid.frames > 0 {
            logger.warning(
                "frames dropped: \(DropReason.leftTooFast)",
                metadata: [
                    "app": "\(app.id)", "frames": "\(app.unsaid.frames)",
                    "bytes": "\(app.unsaid.bytes)",
                ])
        }
        logger.log(
            level: reason.isToldElsewhere ? .debug : .warning,
            "app closed: \(reason)\(reason.excerpt)",
            metadata: ["app": "\(app.id)", "peer": "\(app.peer)"])
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

    /// Ends the app's sessions on both sides and closes its connection; false when it is not there.
    func disconnect(_ id: AppID, because reason: CloseReason) -> Bool {
        guard let app = apps[id], app.closeReason == nil else { return false }
        beginRead()
        router.endSessions(of: app, at: now)
        performActions()
        endRead()
        close(app, reason)
        return true
    }

    // MARK: - Slow apps

    var isLinkHeld: Bool { flow.isLinkHeld }

    /// Nobody else is made to wait by what this app does.
    var isOneApp: Bool { apps.count == 1 }

    func appBlocked(_ app: AppHandler) {
        let wasHeld = flow.isLinkHeld
        switch changeFlow({ $0.blocked(app, app.sight, isAlone: isOneApp, at: now) }) {
        case .go: break
        case .hold:
            if !wasHeld { hit(.stallGrace) }
        case .dropStuck: drop(app, .dropStuck)
        case .dropBehind: drop(app, .dropBehind)
        }
    }

    func drop(_ app: AppHandler, _ verdict: FlowControl<AppHandler>.Verdict) {
        let queued = app.queuedBytes
        let (notice, reason): (RelayNotice, CloseReason) =
            verdict == .dropBehind
            ? (.fellBehind(queuedBytes: queued), .fellBehind(queuedBytes: queued))
            : (.stoppedReading(queuedBytes: queued, seconds: nil), .tooSlow(queuedBytes: queued))
        hit(.appQueue)
        tap.record(.noticed(notice, app.id, time: time))
        close(app, reason)
    }

    func appDrained(_ app: AppHandler) {
        changeFlow { $0.drained(app, isAlone: isOneApp, at: loop.now) }
    }

    // MARK: - Silent and hasty apps

    /// Whether the head unit would stand one more frame of an app's session now: what has been
    /// written to the link counts. What is not for the link is counted by the app's own guard.
    @inline(__always)
    func allows(_ frame: Frame, of app: AppHandler, or own: inout RateGuard) -> Bool {
        let session = frame.sessionID
        guard router.isOpen(session, of: app) else { return own.allow(at: now) }
        // What is known of the link is known where held sessions are looked at.
        if !heldSessions.isEmpty, heldSessions.contains(session) { return false }
        return !rates.isFull(session, limit: configuration.framesPerSecond, at: now)
    }

    /// The app is gone, and was too fast for the head unit to hear all it said. There may be as many
    /// such frames as its socket held, so that they are only counted.
    func dropLastWord(_ frame: Frame, of app: AppHandler) {
        tap.record(frame, .fromApp, app: app.id, time: time, fate: .dropped(.leftTooFast))
        app.refusedFrames += 1
        app.unsaid.count(frame.wire.readableBytes)
    }

    /// Connected, and has not sent one frame for as long as it may.
    func silent(_ app: AppHandler) {
        hit(.silentTimeout, at: .now())
        close(app, .silent(configuration.silentTimeout))
    }

    /// The app sends faster than a head unit stands; it goes on at `deadline`.
    func paced(_ app: AppHandler, until deadline: NIODeadline) {
        hit(.framesPerSecond)
        let limit = configuration.framesPerSecond
        app.lastProblem = "paced to \(limit) frames/s (apps.frames_per_second)"
        if app.pacedNoticeAt.map({ now - $0 >= Self.pacedNoticeInterval }) ?? true {
            app.pacedNoticeAt = now
            // The advice warns.
            tap.record(.noticed(.paced(framesPerSecond: limit), app.id, time: time))
        }
        loop.assumeIsolated().scheduleTask(deadline: deadline) { app.resume(.rate) }
    }

    /// Pacing starts and stops ten times a second; once is enough for people.
    private static let pacedNoticeInterval: TimeAmount = .seconds(10)
}
