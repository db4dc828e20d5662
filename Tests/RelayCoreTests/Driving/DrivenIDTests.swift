// The IDs of what relayd is told to say in an app's session. On paper.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("A driven request's correlation ID is the app's at no time")
struct DrivenIDTests {
    @Test("an ID that the app has used and is not answered is passed over")
    func passedOver() throws {
        let bench = RouterBench.withRadio()
        let (_, first) = try bench.asks()
        _ = bench.accessory(says: drivenAnswer(.show, first)[0])
        // The app reaches the range of relayd's IDs, and uses the next three.
        for next in 1...3 {
            let own = Frame.rpc(session: 1, .request, .show, correlation: first + Int32(next))
            #expect(bench.app("radio", says: own) == .toLink)
        }
        _ = bench.heard()
        let (_, second) = try bench.asks()
        #expect(second == first + 4)
        // The answers to the app reach the app.
        for next in 1...3 {
            #expect(
                bench.accessory(says: drivenAnswer(.show, first + Int32(next))[0])
                    == .toApp("radio"))
        }
        #expect(bench.accessory(says: drivenAnswer(.show, second)[0]) == .drop(.answersRelay))
    }

    @Test("an app that then asks with relayd's ID goes on with another, and hears its own")
    func replaced() throws {
        let bench = RouterBench.withRadio()
        let (id, taken) = try bench.asks()
        let own = Frame.rpc(session: 1, message: 3, .request, .show, correlation: taken)
        #expect(bench.app("radio", says: own) == .handled)
        let passed = try #require(bench.heard().first)
        let other = try #require(RPCHeader(passed.payload)).correlationID
        #expect(other != taken)
        #expect(passed == own.withCorrelationID(other))
        // The app's answer comes first.
        #expect(bench.accessory(says: drivenAnswer(.show, other)[0]) == .handled)
        #expect(bench.actions() == [.pass(drivenAnswer(.show, taken)[0], to: "radio")])
        #expect(bench.answers.isEmpty)
        #expect(bench.accessory(says: drivenAnswer(.show, taken)[0]) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [id])
    }

    @Test("a message in several frames is told apart by its header in the second")
    func replacedInFrames() throws {
        let bench = RouterBench.withRadio()
        _ = try bench.sends(DrivenRPC(.putFile))
        let taken = try bench.heardCorrelation()
        let frames = Frame.putFile(session: 1, correlation: taken, frames: 3)
        #expect(bench.app("radio", says: frames[0]) == .toLink)
        #expect(bench.app("radio", says: frames[1]) == .handled)
        let changed = try #require(bench.heard().last)
        #expect(bench.app("radio", says: frames[2]) == .toLink)
        #expect(bench.app("radio", says: frames[3]) == .toLink)
        let other = try #require(RPCHeader(changed.payload)).correlationID
        #expect(other != taken)
        #expect(changed == frames[1].withCorrelationID(other))
        // Its answer comes in several frames as well.
        let parts = drivenAnswer(.putFile, other, limit: 20)
        #expect(bench.accessory(says: parts[0]) == .handled)
        #expect(bench.accessory(says: parts[1]) == .handled)
        let restored = parts[1].withCorrelationID(taken)
        #expect(
            bench.actions() == [.pass(parts[0], to: "radio"), .pass(restored, to: "radio")])
        for part in parts.dropFirst(2) {
            #expect(bench.accessory(says: part) == .toApp("radio"))
        }
    }

    @Test("an app that uses a whole range of IDs beside driven requests loses no answer")
    func wholeRange() throws {
        let bench = RouterBench.withRadio()
        let lowest = OwnRequests.correlationIDs.lowerBound
        var waiting: [Int32: Int32] = [:]
        var mine: [OwnRequestID: Int32] = [:]
        for step in 0..<3000 {
            if step % 300 == 0 {
                let id = try bench.sends()
                mine[id] = try bench.heardCorrelation()
            }
            let wanted = lowest + Int32(step)
            let request = Frame.rpc(session: 1, .request, .show, correlation: wanted)
            if case .toLink = bench.app("radio", says: request) {
                waiting[wanted] = wanted
                _ = bench.heard()
            } else {
                let sent = try bench.heardCorrelation()
                waiting[sent] = wanted
            }
        }
        // All IDs on the link differ.
        #expect(Set(waiting.keys).isDisjoint(with: mine.values))
        #expect(waiting.count == 3000 && Set(mine.values).count == 10)
        #expect(waiting.contains { $0.key != $0.value }, "the app came to one of relayd's")
        // Answers come in any order: the app hears each of its own IDs once.
        var heard: [Int32] = []
        for (sent, own) in waiting {
            switch bench.accessory(says: drivenAnswer(.show, sent)[0]) {
            case .toApp: heard.append(sent)
            case .handled:
                guard case .pass(let frame, _)? = bench.actions().last,
                    let header = RPCHeader(frame.payload)
                else {
                    Issue.record("no answer to \(own)")
                    return
                }
                heard.append(header.correlationID)
            case .drop, .toLink, .waits: Issue.record("the answer to \(own) was dropped")
            }
        }
        #expect(heard.sorted() == (0..<3000).map { lowest + $0 })
        for (_, correlation) in mine {
            #expect(
                bench.accessory(says: drivenAnswer(.show, correlation)[0]) == .drop(.answersRelay))
        }
        _ = bench.actions()
        #expect(Set(bench.answers.map(\.id)) == Set(mine.keys))
    }

    @Test("an ID that the app waits for already when relayd first asks is passed over")
    func before() throws {
        let bench = RouterBench.withRadio()
        let lowest = OwnRequests.correlationIDs.lowerBound
        // Larger than messages that are looked at anyway.
        let json = #"{"mainField1":"\#(String(repeating: "x", count: 200))"}"#
        for number in 0..<20 as Range<Int32> {
            let request = Frame.rpc(
                session: 1, .request, .show, correlation: lowest + number, json: json)
            #expect(bench.app("radio", says: request) == .toLink)
        }
        let file = Frame.putFile(session: 1, correlation: lowest + 20, frames: 3)
        for frame in file { #expect(bench.app("radio", says: frame) == .toLink) }
        _ = bench.heard()
        let (id, correlation) = try bench.asks()
        #expect(correlation > lowest + 20)
        for number in 0..<20 as Range<Int32> {
            #expect(
                bench.accessory(says: drivenAnswer(.show, lowest + number)[0]) == .toApp("radio"))
        }
        #expect(bench.accessory(says: drivenAnswer(.putFile, lowest + 20)[0]) == .toApp("radio"))
        #expect(bench.answers.isEmpty)
        #expect(bench.accessory(says: drivenAnswer(.show, correlation)[0]) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [id])
    }

    @Test(
        "an app with thousands of unanswered requests still gets the answer to one of relayd's IDs")
    func manyUnanswered() throws {
        let bench = RouterBench.withRadio()
        let (_, taken) = try bench.asks()
        for number in 0..<Int32(AppRequests.maximum + 10) {
            _ = bench.app(
                "radio", says: Frame.rpc(session: 1, .request, .show, correlation: number))
        }
        _ = bench.heard()
        let own = Frame.rpc(session: 1, .request, .show, correlation: taken)
        #expect(bench.app("radio", says: own) == .handled)
        let other = try bench.heardCorrelation()
        #expect(bench.accessory(says: drivenAnswer(.show, other)[0]) == .handled)
        #expect(bench.actions() == [.pass(drivenAnswer(.show, taken)[0], to: "radio")])
    }

    @Test("a message that the app has half said keeps its number for itself")
    func messageIDs() throws {
        let bench = RouterBench.withRadio()
        let lowest = OwnRequests.messageIDs.lowerBound
        for number in 1...3 as ClosedRange<UInt32> {
            let half = Frame.message(
                session: 1, service: .bulk, message: lowest + number, frames: 3, bytes: 100)
            #expect(bench.app("radio", says: half[0]) == .toLink)
        }
        _ = bench.heard()
        _ = try bench.sends()
        #expect(bench.heard().map(\.messageID) == [lowest + 4])
    }

    @Test("an app that nobody drives is not looked at")
    func undriven() throws {
        let bench = RouterBench.withRadio()
        bench.open("maps", session: 2)
        let (_, taken) = try bench.asks()
        let large = #"{"mainField1":"\#(String(repeating: "x", count: 200))"}"#
        let usual = Frame.rpc(session: 2, .request, .show, correlation: 70_000, json: large)
        #expect(bench.app("maps", says: usual) == .toLink)
        #expect(bench.router.routes[2].examinedPayload != .max)
        // relayd's ID in the other session is the app's own here.
        let request = Frame.rpc(session: 2, .request, .show, correlation: taken, json: large)
        #expect(bench.app("maps", says: request) == .toLink)
        let response = drivenAnswer(.show, taken, session: 2)[0]
        #expect(bench.accessory(says: response) == .toApp("maps"))
    }
}
