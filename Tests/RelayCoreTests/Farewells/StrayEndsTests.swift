// EndServices that may end another session than their own, as values; how the router handles them is in
// `HeadUnitEndTests`.

import NIOCore
import Testing

@testable import RelayCore

@Suite("EndServices that may end another session than their own")
struct StrayEndsTests {
    @Test("a head unit that grants and ends a number over and over does not fill relayd")
    func few() {
        var ends = StrayEnds()
        for _ in 0..<1000 { ends.add(1, at: .uptimeNanoseconds(0)) }
        // The latest are kept.
        ends.add(1, at: .uptimeNanoseconds(1))
        var answers = 0
        while ends.takeAnswer(of: 1, at: .uptimeNanoseconds(1)) { answers += 1 }
        #expect(answers == StrayEnds.limitPerSession)
    }
}
