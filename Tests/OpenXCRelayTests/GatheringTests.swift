// When messages of a vehicle interface go to a crowd of clients.

import NIOCore
import Testing

@testable import OpenXCRelay

@Suite("Messages gathered for a crowd")
struct GatheringTests {
    private static let crowd = Gathering.clients + 1
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    /// The state just after something has gone out.
    private var busy: Gathering {
        var gathering = Gathering()
        gathering.went(at: start)
        return gathering
    }

    /// Asks as after a read, and lets messages wait if they may.
    ///
    /// - Returns: Whether they go at once.
    private func read(
        _ gathering: inout Gathering, _ messages: Int, for clients: Int = Self.crowd,
        hasAnswer: Bool = false, at now: NIODeadline
    ) -> Bool {
        guard gathering.mayWait(messages, for: clients, hasAnswer: hasAnswer, at: now) else {
            return true
        }
        gathering.wait()
        return false
    }

    @Test("the first goes at once, what follows within 2 ms waits until they are over")
    func crowd() {
        var gathering = Gathering()
        let first = read(&gathering, 1, at: start)
        #expect(first)
        gathering.went(at: start)
        #expect(gathering.due == nil)
        let soon = start + .microseconds(300)
        let second = read(&gathering, 1, at: soon)
        #expect(!second)
        #expect(gathering.due == start + Gathering.time)
        // The wait is that of the first message, whatever arrives meanwhile.
        let third = read(&gathering, 2, at: soon + .milliseconds(1))
        #expect(!third)
        #expect(gathering.due == start + Gathering.time)
        let fourth = read(&gathering, 3, at: start + Gathering.time)
        #expect(fourth)
        gathering.went(at: start + Gathering.time)
        #expect(gathering.due == nil)
    }

    @Test("for a few clients nothing waits")
    func few() {
        var gathering = busy
        let first = read(&gathering, 1, for: Gathering.clients, at: start)
        #expect(first)
        #expect(gathering.due == nil)
    }

    @Test("an answer that somebody waits for takes along what was gathered")
    func answer() {
        var gathering = busy
        let first = read(&gathering, 1, at: start)
        #expect(!first)
        let second = read(&gathering, 2, hasAnswer: true, at: start)
        #expect(second)
    }

    @Test("where all has gone already, nothing waits, and nothing is due")
    func nothing() {
        var gathering = busy
        let goes = read(&gathering, 0, at: start)
        #expect(goes)
        #expect(gathering.due == nil)
    }

    @Test("a flood does not pile up")
    func flood() {
        var gathering = busy
        let first = read(&gathering, 511, at: start)
        #expect(!first)
        let second = read(&gathering, Gathering.messages, at: start)
        #expect(second)
    }
}
