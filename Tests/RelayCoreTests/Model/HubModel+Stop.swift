// What a stop of the hub promises: all Unregisters, all answers, then all EndServices, within its time.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol

@testable import RelayCore

extension HubModel {
    /// A stop of the hub, from the moment it is told.
    struct Stop {
        /// From this time on, the hub may say EndService whatever has not been answered.
        var waitsUntil: NIODeadline
        /// The last life that began before the stop.
        var lastLife: Int
        /// Lives that the hub has unregistered and whose answer has not reached it.
        var unanswered: Set<Int> = []
        /// EndServices that apps had said before the stop; they need not wait for anything.
        var ownEnds: [Int: Frame] = [:]
        /// Lives of apps that had left before the stop, whose EndService was said then and may still wait
        /// for the link.
        var saidEnds: Set<Int> = []
        /// Lives that must end as expected: their apps were registered, and nothing was in the way.
        var registered: Set<Int> = []
    }

    /// An EndService has been written to the link.
    mutating func checkStop(_ end: Frame, _ life: Int) {
        guard let stop, life <= stop.lastLife, now < stop.waitsUntil, !isLossy else { return }
        guard stop.ownEnds[life] != end, !stop.saidEnds.contains(life) else { return }
        // A grant that comes too late for any app is given back at once, even one that came before the
        // stop and was not read because a slow app held the link.
        guard ownerOfLife[life] != nil, !hasNewGrant(of: end.sessionID, after: life) else { return }
        // A session that has ended, or never was, cannot be waited for.
        let waiting = stop.unanswered.filter { !ended.contains($0) || $0 == life }
        guard !waiting.isEmpty else { return }
        fail(.stop, "\(end) while \(waiting.count) Unregisters are unanswered")
    }
}

extension HubWorld {
    /// The hub is told to stop in the middle of everything.
    func stop() {
        tell("the hub stops")
        let timeout = setting.configuration.farewellTimeout
        let isPrompt =
            setting.passBytes == nil && stalledUntil <= loop.now && link?.isBroken == false
            && switchboard.sdl.output.waitingBytes == 0 && !setting.isLossy && !core.isStopping
        var stop = HubModel.Stop(
            waitsUntil: loop.now + .nanoseconds(timeout.nanoseconds / 2),
            lastLife: core.running.map(\.life).max() ?? 0)
        for (lane, frames) in model.apps.values.flatMap(\.lanes) {
            let end = frames.first { $0.controlType == .endService && $0.service == .rpc }
            if let end { stop.ownEnds[lane.life] = end }
        }
        for (session, farewell) in switchboard.sdl.router.farewells where farewell.step == .ending {
            if let life = model.lives[Int(session)] { stop.saidEnds.insert(life) }
        }
        for session in core.running where session.app != nil && !session.isEndedByCore {
            guard isPrompt, let number = model.ownerOfLife[session.life],
                let app = model.apps[number], app.isConnected, !app.mayBeClosed,
                !model.ended.contains(session.life),
                model.lives[Int(session.id)] == session.life
            else { continue }
            stop.registered.insert(session.life)
        }
        model.stop = stop
        for number in model.apps.keys { model.apps[number]?.mayBeClosed = true }
        let begin = loop.now
        var doneAt: NIODeadline?
        switchboard.shutDown { doneAt = self.loop.now }
        pass(timeout)
        if isPrompt {
            if doneAt.map({ $0 - begin > timeout }) ?? true {
                model.fail(.stop, "the hub has not stopped after \(timeout)")
            }
            for end in core.ends where stop.registered.contains(end.life) && end.isUnexpected {
                model.fail(.stop, "\(end.appID) ended unexpectedly at the stop")
            }
            for session in core.running where stop.registered.contains(session.life) {
                model.fail(.ghost, "session \(session.id) has not ended at the stop")
            }
        }
        closeLink()
        pass(.seconds(10))
        let left = [
            ("apps", switchboard.apps.count), ("sessions", switchboard.sdl.router.openSessions),
            ("farewells", switchboard.sdl.router.farewellSessions),
            ("bytes for the link", switchboard.sdl.output.waitingBytes),
            ("grants", switchboard.sdl.router.grants.count),
        ]
        for (name, count) in left where count > 0 {
            model.fail(.left, "\(count) \(name) after the stop")
        }
    }
}
