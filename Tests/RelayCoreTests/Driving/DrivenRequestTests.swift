// Requests that somebody has relayd say in an app's session: their IDs, their frames, and where the answers
// go. On paper.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

/// A head unit's response, in frames of so many bytes.
private func answer(
    _ function: FunctionID, _ correlation: Int32, session: UInt8 = 1, message: UInt32 = 5,
    json: String = #"{"success":true,"resultCode":"SUCCESS"}"#, limit: Int = 131_072
) -> [Frame] {
    let rpc = DrivenRPC(function, .response, json)
    return Frame.message(
        version: 5, sessionID: session, messageID: message,
        payload: rpc.payload(correlationID: correlation), limit: limit)
}

extension RouterBench {
    fileprivate func sends(
        _ rpc: DrivenRPC = DrivenRPC(.show), session: UInt8 = 1, patience: TimeAmount = .seconds(10)
    ) throws -> OwnRequestID {
        try router.send(rpc, in: session, patience: patience, at: now)
    }

    /// Correlation ID of the RPC that the head unit has heard since the last look.
    fileprivate func heardCorrelation() throws -> Int32 {
        let frames = heard()
        let frame = try #require(frames.last { $0.type == .single } ?? frames.dropFirst().first)
        return try #require(RPCHeader(frame.payload)).correlationID
    }
}

