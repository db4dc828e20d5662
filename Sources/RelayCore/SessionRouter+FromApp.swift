// What the router decides about frames of apps, and how apps get their sessions: one StartService
// on the link at a time.

package import NIOCore
package import SDLProtocol

extension SessionRouter {
    /// Decides about a frame that an app sent.
    package mutating func receive(
        _ frame: Frame, from app: App, at now: NIODeadline
    ) -> Decision {
        if frame.type == .control { return receiveControl(frame, from: app, at: now) }
        let session = Int(frame.sessionID)
        guard routes[session].owner == app, routes[session].phase != .ended else {
            return refuse(frame, of: app)
        }
        if let messageID = frame.messageID, messageID > routes[session].highestMessageID {
            routes[session].highestMessageID = messageID
        }
        return .toLink
    }

    private mutating func refuse(_ frame: Frame, of app: App) -> Decision {
        guard isLinkUp else { return .drop(.noLink) }
        let reason = DropReason.notItsSession(frame.sessionID)
        if configuration.foreignFrames == .close {
            actions.append(.close(app, .foreignFrame(session: frame.sessionID)))
        }
        return .drop(reason)
    }

    private mutating func receiveControl(
        _ frame: Frame, from app: App, at now: NIODeadline
    ) -> Decision {
        let session = frame.sessionID
        if frame.controlType == .startService, frame.service == .rpc, session == 0 {
            return requestSession(frame, for: app, at: now)
        }
        guard routes[session].owner == app, routes[session].phase != .ended else {
            if frame.controlType == .registerSecondaryTransport {
                let nak = Frame.registerSecondaryTransportNAK(
                    of: frame, reason: "relayd forwards all services on the primary transport")
                actions.append(.toApp(nak, app))
                return .drop(.secondaryTransport)
            }
            return refuse(frame, of: app)
        }
        switch (frame.controlType, frame.service) {
        case (.startService, .rpc):
            routes[session].isUpgradePending = true
        case (.endService, .rpc):
            if routes[session].phase == .open { routes[session].phase = .ending }
            adviseOnEnd(frame, from: app)
        default: break
        }
        return .toLink
    }

    private mutating func adviseOnEnd(_ frame: Frame, from app: App) {
        guard frame.version > 1, let granted = grants[frame.sessionID]?.hashID else { return }
        let sent = ControlPayload(frame).hashID ?? 0
        guard sent != granted else { return }
        actions.append(.event(.wrongHash(app, session: frame.sessionID, sent: sent)))
    }
}

// MARK: - Asking for a session: one StartService on the link at a time

extension SessionRouter {
    private mutating func requestSession(
        _ frame: Frame, for app: App, at now: NIODeadline
    ) -> Decision {
        if !isLinkUp, configuration.whenAccessoryAbsent == .refuse {
            let reason = "no head unit is connected to relayd"
            actions.append(.toApp(.startServiceNAK(of: frame, reason: reason), app))
            actions.append(.close(app, .noAccessory(waited: nil)))
            return .drop(.noLink)
        }
        guard starts.pending(of: app) < configuration.maximumPendingStartsPerApp else {
            let reason = "too many StartServices of this connection are waiting"
            actions.append(.toApp(.startServiceNAK(of: frame, reason: reason), app))
            return .drop(.queueFull)
        }
        starts.append(frame, of: app, holdUntil: now + configuration.holdTimeout)
        sendNextStart(at: now)
        return .handled
    }

    /// Sends the next waiting StartService if none is on its way. Nothing in the answer names the
    /// asker; only order does.
    mutating func sendNextStart(at now: NIODeadline) {
        guard isLinkUp,
            let next = starts.sendNext(answerUntil: now + configuration.startServiceTimeout)
        else { return }
        actions.append(.toLink(next.frame, from: next.app))
    }

    /// The next moment `advance` has something to do.
    package var nextDeadline: NIODeadline? {
        isLinkUp ? starts.answerDeadline : starts.holdDeadline
    }

    /// Gives up what has waited too long.
    package mutating func advance(to now: NIODeadline) {
        if isLinkUp {
            guard let given = starts.giveUpAnswer(at: now) else { return }
            let reason =
                "the head unit did not answer StartService for "
                + "\(configuration.startServiceTimeout.seconds) s"
            if let app = given.app {
                actions.append(.toApp(.startServiceNAK(of: given.frame, reason: reason), app))
                actions.append(.event(.startServiceUnanswered(app)))
            }
            sendNextStart(at: now)
        } else {
            for held in starts.giveUpHeld(at: now) {
                let reason = "no head unit came within \(configuration.holdTimeout.seconds) s"
                actions.append(.toApp(.startServiceNAK(of: held.frame, reason: reason), held.app))
                actions.append(.close(held.app, .noAccessory(waited: configuration.holdTimeout)))
            }
        }
    }
}
