// What happens to a message that its app never finishes.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Half messages are ended before anybody else can continue them")
struct HalfMessagesTests {
    private typealias Bench = RouterBench

    private func bytes(_ frame: Frame?) -> [UInt8] {
        frame.map { Array($0.wire.readableBytesView) } ?? []
    }

    private func answer(
        _ correlation: Int32, function: FunctionID = .putFile, session: UInt8 = 1
    ) -> Frame {
        .rpc(session: session, .response, function, correlation: correlation)
    }

    private var unknownRequest: FunctionID { FunctionID(rawValue: 0xFFFF) }

    // MARK: An app is gone

    @Test(
        "an app gone with a half message: the message is ended, its refusal swallowed, then the end"
    )
    func ended() {
        for service in [ServiceType.bulk, .rpc] {
            let bench = Bench()
            bench.open("music", session: 1)
            bench.begin("music", session: 1, service: service, frames: 1)
            bench.router.disconnect("music", at: bench.now)
            let closing = bench.heard()
            #expect(closing.count == 1)
            #expect(
                bytes(closing.first) == [
                    0x53, service.rawValue, 0x00, 0x01,  // consecutive, the last
                    0, 0, 0, 13, 0, 0, 0, 77,  // 13 bytes, message ID 77
                    0, 0, 0xFF, 0xFF, 0, 0, 0, 7, 0, 0, 0, 0,  // unknown request, PutFile's ID
                    0,
                ])
            #expect(bench.accessory(says: answer(3)) == .drop(.farewell(1)))
            #expect(bench.heard() == [])
            #expect(bench.accessory(says: answer(7)) == .drop(.farewell(1)))
            #expect(bench.heard().map(\.controlType) == [.endService])
            guard
                case .messageEnded("music", let message) = bench.events.first(where: {
                    if case .messageEnded = $0 { true } else { false }
                })
            else {
                Issue.record("nobody was told")
                continue
            }
            let text = RelayNotice.messageEnded(message).description
            #expect(
                text == "left in the middle of PutFile #7 (1 of 3 frames); relayd ended it so that "
                    + "the next app's files are not mixed with it")
        }
    }

    @Test("only the first frame had passed: the end is a whole unknown request")
    func firstFrameOnly() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 0)
        bench.router.disconnect("music", at: bench.now)
        let closing = bench.heard().first
        let header = closing.flatMap { RPCHeader($0.payload) }
        #expect(header?.functionID == 0xFFFF)
        #expect(header?.correlationID == Bench.Router.messageEndCorrelationID)
        let refusal = answer(Bench.Router.messageEndCorrelationID, function: unknownRequest)
        #expect(bench.accessory(says: refusal) == .drop(.farewell(1)))
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test("the end never fills the message", arguments: [12, 13, 14, 100])
    func neverFills(missing: Int) throws {
        var halves = HalfMessages()
        let frames = Frame.putFile(session: 1, frames: 3)
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(100 + missing))
        announcement.writeInteger(UInt32(2))
        let first = Frame(
            version: 5, type: .first, service: .bulk, sessionID: 1, messageID: 77,
            payload: announcement)
        let displaced = [
            halves.willWrite(first, at: .uptimeNanoseconds(1)),
            halves.willWrite(frames[1], at: .uptimeNanoseconds(1)),
        ]
        #expect(displaced == [nil, nil])
        let half = try #require(halves.unfinished(of: 1).first)
        let length = half.ending(correlationID: 1).payloadBytes
        #expect(length == (missing == 13 ? 14 : 13))
    }

    @Test("no answer comes: the goodbye goes on after a moment")
    func unanswered() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 2)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().count == 1)
        #expect(
            bench.router.nextDeadline == bench.now + bench.router.configuration.messageEndTimeout)
        bench.pass(bench.router.configuration.messageEndTimeout)
        #expect(bench.heard().map(\.controlType) == [.endService])
        // It is expected for no longer than other late frames: the next app may use the same
        // correlation ID.
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        bench.pass(bench.router.configuration.lateWordsWindow)
        #expect(bench.accessory(says: answer(7)) == .toApp("maps"))
    }

    @Test("a refusal that an acknowledgement has overtaken does not reach the next app")
    func overtakenRefusal() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 1)
        bench.router.disconnect("music", at: bench.now)
        _ = bench.heard()
        // The end of the message still waits in the kernel when relayd goes on.
        bench.pass(bench.router.configuration.messageEndTimeout)
        #expect(bench.heard().map(\.controlType) == [.endService])
        bench.pass(.milliseconds(78))
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        #expect(bench.accessory(says: answer(7)) == .drop(.farewell(1)))
        #expect(bench.accessory(says: answer(7)) == .toApp("maps"), "one was due")
    }

    @Test("the end of a v1 message has no answer to be told by: it is given the time for one")
    func version1() {
        let bench = Bench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        let ack = Frame(version: 1, type: .control, service: .rpc, info: 2, sessionID: 1)
        #expect(bench.accessory(says: ack) == .toApp("music"))
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(300))
        announcement.writeInteger(UInt32(3))
        _ = bench.app(
            "music",
            says: Frame(
                version: 1, type: .first, service: .rpc, sessionID: 1, payload: announcement))
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.type) == [.consecutive])
        let refusal = Frame.rpcV1(
            sessionID: 1, type: .response, name: "GenericResponse", correlationID: 0)
        #expect(bench.accessory(says: refusal) == .drop(.farewell(1)))
        #expect(bench.heard() == [])
        bench.pass(bench.router.configuration.messageEndTimeout)
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test("a half response is ended, and no answer to it awaited")
    func halfResponse() {
        let bench = Bench()
        bench.open("music", session: 1)
        var payload = ByteBuffer()
        RPCHeader(type: .response, functionID: 5, correlationID: 7, jsonBytes: 88).write(
            to: &payload)
        payload.writeRepeatingByte(0x20, count: 88)
        _ = bench.app("music", says: Frame.putFile(session: 1, frames: 3)[0])
        _ = bench.app(
            "music",
            says: Frame(
                version: 5, type: .consecutive, service: .bulk, info: 1, sessionID: 1,
                messageID: 77, payload: payload))
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.type) == [.consecutive, .control])
    }

    @Test("several half messages of an app are all ended, and all answers awaited")
    func several() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, service: .bulk, message: 5, frames: 1, correlation: 50)
        bench.begin("music", session: 1, service: .rpc, message: 6, frames: 1, correlation: 60)
        bench.open("maps", session: 2)
        bench.begin("maps", session: 2, frames: 1)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.messageID) == [5, 6])
        _ = bench.accessory(says: answer(60))
        #expect(bench.heard() == [])
        _ = bench.accessory(says: answer(50))
        #expect(bench.heard().map(\.controlType) == [.endService])
        #expect(bench.router.halves.count(of: 2) == 1)
    }

    @Test("whole messages leave nothing to end")
    func whole() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 3)
        #expect(bench.router.halves.isEmpty)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test("an encrypted half message cannot be ended: the head unit must forget it first")
    func encrypted() {
        let bench = Bench()
        bench.open("music", session: 1)
        let frames = Frame.putFile(session: 1, frames: 3)
        _ = bench.app("music", says: frames[0])
        _ = bench.app(
            "music",
            says: Frame(
                version: 5, isEncrypted: true, type: .consecutive, service: .bulk, info: 1,
                sessionID: 1, messageID: 77, payload: ByteBuffer(repeating: 1, count: 50)))
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        // Unregistered, so that the app may register again at once in another session.
        #expect(bench.heard().map { RPCHeader($0.payload)?.functionID } == [2])
        _ = bench.accessory(
            says: .rpc(
                session: 1, .response, .unregisterAppInterface,
                correlation: Bench.Router.farewellCorrelationID))
        bench.pass(.milliseconds(10_900))
        #expect(bench.heard() == [])
        bench.pass(.milliseconds(100))
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    // MARK: An app that is still there

    @Test("an app that ends its session in the middle of a message ends the message first")
    func endsItsSession() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 1)
        let end = Frame.endService(version: 5, sessionID: 1, hashID: 0x1_0005)
        _ = bench.app("music", says: end)
        #expect(bench.heard().map(\.type) == [.consecutive])
        #expect(bench.accessory(says: answer(7)) == .drop(.farewell(1)))
        #expect(bench.heard() == [end])
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .toApp("music"))
    }

    @Test("a message begun again: the former one is ended before, and its refusal swallowed")
    func restarted() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 1)
        let again = Frame.putFile(session: 1, frames: 3, filledWith: 0x79)
        for frame in again { #expect(bench.app("music", says: frame) == .toLink) }
        let heard = bench.heard()
        #expect(heard.first?.info == 0 && heard.first?.payloadBytes == 13)
        #expect(Array(heard.dropFirst()) == again)
        // The first answer is the refusal, although both have the same correlation ID.
        #expect(bench.accessory(says: answer(7)) == .drop(.farewell(1)))
        #expect(bench.accessory(says: answer(7)) == .toApp("music"))
    }

    @Test(
        "a message begun again after a long silence: the head unit still holds the former one",
        arguments: [UInt8(1), 5])
    func restartedAfterPause(version: UInt8) {
        let bench = Bench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        _ = bench.accessory(
            says: version == 1
                ? Frame(version: 1, type: .control, service: .rpc, info: 2, sessionID: 1)
                : .startServiceACK(session: 1))
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(300))
        announcement.writeInteger(UInt32(3))
        let first = Frame(
            version: version, type: .first, service: .rpc, sessionID: 1,
            messageID: version == 1 ? 0 : 77, payload: announcement)
        let second = Frame(
            version: version, type: .consecutive, service: .rpc, info: 1, sessionID: 1,
            messageID: version == 1 ? 0 : 77, payload: ByteBuffer(repeating: 0x20, count: 100))
        for frame in [first, second] { _ = bench.app("music", says: frame) }
        _ = bench.heard()
        bench.pass(.seconds(11))
        _ = bench.app("music", says: first)
        let heard = bench.heard()
        #expect(heard.map(\.type) == [.consecutive, .first])
        #expect(heard.first?.info == 0)
    }

    @Test("a message whose end is said twice is refused once: the next app loses no answer")
    func endedTwice() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 1)
        bench.waiting = [1]
        bench.router.disconnect("music", at: bench.now)
        _ = bench.heard()
        // The head unit has ended the session by itself, and grants its number while no app waits.
        _ = bench.accessory(says: .startServiceACK(session: 1))
        #expect(bench.heard().first?.type == .consecutive)
        #expect(bench.accessory(says: answer(7)) == .drop(.farewell(1)))
        bench.pass(bench.router.configuration.messageEndTimeout)
        #expect(bench.heard().last?.controlType == .endService)
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        #expect(bench.accessory(says: answer(7)) == .toApp("maps"))
    }

    @Test("a session has a bounded number of messages under way: the oldest is ended for one more")
    func bounded() {
        let bench = Bench()
        bench.open("music", session: 1)
        for message in UInt32(1)...100 {
            bench.begin("music", session: 1, message: message, frames: 0)
        }
        #expect(bench.router.halves.count(of: 1) == HalfMessages.limitPerSession)
    }

    @Test("the number is granted again without an end: what the former app left half is ended")
    func takenOver() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 1)
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        _ = bench.heard()
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        #expect(bench.purgedSessions() == [1])
        let heard = bench.heard()
        #expect(heard.map(\.messageID) == [77])
        #expect(heard.map(\.payloadBytes) == [13])
        #expect(bench.accessory(says: answer(7)) == .drop(.farewell(1)))
        #expect(bench.accessory(says: answer(7)) == .toApp("maps"))
    }

    @Test("the head unit ends the session: half messages are ended before relayd answers")
    func endedByAccessory() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 1)
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.type) == [.consecutive])
        _ = bench.accessory(says: answer(7))
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test("frames out of order are not counted: the head unit drops them")
    func outOfOrder() throws {
        var halves = HalfMessages()
        let frames = Frame.putFile(session: 1, frames: 4)
        _ = halves.willWrite(frames[0], at: .uptimeNanoseconds(1))
        _ = halves.willWrite(frames[2], at: .uptimeNanoseconds(1))
        _ = halves.willWrite(frames[1], at: .uptimeNanoseconds(1))
        let half = try #require(halves.unfinished(of: 1).first)
        #expect(half.frames == 1 && half.bytes == 100 && half.correlationID == 7)
    }
}