@Suite("A driven request's correlation ID is the app's at no time")
struct DrivenIDTests {
    @Test("an ID that the app has used and is not answered is passed over")
    func passedOver() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        _ = try bench.sends()
        let first = try bench.heardCorrelation()
        _ = bench.accessory(says: answer(.show, first)[0])
        // The app comes to the range of relayd's IDs, and takes the next three.
        for next in 1...3 {
            let own = Frame.rpc(session: 1, .request, .show, correlation: first + Int32(next))
            #expect(bench.app("radio", says: own) == .toLink)
        }
        _ = bench.heard()
        _ = try bench.sends()
        let second = try bench.heardCorrelation()
        #expect(second == first + 4)
        // The app's answers are the app's.
        for next in 1...3 {
            #expect(
                bench.accessory(says: answer(.show, first + Int32(next))[0]) == .toApp("radio"))
        }
        #expect(bench.accessory(says: answer(.show, second)[0]) == .drop(.answersRelay))
    }

    @Test("an app that then asks with relayd's ID goes on with another, and hears its own")
    func replaced() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let id = try bench.sends()
        let taken = try bench.heardCorrelation()
        let own = Frame.rpc(session: 1, message: 3, .request, .show, correlation: taken)
        #expect(bench.app("radio", says: own) == .handled)
        let passed = try #require(bench.heard().first)
        let other = try #require(RPCHeader(passed.payload)).correlationID
        #expect(other != taken)
        #expect(passed == own.withCorrelationID(other))
        // The app's answer comes first.
        #expect(bench.accessory(says: answer(.show, other)[0]) == .handled)
        #expect(bench.actions() == [.pass(answer(.show, taken)[0], to: "radio")])
        #expect(bench.answers.isEmpty)
        #expect(bench.accessory(says: answer(.show, taken)[0]) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [id])
    }

    @Test("a message in several frames is told apart by its header in the second")
    func replacedInFrames() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
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
        let parts = answer(.putFile, other, limit: 20)
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
        let bench = RouterBench()
        bench.open("radio", session: 1)
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
        // All on the link differ.
        #expect(Set(waiting.keys).isDisjoint(with: mine.values))
        #expect(waiting.count == 3000 && Set(mine.values).count == 10)
        #expect(waiting.contains { $0.key != $0.value }, "the app came to one of relayd's")
        // Answers come in any order: the app hears each of its own IDs once.
        var heard: [Int32] = []
        for (sent, own) in waiting {
            switch bench.accessory(says: answer(.show, sent)[0]) {
            case .toApp: heard.append(sent)
            case .handled:
                guard case .pass(let frame, _)? = bench.actions().last,
                    let header = RPCHeader(frame.payload)
                else {
                    Issue.record("no answer to \(own)")
                    return
                }
                heard.append(header.correlationID)
            case .drop, .toLink: Issue.record("the answer to \(own) was dropped")
            }
        }
        #expect(heard.sorted() == (0..<3000).map { lowest + $0 })
        for (_, correlation) in mine {
            #expect(bench.accessory(says: answer(.show, correlation)[0]) == .drop(.answersRelay))
        }
        _ = bench.actions()
        #expect(Set(bench.answers.map(\.id)) == Set(mine.keys))
    }

    @Test("an ID that the app waits for already when relayd first asks is passed over")
    func before() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let lowest = OwnRequests.correlationIDs.lowerBound
        // Larger than what is looked at anyway.
        let json = #"{"mainField1":"\#(String(repeating: "x", count: 200))"}"#
        for number in 0..<20 as Range<Int32> {
            let request = Frame.rpc(
                session: 1, .request, .show, correlation: lowest + number, json: json)
            #expect(bench.app("radio", says: request) == .toLink)
        }
        let file = Frame.putFile(session: 1, correlation: lowest + 20, frames: 3)
        for frame in file { #expect(bench.app("radio", says: frame) == .toLink) }
        _ = bench.heard()
        let id = try bench.sends()
        let correlation = try bench.heardCorrelation()
        #expect(correlation > lowest + 20)
        for number in 0..<20 as Range<Int32> {
            #expect(bench.accessory(says: answer(.show, lowest + number)[0]) == .toApp("radio"))
        }
        #expect(bench.accessory(says: answer(.putFile, lowest + 20)[0]) == .toApp("radio"))
        #expect(bench.answers.isEmpty)
        #expect(bench.accessory(says: answer(.show, correlation)[0]) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [id])
    }

    @Test(
        "an app with thousands of unanswered requests still gets the answer to one of relayd's IDs")
    func manyUnanswered() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        _ = try bench.sends()
        let taken = try bench.heardCorrelation()
        for number in 0..<Int32(AppRequests.maximum + 10) {
            _ = bench.app(
                "radio", says: Frame.rpc(session: 1, .request, .show, correlation: number))
        }
        _ = bench.heard()
        let own = Frame.rpc(session: 1, .request, .show, correlation: taken)
        #expect(bench.app("radio", says: own) == .handled)
        let other = try bench.heardCorrelation()
        #expect(bench.accessory(says: answer(.show, other)[0]) == .handled)
        #expect(bench.actions() == [.pass(answer(.show, taken)[0], to: "radio")])
    }

    @Test("a message that the app has half said keeps its number for itself")
    func messageIDs() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
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
        let bench = RouterBench()
        bench.open("radio", session: 1)
        bench.open("maps", session: 2)
        _ = try bench.sends()
        let taken = try bench.heardCorrelation()
        let large = #"{"mainField1":"\#(String(repeating: "x", count: 200))"}"#
        let usual = Frame.rpc(session: 2, .request, .show, correlation: 70_000, json: large)
        #expect(bench.app("maps", says: usual) == .toLink)
        #expect(bench.router.routes[2].examinedPayload != .max)
        // relayd's ID in the other session is the app's own here.
        let request = Frame.rpc(session: 2, .request, .show, correlation: taken, json: large)
        #expect(bench.app("maps", says: request) == .toLink)
        let response = answer(.show, taken, session: 2)[0]
        #expect(bench.accessory(says: response) == .toApp("maps"))
    }
}

