import NIOCore
import Testing

@testable import AccessoryLinks

@Suite("ReconnectPolicy")
struct ReconnectPolicyTests {
    let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    @Test("a device that cannot be opened is tried again after 50 ms, doubling up to 0.8 s")
    func doubles() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        var delays: [ReconnectPolicy.Step] = []
        for attempt in 0..<7 {
            delays.append(policy.openFailed(nodeExists: true, at: at(attempt)))
        }
        #expect(
            delays
                == [50, 100, 200, 400, 800, 800, 800].map { .openAfter(.milliseconds($0)) })
        #expect(policy.attempts == 7)
    }

    @Test("an absent node is waited for without a timer, and opened when it appears")
    func waitsForNode() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        #expect(policy.openFailed(nodeExists: false, at: at(0)) == .awaitNode)
        #expect(policy.nodeChanged(exists: false, at: at(5000)) == nil)
        #expect(policy.nodeChanged(exists: true, at: at(9000)) == .openNow)
    }

    @Test("permissions that udev sets a moment later are found quickly")
    func retriesNewNodeQuickly() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        for attempt in 0..<6 { _ = policy.openFailed(nodeExists: true, at: at(attempt)) }
        #expect(policy.openFailed(nodeExists: false, at: at(10)) == .awaitNode)
        #expect(policy.nodeChanged(exists: true, at: at(2000)) == .openNow)
        policy.attemptStarts(at: at(2000))
        let denied = policy.openFailed(nodeExists: true, at: at(2001))
        #expect(denied == .openAfter(.milliseconds(50)))
        // chmod arrives 10 ms later; the attempt waits until 50 ms have passed since the last one.
        #expect(policy.nodeChanged(exists: true, at: at(2011)) == .openAfter(.milliseconds(39)))
        #expect(policy.nodeChanged(exists: true, at: at(2020)) == nil)
    }

    @Test("news of the node cuts a long wait short")
    func newsCutsWaitShort() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        for _ in 0..<6 {
            policy.attemptStarts(at: at(0))
            _ = policy.openFailed(nodeExists: true, at: at(0))
        }
        #expect(policy.nodeChanged(exists: true, at: at(300)) == .openNow)
    }

    @Test("a node that disappears during the wait ends the timer")
    func nodeDisappears() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        #expect(
            policy.openFailed(nodeExists: true, at: at(0)) == .openAfter(.milliseconds(50)))
        #expect(policy.nodeChanged(exists: false, at: at(20)) == .awaitNode)
    }

    @Test("a link that lived a second is opened again at once")
    func reopensStableLink() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        _ = policy.openFailed(nodeExists: nil, at: at(0))
        policy.opened(at: at(100))
        #expect(policy.closed(nodeExists: nil, at: at(1100)) == .openNow)
        #expect(policy.attempts == 0)
    }

    @Test("a link that flaps is opened at the same pace three times, then more and more slowly")
    func slowsDownFlapping() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        var now = 0
        var delays: [ReconnectPolicy.Step] = []
        for _ in 0..<9 {
            policy.opened(at: at(now))
            delays.append(policy.closed(nodeExists: true, at: at(now + 999)))
            now += 2000
            policy.attemptStarts(at: at(now))
        }
        #expect(
            delays
                == [50, 50, 50, 100, 200, 400, 800, 800, 800].map { .openAfter(.milliseconds($0)) })
    }

    /// Events that may happen between two links that flap.
    enum Between {
        case nothing, refusedHere, timedOut, refusedElsewhere, endedAtOnce, nodeGone, stableLink
        case askedFor
    }

    @Test(
        "a row of links that flap ends when nobody answers in between, and at a link that lasts",
        arguments: [
            (Between.nothing, 800), (.refusedHere, 50), (.timedOut, 50), (.refusedElsewhere, 800),
            (.endedAtOnce, 800), (.nodeGone, 50), (.stableLink, 50), (.askedFor, 50),
        ])
    func endsTheRow(between: Between, wait: Int) {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        for _ in 0..<9 {
            policy.opened(at: at(0))
            _ = policy.closed(nodeExists: true, at: at(1))
        }
        switch between {
        case .nothing: break
        case .refusedHere, .timedOut:
            _ = policy.openFailed(nodeExists: nil, pace: .quick, at: at(2))
        case .refusedElsewhere: _ = policy.openFailed(nodeExists: nil, pace: .standard, at: at(2))
        case .endedAtOnce: _ = policy.openFailed(nodeExists: nil, pace: .flapped, at: at(2))
        case .nodeGone: _ = policy.openFailed(nodeExists: false, at: at(2))
        case .stableLink:
            policy.opened(at: at(2))
            _ = policy.closed(nodeExists: true, at: at(1002))
        case .askedFor: policy.restart()
        }
        policy.opened(at: at(2000))
        #expect(
            policy.closed(nodeExists: true, at: at(2001)) == .openAfter(.milliseconds(wait)))
    }

    @Test("a connection that is taken and ended at once counts as a link that flapped")
    func endedAtOnce() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        let delays = (0..<8).map {
            policy.openFailed(nodeExists: nil, pace: .flapped, at: at($0))
        }
        #expect(
            delays
                == [50, 50, 50, 100, 200, 400, 800, 800].map { .openAfter(.milliseconds($0)) })
        #expect(policy.attempts == 8)
    }

    @Test("an unplugged device is waited for, however short its link was")
    func unplugged() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        policy.opened(at: at(0))
        #expect(policy.closed(nodeExists: false, at: at(10)) == .awaitNode)
        #expect(policy.nodeChanged(exists: true, at: at(20)) == .openNow)
    }

    @Test("without a node, or without inotify, only the timer counts")
    func withoutNode() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        #expect(policy.openFailed(nodeExists: nil, at: at(0)) == .openAfter(.milliseconds(50)))
    }

    @Test("asking for a new attempt forgets the failures")
    func restarts() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        for _ in 0..<5 { _ = policy.openFailed(nodeExists: true, at: at(0)) }
        policy.restart()
        #expect(policy.attempts == 0)
        #expect(policy.openFailed(nodeExists: true, at: at(1)) == .openAfter(.milliseconds(50)))
    }

    @Test("news while an attempt runs or the link is open changes nothing")
    func ignoresNewsMeanwhile() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        #expect(policy.nodeChanged(exists: true, at: at(1)) == nil)
        policy.opened(at: at(2))
        #expect(policy.nodeChanged(exists: false, at: at(3)) == nil)
    }

    @Test("a refusal by this machine is answered by a new attempt after 50 ms, for ever")
    func quickPace() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        for attempt in 0..<1000 {
            let step = policy.openFailed(nodeExists: nil, pace: .quick, at: at(attempt * 50))
            #expect(step == .openAfter(.milliseconds(50)))
        }
        // The quick attempts do not count towards later delays.
        #expect(
            policy.openFailed(nodeExists: nil, at: at(50_000)) == .openAfter(.milliseconds(50)))
    }

    @Test("chance shortens a wait by a quarter at most, and never lengthens it")
    func jitters() {
        for chance in [0, 0.3, 0.99, 1] {
            var policy = ReconnectPolicy(startingAt: start, chance: { chance })
            for whole in [50, 100, 200, 400, 800, 800] {
                guard case .openAfter(let delay) = policy.openFailed(nodeExists: nil, at: at(0))
                else { return #expect(Bool(false), "no wait") }
                #expect(delay <= .milliseconds(whole))
                #expect(delay >= .milliseconds(whole) * 0.75)
            }
        }
    }

    @Test("the longest wait leaves a fifth of a second for the attempt itself")
    func staysBelowASecond() {
        #expect(ReconnectPolicy.longestDelay <= .milliseconds(800))
        #expect(TCPTransport.repeatInterval < .seconds(1))
    }

    @Test("a node that has just appeared settles for two seconds")
    func settles() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        #expect(!policy.isNodeSettling(at: at(0)))
        _ = policy.openFailed(nodeExists: false, at: at(1))
        _ = policy.nodeChanged(exists: true, at: at(5000))
        #expect(policy.isNodeSettling(at: at(5000)))
        #expect(policy.isNodeSettling(at: at(6999)))
        #expect(!policy.isNodeSettling(at: at(7000)))
    }

    @Test("a device that came back before its end was seen settles as well")
    func settlesAfterTheEnd() {
        var policy = ReconnectPolicy(startingAt: start, chance: { 0 })
        policy.opened(at: at(0))
        #expect(policy.closed(nodeExists: true, at: at(9000)) == .openNow)
        #expect(policy.isNodeSettling(at: at(9100)))
    }
}
