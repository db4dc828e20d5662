import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct TrafficDecoderTests {
    private let ok = #"{"success":true,"resultCode":"SUCCESS"}"#

    @Test("entries are numbered from 1, and name the app from its registration on")
    func numbersAndNames() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        #expect(talk.entries.map(\.number) == Array(1...UInt64(talk.entries.count)))
        #expect(
            talk.entries.map(\.appName) == [nil, nil, nil, nil, "Relay Test", "Relay Test"])
        #expect(talk.entries.last?.registeredAppID == "relay-test")
    }

    @Test("a name with nothing to see in it is none", arguments: ["", "  ", #"\u200b"#])
    func invisibleName(name: String) {
        var talk = Dialogue()
        talk.opens()
        talk.rpc(
            .fromApp, .request, .registerAppInterface, 1, #"{"appName":"\#(name)","appID":"x"}"#)
        #expect(talk.entries.last?.appName == nil)
        #expect(talk.entries.last?.registeredAppID == "x")
    }

    @Test("a registration that is refused while another counts changes no name")
    func refusedTwin() {
        var talk = Dialogue()
        talk.opens()
        talk.registers(name: "Music", appID: "m-1")
        talk.request(.registerAppInterface, 2, #"{"appName":"Other","appID":"o-1"}"#)
        #expect(talk.entries.last?.appName == "Music")
        talk.response(
            .registerAppInterface, 2,
            #"{"success":false,"resultCode":"APPLICATION_REGISTERED_ALREADY"}"#)
        talk.request(.show, 3)
        #expect(talk.entries.suffix(2).map(\.appName) == ["Music", "Music"])
        #expect(talk.entries.last?.registeredAppID == "m-1")
        talk.control(.fromApp, .startService, session: 0)
        #expect(talk.entries.last?.appName == "Music", "outside any session, too")
    }

    @Test("one that is accepted does, from the answer on")
    func acceptedTwin() {
        var talk = Dialogue()
        talk.opens()
        talk.registers(name: "Music")
        talk.request(.registerAppInterface, 2, #"{"appName":"Other","appID":"o-1"}"#)
        talk.response(.registerAppInterface, 2, ok)
        #expect(talk.entries.suffix(2).map(\.appName) == ["Music", "Other"])
        #expect(talk.entries.last?.registeredAppID == "o-1")
    }

    @Test("who has unregistered, or was never registered, registers anew at once")
    func registersAnew() {
        func isRenamed(_ between: (inout Dialogue) -> Void) -> Bool {
            var talk = Dialogue()
            talk.opens()
            between(&talk)
            talk.request(.registerAppInterface, 9, #"{"appName":"Other","appID":"o-1"}"#)
            return talk.entries.last?.appName == "Other"
        }
        #expect(
            isRenamed { talk in
                talk.registers()
                talk.request(.unregisterAppInterface, 2)
                talk.response(.unregisterAppInterface, 2, ok)
            })
        #expect(
            isRenamed { talk in
                talk.registers()
                talk.notification(.onAppInterfaceUnregistered, #"{"reason":"USER_EXIT"}"#)
            })
        #expect(
            isRenamed { talk in
                talk.request(.registerAppInterface, 1, #"{"appName":"Music","appID":"m-1"}"#)
                talk.response(
                    .registerAppInterface, 1, #"{"success":false,"resultCode":"DISALLOWED"}"#)
            })
        #expect(
            isRenamed { talk in
                talk.registers()
                talk.receive(.missed(frames: 1, bytes: 1))
            }, "it may have unregistered meanwhile")
        #expect(!isRenamed { $0.registers() })
    }

    @Test("of two registrations in a row the second counts once the first is refused")
    func secondThought() {
        var talk = Dialogue()
        talk.opens()
        talk.request(.registerAppInterface, 1, #"{"appName":"Music","appID":"m-1"}"#)
        talk.request(.registerAppInterface, 2, #"{"appName":"Other","appID":"o-1"}"#)
        #expect(talk.entries.last?.appName == "Music")
        talk.response(
            .registerAppInterface, 1, #"{"success":false,"resultCode":"DUPLICATE_NAME"}"#)
        #expect(talk.entries.last?.appName == "Other")
        talk.response(.registerAppInterface, 2, ok)
        #expect(talk.entries.last?.appName == "Other")
    }

    @Test("a response knows its request and how long it took")
    func pairs() {
        var talk = Dialogue()
        talk.request(.show, 12)
        talk.request(.alert, 13)
        talk.milliseconds = 8
        talk.response(.show, 12, ok)
        #expect(talk.rpc?.latency == 8_000_000)
        #expect(talk.rpc?.request?.number == 1)
        talk.milliseconds = 3000
        talk.response(.alert, 13, ok)
        #expect(talk.rpc?.latency == 3_000_000_000)
        talk.response(.alert, 13, ok)
        #expect(talk.rpc?.latency == nil)
    }

    @Test("requests of different sessions and directions are not mixed up")
    func pairsBySessionAndDirection() {
        var talk = Dialogue()
        talk.request(.show, 1)
        talk.session = 2
        talk.response(.show, 1, ok)
        #expect(talk.rpc?.request == nil)
        talk.rpc(.fromAccessory, .request, .getAppServiceData, 1)
        talk.rpc(.fromAccessory, .response, .getAppServiceData, 1, ok)
        #expect(talk.rpc?.request == nil)
        talk.rpc(.fromApp, .response, .getAppServiceData, 1, ok)
        #expect(talk.rpc?.request?.functionID == .getAppServiceData)
    }

    @Test("a session granted anew knows nothing of requests before")
    func newSessionForgets() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.request(.show, 1)
        talk.control(.fromAccessory, .endServiceACK)
        talk.opens()
        #expect(talk.entries.last?.appName == "Relay Test")  // its connection's latest name
        talk.response(.show, 1, ok)
        #expect(talk.rpc?.request == nil)
    }

    @Test("of too many unanswered requests the oldest are given up")
    func boundsPending() {
        var talk = Dialogue()
        for correlationID in 1...5000 as ClosedRange<Int32> { talk.request(.show, correlationID) }
        talk.response(.show, 1, ok)
        #expect(talk.rpc?.request == nil)
        talk.response(.show, 5000 - 4095, ok)
        #expect(talk.rpc?.request != nil)
        talk.response(.show, 5000, ok)
        #expect(talk.rpc?.request != nil)
    }

    @Test("a request never answered does not keep those after it from being paired for good")
    func oldRequestDoesNotBlock() async {
        var talk = Dialogue()
        talk.request(.performInteraction, 1)
        for correlationID in 2...20_000 as ClosedRange<Int32> {
            await Task.yield()
            talk.request(.show, correlationID)
            talk.response(.show, correlationID, ok)
            #expect(talk.rpc?.request != nil)
        }
        talk.response(.performInteraction, 1, ok)
        #expect(talk.rpc?.request?.number == 1)
    }

    @Test("two apps on one link keep their names apart")
    func twoApps() {
        var talk = Dialogue()
        talk.opens()
        talk.registers(name: "Music")
        talk.app = AppID(rawValue: 2)
        talk.session = 2
        talk.opens()
        talk.registers(name: "Maps")
        talk.app = AppID(rawValue: 1)
        talk.session = 1
        talk.request(.show, 2)
        #expect(talk.entries.last?.appName == "Music")
    }

    @Test("names of apps are stripped and bounded before anything is done with them")
    func hostileNames() {
        var talk = Dialogue()
        talk.opens()
        talk.registers(name: #"\u001b[2J\u202e"# + String(repeating: "x", count: 5000))
        let name = talk.entries.last?.appName
        #expect(name?.hasPrefix("[2Jxxx") == true)
        #expect(name.map { $0.unicodeScalars.count <= 101 } == true)
    }

    @Test("an app's goodbye said by relayd still shows its name")
    func farewellKeepsName() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        if let app = talk.app { talk.receive(.appClosed(app, reason: "reset", time: talk.time)) }
        talk.rpc(.fromApp, .request, .unregisterAppInterface, 99, fate: .byRelay)
        #expect(talk.entries.last?.appName == "Relay Test")
        #expect(talk.lastLine?.hasSuffix("by relayd") == true)
    }

    @Test("audio and video are summed up once a second, and when they end")
    func sumsUpStreams() {
        var talk = Dialogue()
        talk.opens()
        let before = talk.entries.count
        for frame in 0..<90 as Range<Int64> {
            talk.milliseconds = frame * 1000 / 30
            talk.says(
                .fromApp,
                Frame(
                    version: 5, type: .single, service: .video, sessionID: 1, messageID: 1,
                    payload: ByteBuffer(repeating: 1, count: 1000)))
        }
        talk.control(.fromAccessory, .endServiceACK, .video)
        let summaries = talk.entries[before...].compactMap { entry in
            if case .stream(let summary) = entry.content { summary } else { nil }
        }
        #expect(summaries.map(\.frames) == [30, 30, 30])
        #expect(summaries.map(\.isFinal) == [false, false, true])
        #expect(summaries.last?.totalFrames == 90)
        #expect(summaries.last?.totalBytes == 90_000)
        // Together with the EndServiceACK and the router's report on it.
        #expect(talk.entries.count == before + 5)
        #expect(
            talk.lines()[before]
                == "10:31:08.000  #1                →  video     30 frames 248 kbit/s"
                + "         session 1  29.3 KiB")
    }

    @Test("a stream that another app's traffic outlives is summed up when its second is over")
    func sweepsStreams() {
        var talk = Dialogue()
        talk.says(
            .fromApp,
            Frame(
                version: 5, type: .single, service: .audio, sessionID: 1, messageID: 1,
                payload: ByteBuffer(repeating: 1, count: 10)))
        #expect(talk.entries.isEmpty)
        talk.milliseconds = 1000
        talk.request(.show, 1)
        #expect(talk.entries.count == 2)
        #expect(talk.entries.last?.bytes == 10)
    }

    @Test("the link closing ends streams, and tells of messages cut off")
    func linkCloses() {
        var talk = Dialogue()
        talk.opens()
        talk.says(
            .fromApp,
            Frame(
                version: 5, type: .single, service: .audio, sessionID: 1, messageID: 1,
                payload: ByteBuffer(repeating: 1, count: 10)))
        talk.says(
            .fromApp,
            Frame(
                version: 5, type: .first, service: .bulk, sessionID: 1, messageID: 2,
                payload: ByteBuffer(bytes: [0, 0, 1, 0, 0, 0, 0, 2])))
        let before = talk.entries.count
        talk.receive(.linkClosed(reason: "unplugged", time: talk.time))
        #expect(talk.entries.count == before + 3)
        #expect(talk.lines()[before].contains("audio     1 frame "))
        #expect(talk.lines()[before + 1].contains("cut off after 0 of 2 frames"))
        #expect(talk.lines()[before + 2].hasSuffix("link closed: unplugged"))
    }

    @Test("dropped frames are shown once a second and reason, the rest counted")
    func boundsDroppedLines() {
        var talk = Dialogue()
        for step in 0..<100 as Range<Int64> {
            talk.milliseconds = step * 20
            talk.rpc(
                .fromApp, .request, .show, Int32(step), fate: .dropped(.notItsSession(1)))
        }
        #expect(talk.entries.map(\.frames) == [1, 50])
        #expect(
            talk.lines() == [
                "10:31:07.000  #1                →  dropped!  Show #0"
                    + "                      session 1 is not this app's  14 B",
                "10:31:08.000  #1                →  dropped!  50 more frames"
                    + "               session 1 is not this app's  700 B",
            ])
    }

    @Test("dropped frames take no part in assembly and pairing")
    func droppedFramesCountForNothing() {
        var talk = Dialogue()
        talk.rpc(.fromApp, .request, .show, 5, fate: .dropped(.noLink))
        talk.response(.show, 5, ok)
        #expect(talk.rpc?.request == nil)
    }

    @Test("encrypted messages are marked, not guessed at")
    func encrypted() {
        var talk = Dialogue()
        talk.says(
            .fromApp,
            Frame(
                version: 5, isEncrypted: true, type: .single, service: .rpc, sessionID: 1,
                messageID: 1, payload: ByteBuffer(bytes: [0x17, 3, 3, 0, 0])))
        #expect(
            talk.lastLine
                == "10:31:07.000  #1                →  encrypt   encrypted rpc message        5 B")
    }

    @Test("what cannot be decoded is shown with the reason and its first bytes")
    func undecodable() {
        var talk = Dialogue()
        talk.rpc(.fromApp, .request, .show, 7, "nonsense")
        #expect(talk.entries.last?.priority == .warning)
        #expect(
            talk.lastLine
                == "10:31:07.000  #1                →  invalid!  Show #7                      "
                + "parameters are not a JSON object: unexpected byte 0x6F at byte 1  20 B  "
                + "[00 00 00 0d 00 00 00 07 00 00 00 08 6e 6f 6e 73 65 6e 73 65]")
        talk.says(
            .fromApp,
            Frame(
                version: 5, type: .single, service: .rpc, sessionID: 1, messageID: 1,
                payload: ByteBuffer(bytes: [1, 2, 3])))
        #expect(talk.lastLine?.contains("3 bytes, an RPC header has 12") == true)
    }

    @Test("a TLS handshake is shown step by step")
    func handshake() {
        var talk = Dialogue()
        talk.says(
            .fromAccessory,
            Frame(
                version: 5, type: .single, service: .control, sessionID: 1, messageID: 1,
                payload: ByteBuffer(bytes: [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 22, 3, 1])))
        #expect(talk.lastLine?.contains("security  SendHandshakeData") == true)
        var error = ByteBuffer(bytes: [0x20, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x15])
        error.writeString(#"{"id":11,"text":"no"}"#)
        talk.says(
            .fromAccessory,
            Frame(
                version: 5, type: .single, service: .control, sessionID: 1, messageID: 2,
                payload: error))
        #expect(
            talk.lastLine?.contains("SendInternalError!           expired certificate  \"no\"")
                == true)
    }

    @Test("a gap in observation is told, and nobody is blamed for it")
    func missed() {
        var talk = Dialogue()
        talk.opens()
        talk.receive(.missed(frames: 12, bytes: 3000))
        talk.says(
            .fromApp,
            Frame(
                version: 5, type: .consecutive, service: .rpc, info: 4, sessionID: 1, messageID: 9,
                payload: ByteBuffer(string: "x")))
        #expect(
            talk.lastLine
                == "10:31:07.000  relayd            ·  relay     not shown: 12 frames, 2.9 KiB; "
                + "they were forwarded, but not decoded")
        talk.receive(.missed(frames: 0, bytes: 17))
        #expect(talk.lastLine?.hasSuffix("not shown: 17 B that were no frame") == true)
    }

    @Test("a clock set back neither crashes nor makes latencies negative")
    func clockSetBack() {
        var talk = Dialogue()
        talk.milliseconds = 5000
        talk.request(.show, 1)
        talk.milliseconds = 0
        talk.response(.show, 1, ok)
        #expect(talk.rpc?.latency == 0)
    }

    @Test("random frames neither crash nor hang, whatever is done with their entries")
    func survivesFuzzing() async {
        var talk = Dialogue()
        var state: UInt64 = 42
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for _ in 0..<Effort.rounds(20_000, orQuickly: 5000) {
            await Task.yield()
            talk.milliseconds += Int64(random(40)) - 1
            let payload = (0..<random(40)).map { _ in UInt8(random(256)) }
            let frame = Frame(
                version: UInt8(random(5) + 1), isEncrypted: random(20) == 0,
                type: FrameType.allCases[random(4)],
                service: ServiceType.allCases[random(ServiceType.allCases.count)],
                info: UInt8(random(8)), sessionID: UInt8(random(3)),
                messageID: UInt32(random(4)), payload: ByteBuffer(bytes: payload))
            talk.says(random(2) == 0 ? .fromApp : .fromAccessory, frame)
        }
        #expect(talk.lines().count == talk.entries.count)
        #expect(
            talk.lines(TrafficLog.Configuration(format: .json)).count == talk.entries.count)
        #expect(!talk.lines().contains { $0.unicodeScalars.contains { $0.value < 0x20 } })
    }

    @Test("frames dropped one after another are summed up when their second is over, unasked")
    func sumsUpDrops() {
        var talk = Dialogue()
        talk.opens()
        for _ in 0..<5 {
            talk.says(.fromApp, .data(session: 9, bytes: 10), fate: .dropped(.notItsSession(9)))
        }
        #expect(talk.due == 1000)
        talk.silence(1000)
        guard case .dropped(let sum)? = talk.entries.last?.content else {
            Issue.record("\(String(describing: talk.entries.last))")
            return
        }
        #expect(sum.frame == nil && talk.entries.last?.frames == 4)
    }
}
