// Where frames pass through fault rules: an app's frames before the router sees them, as on a bad network,
// and the head unit's frames after it, as an app gets them. So relayd's own frames to the head unit are
// never affected, and no app's session depends on another app's rule.

import Logging
import NIOCore
import SDLProtocol

extension SDLLanguage {
    // MARK: - Frames

    /// Routes an app's frame as fault rules allow: now and unchanged, or through `carryOutFaults`.
    @inline(never)
    func routeThroughFaults(_ frame: Frame, from app: SDLApp) {
        if faults?.passAtOnce(frame, .fromApp, of: app, at: hub.now) == true {
            return route(frame, from: app)
        }
        let isFree = faults?.take(frame, .fromApp, of: app, at: hub.now) ?? true
        if isFree {
            let isQuiet = faults?.isQuiet(at: hub.now) == true
            route(frame, from: app)
            if isQuiet { return }
        }
        carryOutFaults()
        holdBack(app)
    }

    /// Does the same for a frame to an app.
    ///
    /// - Parameter fate: What relayd itself has done to the frame; relayd's own frames keep their place,
    ///   and no rule applies to them.
    @inline(never)
    func passThroughFaults(
        _ frame: Frame, to app: SDLApp, _ fate: FrameFate, _ grant: GrantMeaning?
    ) {
        if faults?.passAtOnce(frame, .fromAccessory, of: app, at: hub.now) == true {
            return pass(frame, to: app, fate: fate, grant: grant)
        }
        let isFree =
            faults?.take(
                frame, .fromAccessory, of: app, at: hub.now, tag: .init(fate: fate, grant: grant),
                isOwn: fate == .byRelay) ?? true
        if isFree {
            let isQuiet = faults?.isQuiet(at: hub.now) == true
            pass(frame, to: app, fate: fate, grant: grant)
            if isQuiet { return }
        }
        carryOutFaults()
        releaseIfFull(for: app)
    }

    /// Carries out effects one after the other: what an effect causes may call this again, and goes after
    /// the remaining effects.
    func carryOutFaults() {
        guard !isFaulting else { return }
        isFaulting = true
        while let effect = faults?.next(at: hub.now) { perform(effect) }
        isFaulting = false
        guard let faults, faults.isIdle else { return }
        for (app, passed) in faults.guards { app.count(passed) }
        self.faults = nil
    }

    private func perform(_ effect: FaultStage<SDLApp>.Effect) {
        switch effect {
        case .pass(let frame, .fromApp, let app, let tag):
            route(frame, from: app, fate: tag.fate)
            letGo(app)
        case .pass(let frame, .fromAccessory, let app, let tag):
            pass(frame, to: app, fate: tag.fate, grant: tag.grant)
        case .drop(let frame, let direction, let app, let reason):
            hub.tap.record(
                frame, direction, app: app.id, time: hub.time, fate: .dropped(reason))
            letGo(app)
        case .replace(let frame, let direction, let app):
            hub.tap.record(frame, direction, app: app.id, time: hub.time, fate: .replaced)
        case .say(let frame, let app):
            router.answer(frame, to: app, at: hub.now)
            performActions()
        case .disconnect(let app, let rule):
            // As if its connection had broken: the head unit keeps what the app needs to resume.
            hub.close(app.connection, .fault(rule))
        case .report(let rule, let hits):
            hub.logger.info(
                "fault rule acts", metadata: ["rule": "\(rule)", "messages": "\(hits)"])
        }
    }

    // MARK: - Bounds

    /// Passes on everything held for an app once it reaches the limit.
    private func releaseIfFull(for app: SDLApp) {
        guard let faults, faults.heldBytes(to: app) >= hub.configuration.appQueueBytes else {
            return
        }
        hub.countHit(of: .appQueue)
        self.faults?.giveUp(for: app, at: hub.now)
        carryOutFaults()
    }

    /// Treats an app's held frames like frames that wait for the link: with too many bytes, the app is not
    /// read.
    private func holdBack(_ app: SDLApp) {
        guard let faults, faults.heldBytes(from: app) >= hub.configuration.linkQueueBytes else {
            return
        }
        app.connection.pause(.fault)
        hub.countHit(of: .linkQueue)
    }

