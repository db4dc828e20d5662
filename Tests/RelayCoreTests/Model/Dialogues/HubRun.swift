// Runs a dialogue to its end, checks what is left, and cuts a failing one down to its core.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol

@testable import RelayCore

extension HubScript {
    struct Result {
        var violations: [HubModel.Violation]
        var story: [String]
        /// Steps that did something: a step whose app, session or link is not there does nothing.
        var steps: Int
        /// Frames and pieces of frames that passed.
        var frames: Int
        /// How often the hub had to wait for a recording.
        var holds: Int
    }

    /// - Parameter tellsStory: Whether to tell what happened as well.
    func run(tellsStory: Bool = false) -> Result {
        do {
            let world = try HubWorld(setting, tellsStory: tellsStory)
            var isOver = false
            for step in steps {
                try world.carryOut(step)
                // The first violation is the one to look at; later ones may follow from it.
                guard world.model.violations.isEmpty else {
                    isOver = true
                    break
                }
            }
            if !isOver {
                try world.finish()
                world.checkRecording()
            }
            world.tearDown()
            return Result(
                violations: world.model.violations, story: world.story, steps: world.steps,
                frames: world.frames, holds: world.recording?.holds ?? 0)
        } catch {
            return Result(
                violations: [.init(kind: .left, text: "\(error)")], story: [], steps: 0, frames: 0,
                holds: 0)
        }
    }

    /// The same dialogue with as few steps as still show the same violation.
    func shrunk(_ kind: HubModel.Violation.Kind) -> HubScript {
        var best = self
        var size = max(1, steps.count / 2)
        while size >= 1 {
            var start = 0
            while start < best.steps.count {
                var shorter = best
                shorter.steps.removeSubrange(start..<min(start + size, best.steps.count))
                if shorter.run().violations.first?.kind == kind {
                    best = shorter
                } else {
                    start += size
                }
            }
            if size == 1 { break }
            size /= 2
        }
        return best
    }

    /// What failed, as a list to read, and how to run it again.
    func report(_ violation: HubModel.Violation) -> String {
        let short = shrunk(violation.kind)
        let result = short.run(tellsStory: true)
        let what = result.violations.first ?? violation
        return """
            \(what.kind.rawValue): \(what.text)
            Seed \(setting.seed), \(short.steps.count) of \(steps.count) steps are enough:
            \(result.story.map { "    " + $0 }.joined(separator: "\n"))
            Run it again: Scripts/model --only \(setting.seed)
            """
    }
}

extension HubWorld {
    /// The dialogue is over: everything arrives, apps leave, and nothing may be left behind.
    func finish() throws {
        steps += 1
        if setting.endsByStop { return stop() }
        core.habits.unansweredStartChance = 0
        core.habits.lateStartChance = 0
        link?.isBroken = false
        for app in apps {
            app.isBroken = false
            app.setSlow(false)
        }
        if core.isStopping { pass(setting.habits.slowEnd) }
        try openLink()
        flow()
        // A paced app needs some seconds.
        for _ in 0..<60 where hasMore { pass(.seconds(1)) }
        pass(.seconds(8))
        flow()
        model.checkAllHasGoneOut()
        for (index, app) in apps.enumerated().reversed() where index % 2 == 0 { app.leave() }
        pass(.seconds(25))
        flow()
        for app in apps.reversed() { app.leave() }
        pass(.seconds(25))
        flow()
        if link == nil { try openLink() }
        // Requests that were given up may still be answered; those never answered are given up.
        pass(.seconds(90))
        flow()
        checkNothingIsLeft()
        try checkNewcomer()
    }

    /// Whether apps have more to say, or the hub has read more than goes out at their rate.
    private var hasMore: Bool {
        apps.contains(where: \.hasMore) || switchboard.apps.values.contains(where: \.isPaused)
    }

    /// The number of half messages, without those that nothing can end before the number is granted again.
    private var halfMessages: Int {
        let halves = switchboard.sdl.router.halves
        return (UInt8.min...UInt8.max).filter { !model.endedByStray.contains($0) }
            .reduce(0) { $0 + halves.count(of: $1) }
    }

    private func checkNothingIsLeft() {
        guard !setting.isLossy else { return }
        for session in core.running {
            let app = session.app.map { ", with \($0.appID)" } ?? ""
            model.fail(.ghost, "session \(session.id) of the head unit\(app) has no app any more")
        }
        let left = [
            ("apps", switchboard.apps.count), ("sessions", switchboard.sdl.router.openSessions),
            ("farewells", switchboard.sdl.router.farewellSessions),
            ("starts", switchboard.sdl.router.waitingStarts),
            ("bytes for the link", switchboard.sdl.output.waitingBytes),
            ("grants", switchboard.sdl.router.grants.count),
            ("apps of the router", switchboard.sdl.router.apps.count),
            ("half messages", halfMessages),
            (
                "timers",
                switchboard.wakeUp == nil && switchboard.sdl.output.isTimeless ? 0 : 1
            ),
        ]
        for (name, count) in left where count > 0 {
            model.fail(.left, "\(count) \(name) when all apps have gone")
        }
        if switchboard.sdl.garbageBytes > 0 {
            model.fail(
                .lostDown, "the hub took \(switchboard.sdl.garbageBytes) bytes for no frames")
        }
        if core.counters.malformed > 0 {
            model.fail(.malformed, "the head unit counted \(core.counters.malformed) frames")
        }
    }

    func checkRecording() {
        recording?.check(switchboard.tap) { model.fail(.left, $0) }
    }

    /// Checks that the next app is served as if nothing had happened.
    private func checkNewcomer() throws {
        guard !setting.isLossy else { return }
        let app = try connect()
        app.say(.startService())
        app.push(.max)
        pass(.seconds(1))
        flow()
        guard let grant = app.session(0) else {
            return model.fail(.answerMissing, "an app that comes afterwards gets no session")
        }
        let steps = [
            HubStep(kind: .register, which: 0, amount: 0),
            HubStep(kind: .file, which: 0, amount: 1),
        ]
        for step in steps {
            try carryOut(step)
            pass(.seconds(1))
            flow()
        }
        if core.sessions[grant.sessionID]?.app == nil {
            model.fail(.ghost, "an app that comes afterwards cannot register")
        }
        if !core.stored.contains(where: { $0.lives == [core.sessions[grant.sessionID]?.life ?? 0] })
        {
            model.fail(.mixture, "the file of an app that comes afterwards is not stored")
        }
        app.leave()
        pass(.seconds(5))
        flow()
    }

    /// Closes the embedded channels, as they require.
    func tearDown() {
        for app in apps.reversed() { app.leave() }
        link?.close()
        loop.run()
    }
}
