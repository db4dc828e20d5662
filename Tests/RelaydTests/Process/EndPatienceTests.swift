import Testing

@testable import relayd

// Which readers relayd waits for when it ends.

@Suite("EndPatience")
struct EndPatienceTests {
    /// The decision at each look, given whether the reader was taking data then.
    private func verdicts(_ isTaking: Bool..., looks: Int = EndPatience.looks) -> [Bool] {
        var patience = EndPatience(looks: looks)
        return isTaking.map { patience.spendLook(isTaking: $0) }
    }

    @Test("a reader that takes nothing is let go at the first look") func hung() {
        #expect(verdicts(false) == [false])
    }

    @Test("a reader that takes is waited for, up to the last look") func slow() {
        #expect(verdicts(true, true, true, looks: 3) == [true, true, false])
    }

    @Test("a reader that stops taking is let go at the next look") func stops() {
        #expect(verdicts(true, false) == [true, false])
    }
}
