import Testing

@testable import relayd

@Suite("A recording of record.always that fails")
struct AlwaysPatienceTests {
    @Test("is tried again soon, then less often, and at least once a minute")
    func pauses() {
        var patience = AlwaysPatience()
        let pauses = (0..<9).map { _ in patience.failed(after: nil) }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    }

    @Test("is tried soon again when it had recorded for a while")
    func lasted() {
        var patience = AlwaysPatience()
        for _ in 0..<9 { _ = patience.failed(after: .seconds(59)) }
        #expect(patience.failed(after: .seconds(59)) == .seconds(60))
        #expect(patience.failed(after: .seconds(60)) == .seconds(1))
        #expect(patience.failed(after: nil) == .seconds(2))
    }
}