@Suite("Driven requests and their answers in several frames")
struct DrivenFramesTests {
    @Test("a request larger than a frame may be is split, and is whole again at the other end")
    func split() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let bulk = ByteBuffer(bytes: (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        _ = try bench.sends(DrivenRPC(.putFile, .request, #"{"syncFileName":"a"}"#, bulk: bulk))
        let frames = bench.heard()
        #expect(frames.map(\.type) == [.first, .consecutive, .consecutive, .consecutive])
        #expect(frames.map(\.info) == [0, 1, 2, 0])
        #expect(frames.allSatisfy { $0.service == .bulk && $0.payloadBytes <= 131_072 - 12 })
        #expect(Set(frames.map(\.messageID)).count == 1)
        var assembler = MessageAssembler()
        var whole: RPCMessage?
        for frame in frames {
            guard case .message(let message, let problem) = assembler.receive(frame, at: 0) else {
                continue
            }
            #expect(problem == nil)
            whole = try RPCMessage(message)
        }
        #expect(whole?.bulk == bulk && whole?.functionID == .putFile)
    }

    @Test("frames are numbered 1 to 255, then 1 again", arguments: [254, 255, 256, 257, 600])
    func numbers(count: Int) {
        let frames = Frame.message(
            version: 5, sessionID: 1, messageID: 9,
            payload: ByteBuffer(repeating: 1, count: count * 20), limit: 20)
        #expect(frames.count == count + 1)
        #expect(frames.last?.info == 0)
        for (index, frame) in frames.dropFirst().dropLast().enumerated() {
            #expect(frame.info == UInt8(index % 255 + 1))
        }
        var assembler = MessageAssembler()
        let outcomes = frames.map { assembler.receive($0, at: 0) }
        guard case .message(let message, nil)? = outcomes.last else {
            Issue.record("not whole")
            return
        }
        #expect(message.payload.readableBytes == count * 20)
    }

    @Test("an answer in several frames reaches who asked, whole, and the app nothing of it")
    func answerInFrames() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let id = try bench.sends(DrivenRPC(.listFiles))
        let correlation = try bench.heardCorrelation()
        let parts = answer(.listFiles, correlation, limit: 15)
        #expect(parts.count > 3)
        #expect(bench.accessory(says: parts[0]) == .handled)
        #expect(bench.accessory(says: parts[1]) == .handled)
        for part in parts.dropFirst(2) {
            #expect(bench.accessory(says: part) == .drop(.answersRelay))
            // What comes between is the app's.
            let other = Frame.rpc(session: 1, .notification, .onHMIStatus, correlation: 0)
            #expect(bench.accessory(says: other) == .toApp("radio"))
        }
        #expect(bench.actions() == parts.prefix(2).map { .dropped($0, .answersRelay) })
        guard case .response(let message)? = bench.answers.first?.answer else {
            Issue.record("\(bench.answers)")
            return
        }
        #expect(bench.answers.map(\.id) == [id])
        let rpc = try RPCMessage(message)
        #expect(rpc.correlationID == correlation && RPCOutcome(rpc)?.success == true)
    }

    @Test("the app's answer in several frames reaches the app, all of it and in order")
    func appsAnswerInFrames() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        _ = try bench.sends(DrivenRPC(.listFiles))
        _ = bench.heard()
        let own = Frame.rpc(session: 1, .request, .listFiles, correlation: 4)
        #expect(bench.app("radio", says: own) == .toLink)
        let parts = answer(.listFiles, 4, limit: 15)
        #expect(bench.accessory(says: parts[0]) == .handled)
        #expect(bench.actions() == [])
        #expect(bench.accessory(says: parts[1]) == .handled)
        #expect(
            bench.actions() == [.pass(parts[0], to: "radio"), .pass(parts[1], to: "radio")])
        for part in parts.dropFirst(2) {
            #expect(bench.accessory(says: part) == .toApp("radio"))
        }
    }

    @Test("an answer that stops in the middle is given up")
    func halfAnswer() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let id = try bench.sends(DrivenRPC(.listFiles), patience: .seconds(3))
        let parts = answer(.listFiles, try bench.heardCorrelation(), limit: 15)
        for part in parts.prefix(3) { _ = bench.accessory(says: part) }
        // It has begun in time.
        bench.pass(.seconds(5))
        _ = bench.actions()
        #expect(bench.answers.isEmpty)
        #expect(bench.router.nextDeadline != nil)
        bench.pass(.seconds(6))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [id])
        #expect(bench.answers.first?.answer == .tooLate)
    }
}

