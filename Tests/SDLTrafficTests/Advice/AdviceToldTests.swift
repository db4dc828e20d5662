// Advice that was given, looked up by the messages it concerns.

import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct AdviceToldTests {
    @Test("what was told can be looked up by the messages it is about, as it was known then")
    func toldBefore() throws {
        var talk = Dialogue(validator: .builtIn)
        talk.starts(level: "NONE")
        for _ in 0..<30 {
            talk.fails(.show, "DISALLOWED")
            talk.silence(3000)
        }
        let advisor = advice(on: talk.entries)
        let all = advisor.told(after: 0, through: .max)
        #expect(all.map(\.code) == [.requestInNone, .requestInNone])
        #expect(all.map(\.count) == [1, 21])
        let entries = all.map(\.entry)
        #expect(entries == entries.sorted())
        let first = try #require(entries.first)
        #expect(advisor.told(after: first - 1, through: first).map(\.entry) == [first])
        #expect(advisor.told(after: first, through: .max).count == 1)
        #expect(advisor.told(after: first, through: first).isEmpty)
        #expect(advisor.told(after: .max, through: 0).isEmpty)
    }

    @Test("what turned out to be no fault is not looked up any more")
    func toldTooEarly() {
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        talk.secondApp(name: "Relay Test", appID: "other")
        #expect(advice(on: talk.entries).told(after: 0, through: .max).count == 1)
        talk.response(.registerAppInterface, 1, #"{"success":true,"resultCode":"SUCCESS"}"#)
        #expect(advice(on: talk.entries).told(after: 0, through: .max).isEmpty)
    }

    @Test("only the latest of what was told is kept", .timeLimit(.minutes(15)))
    func toldIsBounded() {
        var talk = Dialogue(validator: .builtIn)
        talk.starts(level: "NONE")
        for _ in 0..<(3 * TrafficAdvisor.keptTold) {
            talk.fails(.show, "DISALLOWED")
            talk.silence(6 * 60_000)
        }
        let all = advice(on: talk.entries).told(after: 0, through: .max)
        #expect(all.count == TrafficAdvisor.keptTold)
        #expect(all.last?.count == 3 * TrafficAdvisor.keptTold)
    }
}
