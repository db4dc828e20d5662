// The stand-in for sdl_core and its limits: floods, malformed frames, connections no longer read, heartbeats.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The stand-in for sdl_core: limits")
struct CoreLimitTests {
    private static func shows(_ session: UInt8, _ count: Int) -> [Frame] {
        (0..<count).map { .request(session, .show, Int32($0), message: UInt32($0 + 1)) }
    }

    /// A first frame whose announcement consists of these bytes.
    private static func first(_ session: UInt8, ofBytes byte: UInt8) -> Frame {
        Frame(
            version: 5, type: .first, service: .rpc, sessionID: session, messageID: 5,
            payload: ByteBuffer(repeating: byte, count: 8))
    }

    private static func ended(_ frames: [Frame]) -> String? {
        frames.first { RPCHeader($0.payload)?.functionID == 32_769 && $0.type == .single }
            .flatMap { frame in
                let payload = frame.payload
                let json = payload.getSlice(
                    at: payload.readerIndex + RPCHeader.bytes,
                    length: payload.readableBytes - RPCHeader.bytes)
                return json.flatMap { try? JSONObject($0) }?.string("reason")
            }
    }

    @Test("1000 frames a second of a session pass, with the 1001st it is ended; another is not")
    func flood() {
        var dialogue = CoreDialogue()
        let flooder = dialogue.app("flooder")
        let other = dialogue.app("other")
        dialogue.wait(.seconds(2))
        dialogue.say(Self.shows(flooder, 950))
        #expect(Self.ended(dialogue.wait(.seconds(20))) == nil)
        dialogue.say(Self.shows(flooder, 1003))
        let heard = dialogue.wait(.seconds(20))
        #expect(heard.contains { $0.controlType == .endService && $0.sessionID == flooder })
        #expect(Self.ended(heard) == "TOO_MANY_REQUESTS")
        #expect(heard.contains { $0.resultCode == "APPLICATION_NOT_REGISTERED" })
        dialogue.say(.request(other, .show, 5))
        #expect(dialogue.result(of: 5) == "SUCCESS")
        #expect(dialogue.app("flooder") == flooder, "it may come again at once")
        #expect(dialogue.core.sessions[flooder]?.app != nil)
    }

