import Testing

@testable import relayd

// The meaning of the signals that end relayd, one after another.

@Suite("StopSignals")
struct StopSignalsTests {
    private let start = ContinuousClock.now

    @Test("the first one asks for a stop, another one does not want to wait for it")
    func impatient() {
        var signals = StopSignals()
        #expect(signals.verdict(isHangUp: false, at: start) == .stop)
        #expect(signals.verdict(isHangUp: false, at: start + .milliseconds(500)) == .endAtOnce)
    }

    @Test("one that follows at once is the same wish, as of timeout(1); a third one is not")
    func twice() {
        var signals = StopSignals()
        #expect(signals.verdict(isHangUp: false, at: start) == .stop)
        #expect(signals.verdict(isHangUp: false, at: start) == .ignore)
        #expect(signals.verdict(isHangUp: false, at: start + .milliseconds(499)) == .ignore)
        #expect(signals.verdict(isHangUp: false, at: start + .seconds(1)) == .endAtOnce)
    }

    @Test("a terminal that is gone asks for a stop, and is never impatient")
    func hangUp() {
        var signals = StopSignals()
        #expect(signals.verdict(isHangUp: true, at: start) == .stop)
        #expect(signals.verdict(isHangUp: true, at: start + .seconds(9)) == .ignore)
        #expect(signals.verdict(isHangUp: false, at: start + .seconds(9)) == .endAtOnce)
    }
}