    /// Reads the app again in the next turn of the loop: here its frames would come in the middle of
    /// others.
    private func letGo(_ app: SDLApp) {
        guard app.connection.isPaused(.fault),
            faults?.heldBytes(from: app) ?? 0 <= hub.configuration.linkQueueBytes / 2
        else { return }
        hub.loop.assumeIsolated().execute { [hub] in
            withExtendedLifetime(hub) { app.connection.resume(.fault) }
        }
    }

    // MARK: - Ends

    /// Passes on the last frames of an app that has hung up, before its goodbye is sent.
    func faultsLose(_ app: SDLApp) {
        faults?.hungUp(app, at: hub.now)
        carryOutFaults()
        forgetInFaults(app)
    }

    /// Forgets an app that relayd dismisses: none of its frames are passed on any more.
    func forgetInFaults(_ app: SDLApp) {
        faults?.forget(app)
        carryOutFaults()
    }

    func faultsLoseLink() {
        faults?.linkClosed()
        carryOutFaults()
    }

    // MARK: - Rules

    /// - Parameter known: What is known of apps that have registered already.
    func addFaults(_ rules: [FaultRule], knowing known: [AppID: FaultAppFacts]) throws(FaultsFull)
        -> [UInt32]
    {
        guard (faults?.rules.count ?? 0) + rules.count <= FaultLimits.rules else {
            throw FaultsFull()
        }
        hub.beginRead()
        var stage =
            faults
            ?? FaultStage(
                dice: FaultDice(seed: .random(in: 0 ... .max)),
                framesPerSecond: hub.configuration.framesPerSecond)
        introduce(known, to: &stage)
        var numbers: [UInt32] = []
        for rule in rules {
            faultNumber &+= 1
            numbers.append(faultNumber)
            stage.add(rule, id: faultNumber, at: hub.now, hub.time)
        }
        faults = stage
        carryOutFaults()
        hub.endRead()
        // The address may have changed since the rules were read.
        dropHarmfulFaults()
        return numbers
    }

    func faultsKnow(_ known: [AppID: FaultAppFacts]) {
        guard var stage = faults else { return }
        // Not copied while it is changed.
        faults = nil
        introduce(known, to: &stage)
        faults = stage
    }

    private func introduce(
        _ known: [AppID: FaultAppFacts], to stage: inout FaultStage<SDLApp>
    ) {
        for (id, app) in apps {
            var facts = known[id] ?? FaultAppFacts(connection: id.rawValue)
            let before = stage.facts[app]
            facts.name = facts.name ?? before?.name
            facts.appID = facts.appID ?? before?.appID
            stage.know(app, facts)
        }
    }

    func removeFault(_ id: UInt32) -> Bool {
        hub.beginRead()
        let isKnown = faults?.remove(id, at: hub.now) ?? false
        carryOutFaults()
        hub.endRead()
        return isKnown
    }

    /// - Returns: How many there were.
    func removeFaults() -> Int {
        let count = faults?.rules.count ?? 0
        hub.beginRead()
        clearFaults()
        hub.endRead()
        return count
    }

    func clearFaults() {
        faults?.removeAll(at: hub.now)
        carryOutFaults()
    }

    /// Removes harmful rules if the head unit is a real one: after a change of address it may be.
    func dropHarmfulFaults() {
        guard let faults, hub.isHeadUnitReal else { return }
        hub.beginRead()
        for id in faults.harmful {
            hub.logger.warning(
                "fault rule removed: it may hurt all apps on a real head unit's link",
                metadata: ["rule": "\(id)"])
            self.faults?.remove(id, at: hub.now)
        }
        carryOutFaults()
        hub.endRead()
    }

    var faultSnapshot: FaultsSnapshot {
        guard let faults else { return FaultsSnapshot() }
        let now = hub.loop.now
        return FaultsSnapshot(
            rules: faults.rules.map { FaultsSnapshot.Rule($0.id, $0, at: now) },
            heldFrames: faults.heldFrames, heldBytes: faults.heldBytes)
    }
}

extension FaultsSnapshot.Rule {
    fileprivate init(_ id: UInt32, _ active: FaultStage<SDLApp>.Active, at now: NIODeadline) {
        self.init(
            id: id, rule: active.rule, addedAt: active.addedTime, matched: active.matched,
            hits: active.hits,
            state: active.isOn(at: now)
                ? .on
                : active.rule.from.map { now < active.addedAt + $0 } ?? false ? .waiting : .over)
    }
}
