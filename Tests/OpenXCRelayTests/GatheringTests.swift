// When what a vehicle interface says goes to a crowd of clients.

import NIOCore
import Testing

@testable import OpenXCRelay

@Suite("Messages gathered for a crowd")
struct GatheringTests {
    private static let crowd = Gathering.clients + 1
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    /// After something has just gone.
    private var busy: Gathering {
        var gathering = Gathering()
        gathering.went(at: start)
        return gathering
    }

    @Test("the first goes at once, what follows within 2 ms waits until they are over")
    func crowd() {
        var gathering = Gathering()
        let first = gathering.mayGo(1, to: Self.crowd, hasAnswer: false, at: start)
        #expect(first)
        gathering.went(at: start)
        #expect(gathering.due == nil)
        let soon = start + .microseconds(300)
        let second = gathering.mayGo(1, to: Self.crowd, hasAnswer: false, at: soon)
        #expect(!second)
        #expect(gathering.due == start + Gathering.time)
        // The wait is that of the first, whatever comes meanwhile.
        let third = gathering.mayGo(
            2, to: Self.crowd, hasAnswer: false, at: soon + .milliseconds(1))
        #expect(!third)
        #expect(gathering.due == start + Gathering.time)
        let fourth = gathering.mayGo(
            3, to: Self.crowd, hasAnswer: false, at: start + Gathering.time)
        #expect(fourth)
        gathering.went(at: start + Gathering.time)
        #expect(gathering.due == nil)
    }

    @Test("for a few clients nothing waits")
    func few() {
        var gathering = busy
        let first = gathering.mayGo(1, to: Gathering.clients, hasAnswer: false, at: start)
        #expect(first)
        #expect(gathering.due == nil)
    }

    @Test("an answer that somebody waits for takes along what was gathered")
    func answer() {
        var gathering = busy
        let first = gathering.mayGo(1, to: Self.crowd, hasAnswer: false, at: start)
        #expect(!first)
        let second = gathering.mayGo(2, to: Self.crowd, hasAnswer: true, at: start)
        #expect(second)
    }

    @Test("where all has gone already, nothing waits, and nothing is due")
    func nothing() {
        var gathering = busy
        let goes = gathering.mayGo(0, to: Self.crowd, hasAnswer: false, at: start)
        #expect(goes)
        #expect(gathering.due == nil)
    }

    @Test("a flood does not pile up")
    func flood() {
        var gathering = busy
        let first = gathering.mayGo(511, to: Self.crowd, hasAnswer: false, at: start)
        #expect(!first)
        let second = gathering.mayGo(
            Gathering.messages, to: Self.crowd, hasAnswer: false, at: start)
        #expect(second)
    }
}
