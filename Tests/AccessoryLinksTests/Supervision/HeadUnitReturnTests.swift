// How soon relayd calls a TCP head unit that listens again, and how often one that is away: played on manual
// time, so that no machine is too slow for it.

import Testing

@testable import AccessoryLinks

@Suite("The return to a TCP head unit")
struct HeadUnitReturnTests {
    /// Chance shortens waits, so each case is played with both extremes.
    static let chances = [0.0, 1.0]

    @Test(
        "a head unit on this machine is called 50 ms after it listens again, however often it restarts",
        arguments: chances)
    func restarts(chance: Double) {
        for absence in stride(from: 0, through: 3000, by: 7) {
            for life in [1, 30, 300, 999, 1000, 5000] {
                // Ten lives in a row; some are short enough to look like flapping.
                let play = HeadUnitPlay(.restarting(life: life, absence: absence), chance: chance)
                let returns = play.returns(within: 10 * (life + absence) + 10_000)
                #expect(returns.count >= 10, "absence \(absence), life \(life)")
                // A head unit that returns before relayd has noticed cannot be told from a forwarder.
                let bound = absence <= 50 ? 800 : 50
                #expect(returns.allSatisfy { $0 <= bound }, "\(absence), \(life): \(returns)")
                #expect(
                    returns.prefix(3).allSatisfy { $0 <= 50 }, "\(absence), \(life): \(returns)")
            }
        }
    }

    @Test(
        "a head unit elsewhere that refuses is called within a second of listening",
        arguments: chances)
    func elsewhere(chance: Double) {
        for absence in stride(from: 0, through: 5000, by: 7) {
            let play = HeadUnitPlay(
                .restarting(life: 1, absence: absence), isHere: false, chance: chance)
            let returns = play.returns(within: 10 * absence + 10_000)
            #expect(returns.count >= 9)
            #expect(returns.allSatisfy { $0 < 1000 }, "\(absence): \(returns)")
        }
    }

    @Test(
        "one that is away is asked at most 27 times a second here, and 100 times a minute elsewhere"
    )
    func absent() {
        let here = HeadUnitPlay(.absent, chance: 1).attempts(within: 60_000)
        #expect((60 * 20...60 * 27).contains(here.count))
        let elsewhere = HeadUnitPlay(.absent, isHere: false, chance: 1).attempts(within: 60_000)
        #expect((60...105).contains(elsewhere.count))
    }

    @Test("a forwarder with no head unit behind it is called 100 times a minute")
    func forwarder() {
        let attempts = HeadUnitPlay(.restarting(life: 1, absence: 0), chance: 1)
            .attempts(within: 60_000)
        #expect((70...110).contains(attempts.count))
        let ended = HeadUnitPlay(.endingAtOnce, chance: 1).attempts(within: 60_000)
        #expect((70...110).contains(ended.count))
    }
}

/// A TCP head unit with a habit, and `ReconnectPolicy` calling it; all times in milliseconds.
private struct HeadUnitPlay {
    enum Habit {
        case absent
        /// Accepts, and closes the connection before relayd looks at it.
        case endingAtOnce
        /// Listens until it has had a connection for `life`, then again after `absence`.
        case restarting(life: Int, absence: Int)
    }

    let habit: Habit
    /// Whether the head unit is on this machine.
    let isHere: Bool
    let chance: Double

    init(_ habit: Habit, isHere: Bool = true, chance: Double) {
        self.habit = habit
        self.isHere = isHere
        self.chance = chance
    }

    /// For each return, the time from when the head unit listened again.
    func returns(within length: Int) -> [Int] {
        run(length).returns
    }

    /// The times at which the head unit was called.
    func attempts(within length: Int) -> [Int] {
        run(length).attempts
    }

    private func run(_ length: Int) -> (returns: [Int], attempts: [Int]) {
        let start = ContinuousClock.now
        let chance = chance
        var policy = ReconnectPolicy(startingAt: start, chance: { chance })
        var returns: [Int] = []
        var attempts: [Int] = []
        var now = 0
        var listensSince = 0
        while now <= length {
            attempts.append(now)
            policy.attemptStarts(at: start + .milliseconds(now))
            let step: ReconnectPolicy.Step
            switch habit {
            case .restarting(let life, let absence) where now >= listensSince:
                if attempts.count > 1 { returns.append(now - listensSince) }
                policy.opened(at: start + .milliseconds(now))
                now += life
                listensSince = now + absence
                step = policy.closed(nodeExists: nil, at: start + .milliseconds(now))
            case .restarting, .absent:
                step = failed(&policy, isHere ? .quick : .standard, at: start + .milliseconds(now))
            case .endingAtOnce:
                step = failed(&policy, .flapped, at: start + .milliseconds(now))
            }
            // A timer of the loop never fires early, so a fraction of a millisecond counts as a whole one.
            if case .openAfter(let delay) = step {
                now += Int((delay / .milliseconds(1)).rounded(.up))
            }
        }
        return (returns, attempts)
    }

    private func failed(
        _ policy: inout ReconnectPolicy, _ pace: ReconnectPolicy.Pace,
        at now: ContinuousClock.Instant
    ) -> ReconnectPolicy.Step {
        policy.openFailed(nodeExists: nil, pace: pace, at: now)
    }
}
