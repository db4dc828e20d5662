import Logging
import NIOCore
import SDLProtocol

/// Logs and reports what `SDLLanguage` does. Everything here is called on the hub's loop.
final class SDLReporter {
    private let reporter: HubReporter
    var configuration: RelayConfiguration
    private var refusedSessions = LineLimiter()

    init(_ reporter: HubReporter, configuration: RelayConfiguration) {
        self.reporter = reporter
        self.configuration = configuration
    }

    private var logger: Logger { reporter.logger }

    private func notice(_ notice: RelayNotice, _ app: SDLApp?, at time: WallTime) {
        reporter.notice(notice, app?.connection, at: time)
    }

    // MARK: - Apps

    /// Reports the frames dropped after the app left; called after its last frame.
    func closed(_ app: SDLApp) {
        guard app.unsaid.frames > 0 else { return }
        logger.warning(
            "frames dropped: \(DropReason.leftTooFast)",
            metadata: [
                "app": "\(app.id)", "frames": "\(app.unsaid.frames)",
                "bytes": "\(app.unsaid.bytes)",
            ])
    }

    func refused(_ frame: Frame, of app: SDLApp, because reason: DropReason, at time: WallTime) {
        app.connection.refusals += 1
        app.connection.latestRefusal = reason
        if reason == .queueFull { reporter.countHit(of: .pendingStarts, at: time) }
        guard HubReporter.isWorthALine(app.connection.refusals) else { return }
        logger.warning(
            "frame refused: \(reason)",
            metadata: [
                "app": "\(app.id)", "frame": "\(frame)", "refused": "\(app.connection.refusals)",
            ])
    }

    /// Reports that the app sends faster than a head unit tolerates.
    func paced(_ app: SDLApp, at now: NIODeadline, _ time: WallTime) {
        reporter.countHit(of: .framesPerSecond, at: time)
        let limit = configuration.framesPerSecond
        app.connection.lastProblem = "paced to \(limit) frames/s (apps.frames_per_second)"
        guard app.pacedNoticeAt.map({ now - $0 >= Self.pacedNoticeInterval }) ?? true else {
            return
        }
        app.pacedNoticeAt = now
        // The warning comes from the advice.
        notice(.paced(framesPerSecond: limit), app, at: time)
    }

    /// Pacing starts and stops ten times a second; people need only one notice in this time.
    private static let pacedNoticeInterval: TimeAmount = .seconds(10)

    /// Reports bytes from an app that are not a frame.
    ///
    /// - Returns: Why the connection is to be closed.
    func garbage(
        _ error: FrameError, at offset: UInt64, bytes: ByteBuffer, from app: SDLApp,
        at time: WallTime
    ) -> CloseReason {
        let length = min(bytes.readableBytes, 64)
        let excerpt = bytes.getSlice(at: bytes.readerIndex, length: length) ?? ByteBuffer()
        let garbage = CloseReason.GarbageFromApp(
            offset: offset, error: error, excerpt: excerpt,
            recognised: WrongProtocol(firstBytes: bytes))
        notice(
            .garbage(
                GarbageNotice(
                    offset: offset, error: error, recognised: garbage.recognised,
                    excerpt: excerpt.hexExcerpt())), app, at: time)
        return .garbage(garbage)
    }

    // MARK: - The link

    /// Reports bytes from the head unit that are not frames.
    ///
    /// - Parameter recognised: The protocol that the head unit has been found to speak, now or
    ///   before.
    func garbage(_ report: GarbageReport, recognised: WrongProtocol?, at time: WallTime) {
        let garbage = GarbageNotice(
            offset: report.offset, error: report.error,
            recognised: WrongProtocol(firstBytes: report.excerpt),
            excerpt: report.excerpt.hexExcerpt())
        notice(.garbage(garbage), nil, at: time)
        // For a recognised protocol, the warning comes from the advice.
        logger.log(
            level: garbage.recognised == nil ? .warning : .debug,
            """
            \(report.bytes) bytes from the head unit were not SDL frames\
            \(report.isOver ? "" : " so far") (from byte \(report.offset) on: \(report.error))\
            \(recognised.map { "; " + $0.adviceOnLink } ?? ""); bytes \(report.excerpt.hexExcerpt())
            """)
    }

    /// Reports a peer that stopped in the middle of a frame; `app` is nil for the head unit.
    func stalled(_ position: StreamPosition, app: SDLApp?) {
        let problem =
            "stopped in the middle of a frame \(configuration.stallTimeout.seconds) s ago: "
            + "\(position.bytes) bytes since byte \(position.offset)"
        app?.connection.lastProblem = problem
        notice(
            .stoppedSending(
                bytes: position.bytes, seconds: configuration.stallTimeout.secondsAsNumber),
            app, at: .now())
        // The warning comes from the advice.
        if let app {
            logger.debug("the app \(problem)", metadata: ["app": "\(app.id)"])
        } else {
            logger.debug("the head unit \(problem)")
        }
    }

