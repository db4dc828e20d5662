// Driven requests and answers of more than one frame. On paper.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Driven requests and their answers in several frames")
struct DrivenFramesTests {
    @Test("a request larger than a frame may be is split, and is whole again at the other end")
    func split() throws {
        let bench = RouterBench.withRadio()
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
        let bench = RouterBench.withRadio()
        let id = try bench.sends(DrivenRPC(.listFiles))
        let correlation = try bench.heardCorrelation()
        let parts = drivenAnswer(.listFiles, correlation, limit: 15)
        #expect(parts.count > 3)
        #expect(bench.accessory(says: parts[0]) == .handled)
        #expect(bench.accessory(says: parts[1]) == .handled)
        for part in parts.dropFirst(2) {
            #expect(bench.accessory(says: part) == .drop(.answersRelay))
            // A frame in between is for the app.
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
        let bench = RouterBench.withRadio()
        _ = try bench.sends(DrivenRPC(.listFiles))
        _ = bench.heard()
        let own = Frame.rpc(session: 1, .request, .listFiles, correlation: 4)
        #expect(bench.app("radio", says: own) == .toLink)
        let parts = drivenAnswer(.listFiles, 4, limit: 15)
        #expect(bench.accessory(says: parts[0]) == .handled)
        #expect(bench.actions() == [])
        #expect(bench.accessory(says: parts[1]) == .handled)
        #expect(
            bench.actions() == [.pass(parts[0], to: "radio"), .pass(parts[1], to: "radio")])
        for part in parts.dropFirst(2) {
            #expect(bench.accessory(says: part) == .toApp("radio"))
        }
    }

    @Test(
        "an answer that stops in the middle is given up, at the deadline of who asked or after 10 s",
        arguments: [(3, 3), (60, 10)] as [(patience: Int64, waited: Int64)])
    func halfAnswer(patience: Int64, waited: Int64) throws {
        let bench = RouterBench.withRadio()
        let id = try bench.sends(DrivenRPC(.listFiles), patience: .seconds(patience))
        let parts = drivenAnswer(.listFiles, try bench.heardCorrelation(), limit: 15)
        for part in parts.prefix(3) { _ = bench.accessory(says: part) }
        #expect(bench.router.nextDeadline == bench.now + .seconds(waited))
        bench.pass(.seconds(waited) - .nanoseconds(1))
        _ = bench.actions()
        #expect(bench.answers.isEmpty)
        bench.pass(.nanoseconds(1))
        _ = bench.actions()
        #expect(bench.answers.map(\.id) == [id])
        #expect(bench.answers.first?.answer == .tooLate)
        // The app gets none of the frames that still come.
        for part in parts.dropFirst(3) {
            #expect(bench.accessory(says: part) == .drop(.answersRelay))
        }
        _ = bench.actions()
        #expect(bench.answers.count == 1 && bench.router.nextDeadline == nil)
    }
}
