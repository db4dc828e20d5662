import AccessoryLinks
import Testing

@Suite("ReconnectPolicy")
struct ReconnectPolicyTests {
    let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    @Test("a device that cannot be opened is tried again after 50 ms, doubling up to 1 s")
    func doubles() {
        var policy = ReconnectPolicy(startingAt: start)
        var delays: [ReconnectPolicy.Step] = []
        for attempt in 0..<7 {
            delays.append(policy.openFailed(nodeExists: true, at: at(attempt)))
        }
        #expect(
            delays
                == [50, 100, 200, 400, 800, 1000, 1000].map { .openAfter(.milliseconds($0)) })
        #expect(policy.attempts == 7)
    }

    @Test("an absent node is waited for without a timer, and opened when it appears")
    func waitsForNode() {
        var policy = ReconnectPolicy(startingAt: start)
        #expect(policy.openFailed(nodeExists: false, at: at(0)) == .awaitNode)
        #expect(policy.nodeChanged(exists: false, at: at(5000)) == nil)
        #expect(policy.nodeChanged(exists: true, at: at(9000)) == .openNow)
    }

    @Test("permissions that udev sets a moment later are found quickly")
    func retriesNewNodeQuickly() {
        var policy = ReconnectPolicy(startingAt: start)
        for attempt in 0..<6 { _ = policy.openFailed(nodeExists: true, at: at(attempt)) }
        #expect(policy.openFailed(nodeExists: false, at: at(10)) == .awaitNode)
        #expect(policy.nodeChanged(exists: true, at: at(2000)) == .openNow)
        policy.attemptStarts(at: at(2000))
        let denied = policy.openFailed(nodeExists: true, at: at(2001))
        #expect(denied == .openAfter(.milliseconds(50)))
        // chmod arrives 10 ms later; the attempt waits until 50 ms have passed since the last.
        #expect(policy.nodeChanged(exists: true, at: at(2011)) == .openAfter(.milliseconds(39)))
        #expect(policy.nodeChanged(exists: true, at: at(2020)) == nil)
    }

    @Test("news of the node cuts a long wait short")
    func newsCutsWaitShort() {
        var policy = ReconnectPolicy(startingAt: start)
        for _ in 0..<6 {
            policy.attemptStarts(at: at(0))
            _ = policy.openFailed(nodeExists: true, at: at(0))
        }
        #expect(policy.nodeChanged(exists: true, at: at(300)) == .openNow)
    }

    @Test("a node that disappears during the wait ends the timer")
    func nodeDisappears() {
        var policy = ReconnectPolicy(startingAt: start)
        #expect(
            policy.openFailed(nodeExists: true, at: at(0)) == .openAfter(.milliseconds(50)))
        #expect(policy.nodeChanged(exists: false, at: at(20)) == .awaitNode)
    }

    @Test("a link that lived a second is opened again at once")
    func reopensStableLink() {
        var policy = ReconnectPolicy(startingAt: start)
        _ = policy.openFailed(nodeExists: nil, at: at(0))
        policy.opened(at: at(100))
        #expect(policy.closed(nodeExists: nil, at: at(1100)) == .openNow)
        #expect(policy.attempts == 0)
    }

    @Test("a link that flaps is opened more and more slowly")
    func slowsDownFlapping() {
        var policy = ReconnectPolicy(startingAt: start)
        var now = 0
        var delays: [ReconnectPolicy.Step] = []
        for _ in 0..<6 {
            policy.opened(at: at(now))
            delays.append(policy.closed(nodeExists: true, at: at(now + 999)))
            now += 2000
            policy.attemptStarts(at: at(now))
        }
        #expect(delays == [50, 100, 200, 400, 800, 1000].map { .openAfter(.milliseconds($0)) })
    }

    @Test("an unplugged device is waited for, however short its link was")
    func unplugged() {
        var policy = ReconnectPolicy(startingAt: start)
        policy.opened(at: at(0))
        #expect(policy.closed(nodeExists: false, at: at(10)) == .awaitNode)
        #expect(policy.nodeChanged(exists: true, at: at(20)) == .openNow)
    }

    @Test("without a node, or without inotify, only the timer counts")
    func withoutNode() {
        var policy = ReconnectPolicy(startingAt: start)
        #expect(policy.openFailed(nodeExists: nil, at: at(0)) == .openAfter(.milliseconds(50)))
    }

    @Test("asking for a new attempt forgets the failures")
    func restarts() {
        var policy = ReconnectPolicy(startingAt: start)
        for _ in 0..<5 { _ = policy.openFailed(nodeExists: true, at: at(0)) }
        policy.restart()
        #expect(policy.attempts == 0)
        #expect(policy.openFailed(nodeExists: true, at: at(1)) == .openAfter(.milliseconds(50)))
    }

    @Test("news while an attempt runs or the link is open changes nothing")
    func ignoresNewsMeanwhile() {
        var policy = ReconnectPolicy(startingAt: start)
        #expect(policy.nodeChanged(exists: true, at: at(1)) == nil)
        policy.opened(at: at(2))
        #expect(policy.nodeChanged(exists: false, at: at(3)) == nil)
    }
}
