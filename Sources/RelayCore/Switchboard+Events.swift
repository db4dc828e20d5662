// What the router noticed, told to people: the log lines and facts behind `RouterEvent`.

import Logging
import SDLProtocol

extension Switchboard {
    func report(_ event: RouterEvent<AppHandler>) {
        switch event {
        case .sessionOpened(let app, let grant):
            if let mtu = grant.mtu, mtu <= Self.largestBelievableMTU {
                app.allowPayload(bytes: Int(mtu) + Self.payloadSlack)
                linkHandler?.allowPayload(bytes: Int(mtu) + Self.payloadSlack)
            }
            link.make = grant.make ?? link.make
            link.model = grant.model ?? link.model
            link.protocolVersion = grant.fullVersion ?? "\(grant.version)"
            logger.debug(
                "session opened",
                metadata: ["app": "\(app.id)", "session": "\(grant.sessionID)"])
        case .farewell(let session):
            logger.debug("goodbye said for an app that left", metadata: ["session": "\(session)"])
        case .messageEnded(let app, let message):
            let notice = RelayNotice.messageEnded(message)
            if let app {
                app.lastProblem = notice.description
                // Once, and then at every power of two: a program error repeats itself.
                app.endedMessages += 1
                guard app.endedMessages & (app.endedMessages - 1) == 0 else { return }
            }
            tap.record(.noticed(notice, app?.id, time: time))
            logger.notice(
                "the app \(notice.description)",
                metadata: ["app": "\(app.map { "\($0.id)" } ?? "-")"])
        case .messageTooLarge:
            hit(.messageBytes)
        case .heartbeatAnswered(let app, let session):
            let notice = RelayNotice.heartbeatAnswered(
                seconds: configuration.heartbeatPatience.secondsAsNumber)
            app.lastProblem = notice.description
            // Once, and then at every power of two: at a breakpoint one comes every 7 s.
            app.answeredHeartbeats += 1
            guard app.answeredHeartbeats & (app.answeredHeartbeats - 1) == 0 else { return }
            tap.record(.noticed(notice, app.id, time: time))
            logger.info(
                "the app \(notice.description)",
                metadata: ["app": "\(app.id)", "session": "\(session)"])
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
            app.lastProblem = "the head unit refused a session"
            guard inUse >= RelayLimit.sessionsOfALink else { return }
            hit(.sessions)
            guard let withheld = lines[.sessions, default: LineLimiter()].allow(at: now) else {
                return
            }
            logger.warning(
                """
                the head unit refused a session: all \(RelayLimit.sessionsOfALink) of its link are in \
                use; stop apps that are not needed\(Self.more(withheld))
                """, metadata: ["app": "\(app.id)"])
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

    /// Head units announce at most a few hundred KiB; more is an error of theirs.
    private static let largestBelievableMTU: Int64 = 4 << 20
    /// Whether an MTU counts the header is not agreed; one header and a little more is allowed.
    private static let payloadSlack = 28
}
