// What happens to a message whose app pauses for longer than the head unit keeps its half.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite(
    "A message that pauses for too long is refused by the head unit, and its refusal is its app's")
struct LateMessagesTests {
    private typealias Bench = RouterBench

    /// sdl_core's answer to a message that it has given up.
    private func refusal(session: UInt8 = 1) -> Frame {
        .rpc(
            session: session, .response, .putFile, correlation: 7,
            json: #"{"success":false,"resultCode":"INVALID_DATA"}"#)
    }

    /// An app in session 1 that has sent `frames` frames after the first one of a message.
    private func begun(frames: Int) -> (bench: Bench, frames: [Frame]) {
        let bench = Bench()
        bench.open("music", session: 1)
        return (bench, bench.begin("music", session: 1, frames: frames))
    }

    /// An app that goes on with a message of three frames after a pause, and finishes it.
    private func late(after pause: TimeAmount) -> Bench {
        let (bench, frames) = begun(frames: 1)
        bench.pass(pause)
        for frame in frames.dropFirst(2) { _ = bench.app("music", says: frame) }
        #expect(bench.heard() == Array(frames.dropFirst(2)))
        return bench
    }

    private func told(_ bench: Bench) -> [String] {
        bench.events.compactMap {
            guard case .messageEnded(_, let message) = $0 else { return nil }
            return RelayNotice.messageEnded(message).description
        }
    }

    @Test("its developer is told once; its refusal reaches it, and it leaves as ever")
    func refused() {
        let bench = late(after: .seconds(10))
        #expect(
            told(bench) == [
                "paused for 10 s or more in the middle of PutFile #7 (1 of 3 frames); sdl_core "
                    + "refuses such a message, unless no app has sent anything meanwhile"
            ])
        #expect(bench.accessory(says: refusal()) == .toApp("music"))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test(
        "an app that leaves before the refusal: it is waited for, and does not reach the next app")
    func leaves() {
        let bench = late(after: .seconds(10))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [])
        #expect(
            bench.router.nextDeadline == bench.now + bench.router.configuration.messageEndTimeout)
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test("no refusal comes: the goodbye goes on after a moment, and what comes late is swallowed")
    func unanswered() {
        let bench = late(after: .seconds(10))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [])
        bench.pass(bench.router.configuration.messageEndTimeout)
        #expect(bench.heard().map(\.controlType) == [.endService])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
        #expect(bench.accessory(says: refusal()) == .toApp("maps"), "one was due")
    }

    @Test("the number is granted again without an end: the refusal does not reach the next app")
    func takenOver() {
        let bench = late(after: .seconds(10))
        bench.open("maps", session: 1)
        #expect(bench.heard() == [])
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
    }

    @Test("a shorter pause is nobody's business")
    func inTime() {
        let bench = late(after: .milliseconds(9999))
        #expect(told(bench) == [])
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    /// An app that pauses in a message, goes on, and does not finish it.
    private func stopped() -> Bench {
        let (bench, frames) = begun(frames: 1)
        bench.pass(.seconds(11))
        _ = bench.app("music", says: frames[2])
        _ = bench.heard()
        return bench
    }

    @Test("one that pauses and then stops is ended as any other, and nothing of it stays behind")
    func stops() {
        let bench = stopped()
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.type) == [.consecutive])
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
        #expect(bench.heard().map(\.controlType) == [.endService])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        #expect(bench.router.halves.isEmpty)
        bench.open("maps", session: 1)
        #expect(
            bench.accessory(says: refusal()) == .toApp("maps"), "the failure of its own request")
    }

    @Test("the number is granted again in the middle of a late message: one refusal is swallowed")
    func stopsTakenOver() {
        let bench = stopped()
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        _ = bench.heard()
        _ = bench.accessory(says: .startServiceACK(session: 1))
        #expect(bench.heard().map(\.type) == [.consecutive])
        #expect(bench.router.halves.isEmpty)
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
        #expect(bench.accessory(says: refusal()) == .toApp("maps"))
        bench.router.disconnect("maps", at: bench.now)
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test("a late message may succeed when nothing else has come meanwhile: that is its answer too")
    func succeeds() {
        let bench = late(after: .seconds(10))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [])
        let success = Frame.rpc(
            session: 1, .response, .putFile, correlation: 7,
            json: #"{"success":true,"resultCode":"SUCCESS"}"#)
        #expect(bench.accessory(says: success) == .drop(.farewell(1)))
        #expect(bench.heard().map(\.controlType) == [.endService])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        #expect(bench.accessory(says: refusal()) == .toApp("maps"))
    }

    @Test("one that goes on after its first frame is known by what comes late")
    func afterFirstFrame() {
        let (bench, frames) = begun(frames: 0)
        bench.pass(.seconds(18))
        _ = bench.app("music", says: frames[1])
        _ = bench.heard()
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.open("maps", session: 1)
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
    }

    @Test(
        "a lone first frame: the head unit would answer an earlier request, so it is ended before",
        arguments: [TimeAmount.seconds(9), .seconds(17)])
    func loneFirstFrame(pause: TimeAmount) {
        let (bench, frames) = begun(frames: 0)
        bench.router.connect("maps")
        bench.pass(pause)
        _ = bench.app("maps", says: .startService())
        let heard = bench.heard()
        #expect(heard.map(\.type) == [.consecutive, .control])
        #expect(heard.first.flatMap { RPCHeader($0.payload) }?.functionID == 0xFFFF)
        #expect(
            told(bench) == [
                "paused for 9 s or more at the beginning of a message of the bulk service "
                    + "(0 of 3 frames); relayd ended it so that sdl_core does not answer another "
                    + "request in its place"
            ])
        // The head unit has ended the session by itself, and maps gets its number.
        _ = bench.accessory(says: .control(.endService, session: 1))
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        #expect(bench.heard() == [])
        let refusal = Frame.rpc(
            session: 1, .response, FunctionID(rawValue: 0xFFFF),
            correlation: Bench.Router.messageEndCorrelationID,
            json: #"{"success":false,"resultCode":"UNSUPPORTED_REQUEST"}"#)
        #expect(bench.accessory(says: refusal) == .drop(.farewell(1)))
        #expect(bench.app("music", says: frames[1]) == .drop(.sessionOver(1)))
    }

    @Test("a lone first frame of less than 9 s waits for the rest, whatever else is said")
    func loneFirstFrameInTime() {
        let (bench, frames) = begun(frames: 0)
        bench.pass(.milliseconds(8999))
        bench.open("maps", session: 2)
        for frame in frames.dropFirst() { _ = bench.app("music", says: frame) }
        #expect(bench.heard() == Array(frames.dropFirst()))
        #expect(told(bench) == [])
    }

    @Test("lone first frames of several messages are all ended")
    func loneFirstFrames() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.open("maps", session: 2)
        for (app, session) in [("music", UInt8(1)), ("maps", 2), ("music", 1)] {
            bench.begin(app, session: session, message: 70 + UInt32(session), frames: 0)
            bench.begin(app, session: session, message: 80 + UInt32(session), frames: 0)
        }
        bench.pass(.seconds(9))
        let show = Frame.rpc(session: 1, message: 90, .request, .show, correlation: 9)
        _ = bench.app("music", says: show)
        let heard = bench.heard()
        #expect(heard.dropLast().map(\.messageID) == [72, 82, 71, 81])
        #expect(heard.last == show)
        #expect(bench.router.halves.isEmpty)
    }

    @Test("refused while the app is silent: its developer is told why, and no answer is waited for")
    func refusedInSilence() {
        let (bench, _) = begun(frames: 1)
        bench.pass(.seconds(11))
        #expect(told(bench) == [])
        #expect(bench.accessory(says: refusal()) == .toApp("music"))
        _ = bench.heard()
        #expect(
            told(bench) == [
                "paused for 10 s or more in the middle of PutFile #7 (1 of 3 frames); sdl_core "
                    + "refuses such a message, unless no app has sent anything meanwhile"
            ])
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.type) == [.consecutive, .control])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        #expect(
            bench.accessory(says: refusal()) == .toApp("maps"), "the failure of its own request")
    }

    @Test("refused while the app goes on: what is said to the rest is waited for by nobody")
    func refusedInTheMiddle() {
        let (bench, frames) = begun(frames: 1)
        bench.pass(.seconds(11))
        #expect(bench.accessory(says: refusal()) == .toApp("music"))
        for frame in frames.dropFirst(2) { _ = bench.app("music", says: frame) }
        #expect(bench.heard() == Array(frames.dropFirst(2)))
        #expect(bench.router.halves.isEmpty)
        #expect(told(bench).count == 1)
    }

    @Test(
        "an answer that comes too soon to be the refusal is another's: the message is still ended")
    func refusedTooSoon() {
        let (bench, _) = begun(frames: 1)
        bench.pass(.milliseconds(9999))
        #expect(bench.accessory(says: refusal()) == .toApp("music"))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.type) == [.consecutive])
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test("refused when the app has gone, while the rest of its words waits for the link")
    func refusedWhileDraining() {
        let (bench, _) = begun(frames: 1)
        bench.pass(.seconds(11))
        bench.waiting = [1]
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [])
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
        bench.drained(1)
        #expect(bench.heard().map(\.type) == [.consecutive, .control])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        #expect(bench.accessory(says: refusal()) == .toApp("maps"))
    }

    @Test("refused while relayd's end of it waits for the link: the next app hears only its own")
    func refusedBeforeItsEnd() {
        let (bench, _) = begun(frames: 1)
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        bench.pass(.seconds(11))
        _ = bench.heard()
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        // relayd has decided to say the end, and nothing has been written.
        #expect(bench.accessory(says: refusal()) == .drop(.farewell(1)))
        #expect(bench.heard().map(\.type) == [.consecutive])
        #expect(bench.accessory(says: refusal()) == .toApp("maps"))
    }

    @Test("the next message may have the same message ID")
    func sameMessageID() {
        let bench = late(after: .seconds(12))
        let next = Frame.putFile(session: 1, correlation: 8, frames: 3)
        for frame in next { _ = bench.app("music", says: frame) }
        #expect(bench.heard() == next)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard().map(\.controlType) == [.endService])
    }
}
