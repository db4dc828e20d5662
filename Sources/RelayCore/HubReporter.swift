// What the hub noticed, told to people and observers: log lines, notices on the tap, limits that were hit.

import Logging
import NIOCore
import SDLProtocol

/// Puts into words what `Switchboard` carries out, and keeps repetitions from filling the log. Everything
/// here is called on the hub's loop.
final class HubReporter {
    private let tap: FrameTap
    private let logger: Logger
    private var configuration: RelayConfiguration
    private(set) var limits: [RelayLimit: LimitHits] = [:]
    /// Told of a limit when it is hit for the first time and then at every power of two.
    var onLimit: (@Sendable (RelayLimit, LimitHits) -> Void)?
    private var refusedSessions = LineLimiter()

    init(tap: FrameTap, configuration: RelayConfiguration, logger: Logger) {
        self.tap = tap
        self.configuration = configuration
        self.logger = logger
    }

    func reconfigure(_ configuration: RelayConfiguration) {
        self.configuration = configuration
    }

    func hit(_ limit: RelayLimit, at time: WallTime) {
        var hits = limits[limit] ?? LimitHits()
        hits.hit(at: time)
        limits[limit] = hits
        if Self.isWorthALine(hits.count) { onLimit?(limit, hits) }
    }

    /// Once, and then at every power of two: what has happened often will happen again.
    private static func isWorthALine(_ count: UInt64) -> Bool { count & (count - 1) == 0 }

    private func notice(_ notice: RelayNotice, _ app: AppHandler?, at time: WallTime) {
        tap.record(.noticed(notice, app?.id, time: time))
    }

    // MARK: - Apps

    func connected(_ app: AppHandler) {
        logger.debug("app connected", metadata: ["app": "\(app.id)", "peer": "\(app.peer)"])
    }

    func closed(_ app: AppHandler, _ reason: CloseReason) {
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
    }

    func refused(_ frame: Frame, of app: AppHandler, because reason: DropReason, at time: WallTime)
    {
        app.refusedFrames += 1
        app.latestRefusal = reason
        if reason == .queueFull { hit(.pendingStarts, at: time) }
        guard Self.isWorthALine(app.refusedFrames) else { return }
        logger.warning(
            "frame refused: \(reason)",
            metadata: [
                "app": "\(app.id)", "frame": "\(frame)", "refused": "\(app.refusedFrames)",
            ])
    }

    /// - Returns: Why the connection is to be closed: the app reads too slowly.
    func droppedForSlowness(
        _ app: AppHandler, isBehind: Bool, at time: WallTime
    ) -> CloseReason {
        let queued = app.queuedBytes
        hit(.appQueue, at: time)
        notice(
            isBehind
                ? .fellBehind(queuedBytes: queued)
                : .stoppedReading(queuedBytes: queued, seconds: nil), app, at: time)
        return isBehind ? .fellBehind(queuedBytes: queued) : .tooSlow(queuedBytes: queued)
    }

    /// The app sends faster than a head unit stands.
    func paced(_ app: AppHandler, at now: NIODeadline, _ time: WallTime) {
        hit(.framesPerSecond, at: time)
        let limit = configuration.framesPerSecond
        app.lastProblem = "paced to \(limit) frames/s (apps.frames_per_second)"
        guard app.pacedNoticeAt.map({ now - $0 >= Self.pacedNoticeInterval }) ?? true else {
            return
        }
        app.pacedNoticeAt = now
        // The advice warns.
        notice(.paced(framesPerSecond: limit), app, at: time)
    }

    /// Pacing starts and stops ten times a second; once is enough for people.
    private static let pacedNoticeInterval: TimeAmount = .seconds(10)

