// How long anything may wait in the hub while the link moves: each wait with its bound from the
// configuration.

import NIOCore
import NIOEmbedded
import SDLProtocol

@testable import RelayCore

/// One wait that goes on in the hub.
struct HubWait: Hashable {
    enum Kind: Hashable {
        /// The goodbye of a session is at this step.
        case goodbye(session: UInt8, Farewell<SDLApp>.Step)
        /// A session has sent all it may for now; `sent` frames of its apps have gone out. When more of
        /// them wait, it may be let go and held again in the same moment.
        case held(session: UInt8, sent: Int)
        /// The app is not read; `frames` of its frames were.
        case paused(AppID, frames: UInt64)
        /// The app has left, and not all of its words have gone out.
        case lastWords(AppID)
        /// A StartService is on the link.
        case start
        /// The app has not answered a heartbeat.
        case heartbeat(session: UInt8)
    }

    var kind: Kind
    /// When the hub intends to end it, if known.
    var deadline: NIODeadline?
}

extension HubWorld {
    /// Checks, after time has passed, that no wait is longer than its bound.
    func checkWaits() {
        model.advance(to: loop.now)
        // Nothing can be promised for a link that is lost or stands still; after that, all waits begin
        // anew.
        guard link != nil, stalledUntil <= loop.now else {
            waits = [:]
            return
        }
        var going: [HubWait: NIODeadline] = [:]
        for (wait, patience) in waitsNow() {
            let bound = loop.now + patience
            let until = waits[wait] ?? wait.deadline.map { min($0, bound) } ?? bound
            // A poll may fall on the bound itself.
            if until + .microseconds(1) < loop.now {
                model.fail(
                    .wait, "\(wait.kind) goes on \((loop.now - until).seconds) s beyond its bound")
            }
            going[wait] = until
        }
        waits = going
    }

    /// What waits now, and how long each wait may last from its beginning.
    private func waitsNow() -> [(HubWait, TimeAmount)] {
        let router = switchboard.sdl.router
        var found: [(HubWait, TimeAmount)] = []
        for (session, farewell) in router.farewells {
            guard let patience = patience(farewell, of: session) else { continue }
            let kind = HubWait.Kind.goodbye(session: session, farewell.step)
            found.append((HubWait(kind: kind, deadline: farewell.deadline), patience))
        }
        if !switchboard.sdl.output.heldSessions.isEmpty {
            for session in UInt8.min...UInt8.max
            where switchboard.sdl.output.heldSessions.contains(session) {
                let kind = HubWait.Kind.held(session: session, sent: model.sent[session] ?? 0)
                found.append((HubWait(kind: kind), heldTime))
            }
        }
        for (id, app) in switchboard.apps {
            if app.isPaused {
                let kind = HubWait.Kind.paused(id, frames: app.counters.framesIn)
                found.append((HubWait(kind: kind), heldTime + queueTime))
            }
            if model.apps[Int(id.rawValue)]?.isConnected == false {
                let patience = SDLApp.lastWordsPatience + Self.rateSlot
                found.append((HubWait(kind: .lastWords(id)), patience))
            }
        }
        if let deadline = router.starts.answerDeadline {
            let wait = HubWait(kind: .start, deadline: deadline)
            found.append((wait, setting.configuration.startServiceTimeout))
        }
        for (session, heartbeat) in router.heartbeats {
            let wait = HubWait(kind: .heartbeat(session: session), deadline: heartbeat.deadline)
            found.append((wait, setting.configuration.heartbeatPatience))
        }
        return found
    }

    /// Nil where the app that said EndService itself waits, for as long as it likes.
    private func patience(
        _ farewell: Farewell<SDLApp>, of session: UInt8
    ) -> TimeAmount? {
        let configuration = setting.configuration
        switch farewell.step {
        case .awaitingApp: return configuration.endAnswerTimeout
        case .draining: return queueTime
        case .endingMessages: return configuration.messageEndTimeout + queueTime
        case .unregistering: return configuration.unregisterTimeout + queueTime
        case .holding: return configuration.encryptedHold
        case .waitingTurn:
            if farewell.isOfStop {
                return .nanoseconds(configuration.farewellTimeout.nanoseconds / 2)
            }
            return farewell.answersHeadUnit ? configuration.startServiceTimeout : .zero
        case .ending:
            let isAppsOwn =
                farewell.ownEnd != nil && switchboard.sdl.router.routes[session].owner != nil
            return isAppsOwn ? nil : configuration.endServiceTimeout + queueTime
        }
    }

    /// The slot in which rates are counted, and the interval at which held sessions are let go.
    private static var rateSlot: TimeAmount { .milliseconds(100) }

    /// A second, the slots in which it begins and ends, and two until the hub has asked whether the last
    /// frame of its slot, of any session, has left.
    private static var rateWindow: TimeAmount { .milliseconds(1400) }

    /// A frame on its way counts until a second after it has left. The end of a standstill is known at
    /// the next poll.
    private var heldTime: TimeAmount {
        let standstill = setting.mayStall ? Self.rateSlot : .zero
        guard let passBytes = setting.passBytes else { return Self.rateWindow + standstill }
        let turns = Int64(switchboard.sdl.output.bytesInFlight / passBytes + 1)
        return Self.rateWindow + standstill + .milliseconds(5 * turns)
    }

    /// How long the frames that wait for the link now may take: at the pacer's slowest, and as if all
    /// were of one session.
    private var queueTime: TimeAmount {
        guard switchboard.sdl.output.waitingFrames > 0 else { return .zero }
        let bytes = switchboard.sdl.output.waitingBytes + switchboard.sdl.output.bytesInFlight
        let polls = Int64(bytes / LinkPacer.leastBytes + 1)
        let frames = switchboard.configuration.framesPerSecond
        let seconds = switchboard.sdl.output.waitingFrames / frames + 1
        return .nanoseconds(
            polls * LinkPacer.longestPoll.nanoseconds
                + Int64(seconds) * Self.rateWindow.nanoseconds)
    }
}
