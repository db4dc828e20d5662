// How long anything may wait in the hub while the link moves: each wait with the bound that the
// configuration gives it.

import NIOCore
import NIOEmbedded
import SDLProtocol

@testable import RelayCore

/// One wait that goes on in the hub.
struct HubWait: Hashable {
    enum Kind: Hashable {
        /// The goodbye of a session is at this step.
        case goodbye(session: UInt8, Farewell<SDLApp>.Step)
        /// A session has sent all it may for now; so many of its apps' frames have gone out. When more
        /// of them wait, it may be let go and held again in the same moment.
        case held(session: UInt8, sent: Int)
        /// The app is not read; so many of its frames were.
        case paused(AppID, frames: UInt64)
        /// The app has gone, and has not said all.
        case lastWords(AppID)
        /// A StartService is on the link.
        case start
        /// The app has not answered a heartbeat.
        case heartbeat(session: UInt8)
    }

    var kind: Kind
    /// When the hub means to end it, if it knows.
    var deadline: NIODeadline?
}

extension HubWorld {
    /// Time has passed. No wait is longer than its bound.
    func checkWaits() {
        model.advance(to: loop.now)
        // Nobody can promise anything for a link that is lost or stands still; behind that, all begins
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

    /// What waits, and how long it may from its beginning on.
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

    /// Nil where the app that said EndService waits by itself, for as long as it likes.
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

    /// What the rates are counted in, and how often held sessions are let go.
    private static var rateSlot: TimeAmount { .milliseconds(100) }

    /// A second, the slots in which it begins and ends, and two until somebody has asked whether the
    /// last frame of its slot has left, whosever that is.
    private static var rateWindow: TimeAmount { .milliseconds(1400) }

    /// What is on its way counts until a second after it has left. When a standstill ends is known at
    /// the next poll.
    private var heldTime: TimeAmount {
        let standstill = setting.mayStall ? Self.rateSlot : .zero
        guard let passBytes = setting.passBytes else { return Self.rateWindow + standstill }
        let turns = Int64(switchboard.sdl.output.bytesInFlight / passBytes + 1)
        return Self.rateWindow + standstill + .milliseconds(5 * turns)
    }

    /// How long what waits for the link now may take: as slowly as the pacer goes at the slowest, and
    /// as if all frames were of one session.
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