    @Test("heartbeats and frames of multi-frame messages count; audio and video do not")
    func whatCounts() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        dialogue.wait(.seconds(2))
        let video = Frame.data(session: app, service: .video, bytes: 10)
        dialogue.say([Frame](repeating: video, count: 2000))
        #expect(Self.ended(dialogue.wait()) == nil)
        let heartbeat = Frame.control(.heartbeat, service: .control, session: app)
        let piece = Frame(
            version: 5, type: .consecutive, service: .bulk, info: 1, sessionID: app, messageID: 1,
            payload: ByteBuffer(repeating: 0, count: 1))
        dialogue.say([Frame](repeating: heartbeat, count: 500))
        dialogue.say([Frame](repeating: piece, count: 501))
        #expect(Self.ended(dialogue.wait()) == "TOO_MANY_REQUESTS")
    }

    @Test("a flood on session 0 closes the connection, one on an unknown session does nothing")
    func floodNowhere() {
        var dialogue = CoreDialogue()
        _ = dialogue.app()
        dialogue.say(Self.shows(99, 200))
        dialogue.wait(.seconds(5))
        #expect(dialogue.closed.isEmpty)
        dialogue.say(Self.shows(0, 1100))
        #expect(dialogue.closed == [1])
        #expect(dialogue.core.running.isEmpty)
    }

    @Test("in NONE 100 requests at once pass; with more the app is unregistered, its session stays")
    func none() {
        for (count, isEnded) in [(50, false), (100, false), (150, true)] {
            var habits = SDLCoreHabits()
            habits.activationDelay = nil
            habits.requestLatency = 5_000_000...5_000_000
            var dialogue = CoreDialogue(habits: habits)
            let app = dialogue.app()
            dialogue.say(Self.shows(app, count))
            let reason = Self.ended(dialogue.wait(.seconds(5)))
            #expect(reason == (isEnded ? "REQUEST_WHILE_IN_NONE_HMI_LEVEL" : nil))
            #expect(dialogue.core.sessions[app] != nil)
            guard isEnded else { continue }
            dialogue.say(.register(app, "app"))
            #expect(dialogue.result(of: 65_529) == "SUCCESS")
        }
    }

    @Test("ten malformed frames in a second pass, the eleventh closes the connection for all")
    func malformed() {
        let bad = Frame(
            version: 5, type: .single, service: .rpc, sessionID: 1, messageID: 0,
            payload: ByteBuffer(repeating: 1, count: 14))
        var dialogue = CoreDialogue()
        _ = dialogue.app("one")
        _ = dialogue.app("other")
        dialogue.say([Frame](repeating: bad, count: 10))
        dialogue.wait(.seconds(2))
        #expect(dialogue.closed.isEmpty)
        dialogue.say([Frame](repeating: bad, count: 11))
        #expect(dialogue.closed.isEmpty)
        dialogue.wait()
        #expect(dialogue.closed == [1])
        #expect(dialogue.core.ends.map(\.isUnexpected) == [false, false])
    }

    @Test("a run of bytes that are no header counts once, and the frame behind it is found")
    func garbage() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        var bytes = ByteBuffer(repeating: 0xFF, count: 500)
        bytes.writeImmutableBuffer(Frame.request(app, .show, 8).wire)
        dialogue.say(bytes: bytes)
        #expect(dialogue.result(of: 8) == "SUCCESS")
        #expect(dialogue.core.counters.malformed == 1)
    }

    @Test(
        "a first frame that announces nothing keeps the connection from being read until it is closed"
    )
    func stopsReading() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        dialogue.say(Self.first(app, ofBytes: 0))
        dialogue.say(.startService(), .request(app, .show, 9))
        #expect(dialogue.wait(.seconds(25)).isEmpty)
        #expect(dialogue.core.sessions[app]?.app != nil, "a ghost")
        dialogue.disconnect()
        dialogue.connect()
        _ = dialogue.app()
        #expect(dialogue.core.sessions[app]?.app != nil)
    }

    @Test("any announced size is taken, and any message ID but 0")
    func sizesAndNumbers() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        dialogue.say(Self.first(app, ofBytes: 0xFF))
        for (index, id) in ([5, 5, 4, 1, .max, 2] as [UInt32]).enumerated() {
            dialogue.say(.request(app, .show, Int32(index), message: id))
            #expect(dialogue.result(of: Int32(index)) == "SUCCESS")
        }
    }

    @Test("heartbeats begin with the app's first; then silence is asked about, and ended")
    func heartbeat() {
        for version in [5, 4] as [UInt8] {
            var dialogue = CoreDialogue()
            let silent = dialogue.app("silent", version: version)
            #expect(dialogue.wait(.seconds(60)).isEmpty)
            let beating = dialogue.app("beating", version: version)
            dialogue.say(
                Frame(
                    version: version, type: .control, service: .control, info: 0,
                    sessionID: beating))
            #expect(dialogue.wait(.seconds(1)).map(\.controlType) == [.heartbeatACK])
            #expect(dialogue.wait(.milliseconds(5900)).isEmpty)
            let asked = dialogue.wait(.milliseconds(200))
            #expect(asked.map(\.controlType) == [.heartbeat])
            #expect(asked.first?.sessionID == beating)
            #expect(dialogue.wait(.seconds(6)).isEmpty)
            #expect(dialogue.wait(.seconds(2)).map(\.controlType) == [.endService])
            #expect(dialogue.core.ends.last?.isUnexpected == true)
            #expect(dialogue.core.sessions[silent] != nil)
        }
    }

    @Test("an answered heartbeat keeps the session, but not on the 256th connection of a core")
    func answeredHeartbeat() {
        for connections in [1, 256] {
            var dialogue = CoreDialogue()
            for _ in 1..<connections { dialogue.connect() }
            let app = dialogue.app()
            let heartbeat = Frame.control(.heartbeat, service: .control, session: app)
            let answer = Frame.control(.heartbeatACK, service: .control, session: app)
            dialogue.say(heartbeat)
            for _ in 0..<300 {
                let heard = dialogue.wait(.milliseconds(100))
                if heard.contains(where: { $0.controlType == .heartbeat }) { dialogue.say(answer) }
            }
            #expect((dialogue.core.sessions[app] != nil) == (connections == 1))
        }
    }

    @Test("large notifications go in several frames, whose message ID may be 0")
    func largeNotification() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        for _ in 0..<300 {
            dialogue.core.notify(
                app, .onSystemRequest, json: "{}", bulk: ByteBuffer(repeating: 7, count: 30),
                frameBytes: 16)
        }
        let heard = dialogue.wait()
        #expect(heard.contains { $0.type == .first && $0.messageID == 0 })
        #expect(heard.allSatisfy { ($0.messageID ?? 0) <= 255 })
    }
}