@Suite("When nobody answers a driven request")
struct DrivenTimeTests {
    @Test("who asked is told at its deadline, and a late answer reaches nobody, once")
    func late() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let id = try bench.sends(patience: .seconds(2))
        let correlation = try bench.heardCorrelation()
        #expect(bench.router.nextDeadline == bench.now + .seconds(2))
        bench.pass(.seconds(2))
        _ = bench.actions()
        #expect(bench.answers.map(\.answer) == [.tooLate] && bench.answers.map(\.id) == [id])
        #expect(bench.router.nextDeadline == nil)
        bench.pass(.seconds(300))
        let late = answer(.show, correlation)[0]
        #expect(bench.accessory(says: late) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.count == 1)
        #expect(
            bench.events.contains(.lateAnswer("radio", session: 1, .show)), "\(bench.events)")
        // A head unit that answers twice: the app has asked nothing of the kind.
        #expect(bench.accessory(says: late) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.count == 1)
    }

    @Test("a second answer reaches nobody, until the app itself asks with that ID")
    func twice() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        _ = try bench.sends()
        let correlation = try bench.heardCorrelation()
        let frame = answer(.show, correlation)[0]
        #expect(bench.accessory(says: frame) == .drop(.answersRelay))
        #expect(bench.accessory(says: frame) == .drop(.answersRelay))
        let request = Frame.rpc(session: 1, message: 9, .request, .show, correlation: correlation)
        #expect(bench.app("radio", says: request) == .handled)
        let other = try bench.heardCorrelation()
        #expect(other != correlation)
        // A third one is still no answer to the app's.
        #expect(bench.accessory(says: frame) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.accessory(says: answer(.show, other)[0]) == .handled)
        #expect(bench.actions() == [.pass(frame, to: "radio")])
        #expect(bench.answers.count == 1)
    }

    @Test("a second answer in several frames reaches nobody either, also behind a single one")
    func twiceInFrames() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        _ = try bench.sends()
        let correlation = try bench.heardCorrelation()
        #expect(bench.accessory(says: answer(.show, correlation)[0]) == .drop(.answersRelay))
        let parts = answer(.show, correlation, message: 6, limit: 20)
        #expect(parts.count > 3)
        #expect(bench.accessory(says: parts[0]) == .handled)
        #expect(bench.accessory(says: parts[1]) == .handled)
        #expect(
            bench.actions() == [
                .dropped(parts[0], .answersRelay), .dropped(parts[1], .answersRelay),
            ])
        for part in parts.dropFirst(2) {
            #expect(bench.accessory(says: part) == .drop(.answersRelay))
        }
        #expect(bench.answers.count == 1)
        // The next message with the same number is the app's, and whole.
        let own = answer(.show, 3, message: 6, limit: 20)
        #expect(bench.accessory(says: own[0]) == .handled)
        #expect(bench.accessory(says: own[1]) == .handled)
        #expect(bench.actions() == [.pass(own[0], to: "radio"), .pass(own[1], to: "radio")])
        for part in own.dropFirst(2) {
            #expect(bench.accessory(says: part) == .toApp("radio"))
        }
    }

    @Test("the app leaves in the middle: an answer before the end of the session is still told")
    func ownerGone() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let id = try bench.sends()
        let correlation = try bench.heardCorrelation()
        bench.router.disconnect("radio", at: bench.now)
        #expect(bench.heard().map(\.controlType) == [.endService])
        #expect(bench.accessory(says: answer(.show, correlation)[0]) == .drop(.answersRelay))
        _ = bench.heard()
        #expect(bench.answers.map(\.id) == [id])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        _ = bench.heard()
        #expect(bench.answers.count == 1)
    }

    @Test("an answer that comes behind the end of its session does not reach the next app")
    func nextApp() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let id = try bench.sends(DrivenRPC(.listFiles))
        let correlation = try bench.heardCorrelation()
        bench.router.disconnect("radio", at: bench.now)
        _ = bench.heard()
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        _ = bench.heard()
        #expect(bench.answers.map(\.id) == [id])
        #expect(bench.answers.first?.answer == .sessionOver)
        bench.open("maps", session: 1)
        // Its own message IDs, so that nothing else tells it from the new session's.
        let parts = answer(.listFiles, correlation, message: 3, limit: 15)
        for part in parts {
            let decision = bench.accessory(says: part)
            #expect(decision == .drop(.answersRelay) || decision == .handled)
        }
        #expect(bench.actions() == parts.prefix(2).map { .dropped($0, .answersRelay) })
        #expect(bench.events.contains(.lateAnswer("maps", session: 1, .listFiles)))
    }

    @Test("two who ask at once each get their own answer, in whatever order they come")
    func two() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let first = try bench.sends()
        let one = try bench.heardCorrelation()
        let second = try bench.sends()
        let other = try bench.heardCorrelation()
        #expect(one != other)
        let refusal = answer(.show, other, json: #"{"success":false,"resultCode":"REJECTED"}"#)[0]
        #expect(bench.accessory(says: refusal) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [second])
        #expect(bench.accessory(says: answer(.show, one)[0]) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [second, first])
    }

    @Test("the link breaks in the middle: who asked is told once, and the next link owes nothing")
    func linkBreaks() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let id = try bench.sends()
        let correlation = try bench.heardCorrelation()
        let half = try bench.sends(DrivenRPC(.listFiles))
        let parts = answer(.listFiles, try bench.heardCorrelation(), limit: 15)
        for part in parts.prefix(3) { _ = bench.accessory(says: part) }
        bench.router.linkClosed(reason: "cut", at: bench.now)
        _ = bench.actions()
        #expect(Set(bench.answers.map(\.id)) == [id, half] && bench.answers.count == 2)
        #expect(bench.answers.allSatisfy { $0.answer == .sessionOver })
        bench.router.linkOpened(at: bench.now)
        bench.open("maps", session: 1)
        // What the next app asks is its own, whatever number it has.
        let own = Frame.rpc(session: 1, .request, .show, correlation: correlation)
        #expect(bench.app("maps", says: own) == .toLink)
        #expect(bench.accessory(says: answer(.show, correlation)[0]) == .toApp("maps"))
        bench.pass(.seconds(60))
        _ = bench.actions()
        #expect(bench.answers.count == 2)
    }

    @Test("a refusal that names no function is an answer; one that names no request is none")
    func genericResponse() throws {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        let id = try bench.sends(patience: .seconds(2))
        let correlation = try bench.heardCorrelation()
        let refused = #"{"success":false,"resultCode":"INVALID_DATA"}"#
        let nameless = answer(.genericResponse, 0, json: refused)[0]
        #expect(bench.accessory(says: nameless) == .toApp("radio"))
        let generic = answer(.genericResponse, correlation, json: refused)[0]
        #expect(bench.accessory(says: generic) == .drop(.answersRelay))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [id])
    }

    @Test("what cannot be said is refused at once, with the reason")
    func refused() throws {
        let bench = RouterBench { $0.messageBytes = 100_000 }
        #expect(throws: DriveRefusal.noSession) { try bench.sends() }
        bench.router.connect("old")
        _ = bench.app("old", says: .startService())
        _ = bench.actions()
        let grant = Frame(
            version: 1, type: .control, service: .rpc,
            info: ControlFrameType.startServiceACK.rawValue, sessionID: 1)
        _ = bench.accessory(says: grant)
        _ = bench.heard()
        #expect(throws: DriveRefusal.oldProtocol(session: 1)) { try bench.sends() }
        #expect(throws: DriveRefusal.oldProtocol(session: 1)) {
            try bench.router.inject(
                DrivenRPC(.onHMIStatus, .notification), in: 1, patience: .seconds(1),
                at: bench.now)
        }
        bench.open("radio", session: 2)
        let large = DrivenRPC(
            .putFile, .request, "{}", bulk: ByteBuffer(repeating: 0, count: 100_000))
        #expect(throws: DriveRefusal.tooLarge(bytes: 100_014, limit: 100_000)) {
            try bench.sends(large, session: 2)
        }
        for _ in 0..<OwnRequests.limitPerSession { _ = try bench.sends(session: 2) }
        #expect(throws: DriveRefusal.tooMany(limit: OwnRequests.limitPerSession)) {
            try bench.sends(session: 2)
        }
        bench.router.linkClosed(reason: "cut", at: bench.now)
        #expect(throws: DriveRefusal.noLink) { try bench.sends(session: 2) }
        #expect(bench.router.nextDeadline == nil)
    }
}