    /// Reports that the head unit takes nothing although frames wait for it.
    func linkStalled(queuedBytes: Int) {
        let notice = RelayNotice.stoppedReading(
            queuedBytes: queuedBytes, seconds: configuration.stallTimeout.secondsAsNumber)
        self.notice(notice, nil, at: .now())
        logger.debug("the head unit \(notice.description)")
    }

    // MARK: - Sessions

    func tell(_ event: RouterEvent<SDLApp>, at now: NIODeadline, _ time: WallTime) {
        if let (app, told) = event.told { reporter.tell(told, of: app.connection, at: time) }
        switch event {
        case .sessionOpened(let app, let grant):
            logger.debug(
                "session opened",
                metadata: ["app": "\(app.id)", "session": "\(grant.sessionID)"])
        case .sessionEnded(let app, let session):
            logger.debug("session ended", metadata: ["app": "\(app.id)", "session": "\(session)"])
        case .farewell(let session):
            logger.debug(
                "ended a session for an app that left", metadata: ["session": "\(session)"])
        case .messageEnded(let app, let message):
            messageEnded(app, .messageEnded(message), at: time)
        case .lateAnswer(let app, let session, let function):
            logger.notice(
                """
                drive: the head unit has answered \(function) of relayd's too late; the answer reaches \
                nobody
                """,
                metadata: ["app": "\(app.map { "\($0.id)" } ?? "-")", "session": "\(session)"])
        case .messageTooLarge:
            reporter.countHit(of: .messageBytes, at: time)
        case .heartbeatAnswered(let app, let session):
            heartbeatAnswered(app, session, at: time)
        case .sessionReassigned(let app, let session):
            logger.warning(
                "the head unit gave session \(session) to another app without ending it",
                metadata: ["app": "\(app.id)"])
        case .startSent, .serviceEnded: break
        case .startServiceUnanswered(let app):
            app.connection.lastProblem = "the head unit did not answer StartService"
            logger.warning(
                """
                the head unit did not answer StartService for \
                \(configuration.startServiceTimeout.seconds) s (sessions.start_service_timeout)
                """, metadata: ["app": "\(app.id)"])
        case .sessionRefused(let app, let inUse):
            sessionRefused(app, inUse: inUse, at: now, time)
        // For these two events, the warning comes from the advice.
        case .wrongHash(let app, let session, let hash):
            logger.debug(
                hash.sent == .nothing
                    ? "EndService without the hash ID of its session; the head unit may refuse it"
                    : "EndService with a hash ID the head unit did not give",
                metadata: ["app": "\(app.id)", "session": "\(session)"])
        case .secondaryTransportOffered(_, let session, let isPassedOn):
            logger.debug(
                """
                the head unit offers a secondary transport, which bypasses relayd: \
                \(isPassedOn ? "passed on" : "taken out") (sessions.secondary_transports)
                """, metadata: ["session": "\(session)"])
        }
    }

    private func messageEnded(_ app: SDLApp?, _ notice: RelayNotice, at time: WallTime) {
        if let app {
            app.connection.lastProblem = notice.description
            app.endedMessages += 1
            guard HubReporter.isWorthALine(app.endedMessages) else { return }
        }
        self.notice(notice, app, at: time)
        logger.notice(
            "the app \(notice.description)", metadata: ["app": "\(app.map { "\($0.id)" } ?? "-")"])
    }

    private func heartbeatAnswered(_ app: SDLApp, _ session: UInt8, at time: WallTime) {
        let notice = RelayNotice.heartbeatAnswered(
            seconds: configuration.heartbeatPatience.secondsAsNumber)
        app.connection.lastProblem = notice.description
        // While the app is at a breakpoint, a heartbeat comes every 7 s.
        app.answeredHeartbeats += 1
        guard HubReporter.isWorthALine(app.answeredHeartbeats) else { return }
        self.notice(notice, app, at: time)
        logger.info(
            "the app \(notice.description)",
            metadata: ["app": "\(app.id)", "session": "\(session)"])
    }

    private func sessionRefused(
        _ app: SDLApp, inUse: Int, at now: NIODeadline, _ time: WallTime
    ) {
        app.connection.lastProblem = "the head unit refused a session"
        guard inUse >= RelayLimit.sessionsOfALink else { return }
        reporter.countHit(of: .sessions, at: time)
        guard let withheld = refusedSessions.allow(at: now) else { return }
        logger.warning(
            """
            the head unit refused a session: all \(RelayLimit.sessionsOfALink) of its link are in \
            use; stop apps that are not needed\(LineLimiter.more(withheld))
            """, metadata: ["app": "\(app.id)"])
    }
}