    /// Bytes from an app that are no frame.
    ///
    /// - Returns: Why the connection is to be closed.
    func garbage(
        _ error: FrameError, at offset: UInt64, bytes: ByteBuffer, from app: AppHandler,
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

    /// Bytes from the head unit that are no frames.
    ///
    /// - Parameter recognised: What the head unit has been found to speak, now or before.
    func garbage(_ report: GarbageReport, recognised: WrongProtocol?, at time: WallTime) {
        let garbage = GarbageNotice(
            offset: report.offset, error: report.error,
            recognised: WrongProtocol(firstBytes: report.excerpt),
            excerpt: report.excerpt.hexExcerpt())
        notice(.garbage(garbage), nil, at: time)
        // Of what is recognised the advice warns.
        logger.log(
            level: garbage.recognised == nil ? .warning : .debug,
            """
            \(report.bytes) bytes from the head unit were no SDL frames\
            \(report.isOver ? "" : " so far") (from byte \(report.offset) on: \(report.error))\
            \(recognised.map { "; " + $0.adviceOnLink } ?? ""); bytes \(report.excerpt.hexExcerpt())
            """)
    }

    /// A peer stopped in the middle of a frame; `app` is nil for the head unit.
    func stalled(_ position: StreamPosition, app: AppHandler?) {
        let problem =
            "stopped in the middle of a frame \(configuration.stallTimeout.seconds) s ago: "
            + "\(position.bytes) bytes since byte \(position.offset)"
        app?.lastProblem = problem
        notice(
            .stoppedSending(
                bytes: position.bytes, seconds: configuration.stallTimeout.secondsAsNumber),
            app, at: .now())
        // The advice warns.
        if let app {
            logger.debug("the app \(problem)", metadata: ["app": "\(app.id)"])
        } else {
            logger.debug("the head unit \(problem)")
        }
    }

    /// The head unit takes nothing although frames wait for it.
    func linkStalled(queuedBytes: Int) {
        let notice = RelayNotice.stoppedReading(
            queuedBytes: queuedBytes, seconds: configuration.stallTimeout.secondsAsNumber)
        self.notice(notice, nil, at: .now())
        logger.debug("the head unit \(notice.description)")
    }

    // MARK: - Sessions

    func tell(_ event: RouterEvent<AppHandler>, at now: NIODeadline, _ time: WallTime) {
        switch event {
        case .sessionOpened(let app, let grant):
            logger.debug(
                "session opened",
                metadata: ["app": "\(app.id)", "session": "\(grant.sessionID)"])
        case .farewell(let session):
            logger.debug("goodbye said for an app that left", metadata: ["session": "\(session)"])
        case .messageEnded(let app, let message):
            messageEnded(app, .messageEnded(message), at: time)
        case .messageTooLarge:
            hit(.messageBytes, at: time)
        case .heartbeatAnswered(let app, let session):
            heartbeatAnswered(app, session, at: time)
        case .sessionReassigned(let app, let session):
            logger.warning(
                "the head unit gave session \(session) to another app without ending it",
                metadata: ["app": "\(app.id)"])
        case .startServiceUnanswered(let app):
            app.lastProblem = "the head unit did not answer StartService"
            logger.warning(
                """
                the head unit did not answer StartService for \
                \(configuration.startServiceTimeout.seconds) s (sessions.start_service_timeout)
                """, metadata: ["app": "\(app.id)"])
        case .sessionRefused(let app, let inUse):
            sessionRefused(app, inUse: inUse, at: now, time)
        // The advice reads these two from the frames, and warns.
        case .wrongHash(let app, let session, let sent):
            logger.debug(
                sent == 0
                    ? "EndService without the hash ID of its session; the head unit may refuse it"
                    : "EndService with a hash ID the head unit did not give",
                metadata: ["app": "\(app.id)", "session": "\(session)"])
        case .secondaryTransportOffered(let session, let isPassedOn):
            logger.debug(
                """
                the head unit offers a secondary transport, which bypasses relayd: \
                \(isPassedOn ? "passed on" : "taken out") (sessions.secondary_transports)
                """, metadata: ["session": "\(session)"])
        }
    }

    private func messageEnded(_ app: AppHandler?, _ notice: RelayNotice, at time: WallTime) {
        if let app {
            app.lastProblem = notice.description
            app.endedMessages += 1
            guard Self.isWorthALine(app.endedMessages) else { return }
        }
        self.notice(notice, app, at: time)
        logger.notice(
            "the app \(notice.description)", metadata: ["app": "\(app.map { "\($0.id)" } ?? "-")"])
    }

    private func heartbeatAnswered(_ app: AppHandler, _ session: UInt8, at time: WallTime) {
        let notice = RelayNotice.heartbeatAnswered(
            seconds: configuration.heartbeatPatience.secondsAsNumber)
        app.lastProblem = notice.description
        // At a breakpoint one comes every 7 s.
        app.answeredHeartbeats += 1
        guard Self.isWorthALine(app.answeredHeartbeats) else { return }
        self.notice(notice, app, at: time)
        logger.info(
            "the app \(notice.description)",
            metadata: ["app": "\(app.id)", "session": "\(session)"])
    }

    private func sessionRefused(
        _ app: AppHandler, inUse: Int, at now: NIODeadline, _ time: WallTime
    ) {
        app.lastProblem = "the head unit refused a session"
        guard inUse >= RelayLimit.sessionsOfALink else { return }
        hit(.sessions, at: time)
        guard let withheld = refusedSessions.allow(at: now) else { return }
        logger.warning(
            """
            the head unit refused a session: all \(RelayLimit.sessionsOfALink) of its link are in \
            use; stop apps that are not needed\(LineLimiter.more(withheld))
            """, metadata: ["app": "\(app.id)"])
    }
}
