import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

/// Requests and their outcomes, with the clock controlled by the test.
@Suite struct PairingTests {
    private let ok = #"{"success":true,"resultCode":"SUCCESS"}"#

    private func unanswered(_ talk: Dialogue) -> [(function: String, waited: Int64)] {
        talk.entries.compactMap { entry in
            guard case .event(.unanswered(let request, let waited)) = entry.content else {
                return nil
            }
            return (request.functionID.description, waited / 1_000_000)
        }
    }

    @Test("protection leaves a session's requests open, a new grant of its number does not")
    func grants() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.request(.show, 5)
        let protection = Frame(
            version: 5, isEncrypted: true, type: .control, service: .rpc,
            info: ControlFrameType.startServiceACK.rawValue, sessionID: 1)
        talk.says(.fromAccessory, protection)
        talk.response(.show, 5, ok)
        #expect(talk.rpc?.request?.functionID == .show)
        talk.request(.show, 6)
        talk.control(.fromAccessory, .startServiceACK)
        talk.response(.show, 6, ok)
        #expect(talk.rpc != nil && talk.rpc?.request == nil)
    }

    @Test("a request without answer is told once, after 10 s, and a late answer is still paired")
    func unanswered() throws {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.request(.listFiles, 7)
        #expect(talk.due == 10_000)
        talk.silence(9_999)
        #expect(unanswered(talk).isEmpty)
        talk.silence(1)
        #expect(unanswered(talk).map(\.function) == ["ListFiles"])
        #expect(
            talk.lastLine == "10:31:17.000  Relay Test        →  relay     "
                + "ListFiles #7 has no answer for 10.0 s")
        #expect(talk.entries.last?.app == AppID(rawValue: 1))
        #expect(talk.entries.last?.priority == .warning)
        #expect(talk.due == nil)
        talk.silence(60_000)
        #expect(unanswered(talk).count == 1)
        talk.response(.listFiles, 7, ok)
        #expect(talk.rpc?.latency == 70_000_000_000)
        #expect(talk.rpc?.isUnasked == false)
    }

    @Test("a request whose JSON cannot be read is paired, and nobody is woken for it")
    func unreadable() {
        var talk = Dialogue()
        talk.opens()
        talk.request(.show, 7, #"{"mainField1":"#)
        #expect(talk.due == nil)
        talk.milliseconds += 20
        talk.response(.show, 7, #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        #expect(talk.rpc?.latency == 20_000_000)
        #expect(talk.rpc?.isUnasked == false)
    }

    @Test("an answer that cannot be read is one")
    func unreadableAnswer() {
        var talk = Dialogue()
        talk.opens()
        talk.request(.show, 7)
        talk.response(.show, 7, #"{"success""#)
        #expect(talk.due == nil)
    }

    @Test("while nothing is pending nobody has to be woken")
    func idle() {
        var talk = Dialogue()
        talk.opens()
        #expect(talk.due == nil)
        talk.request(.show, 1)
        talk.request(.show, 2)
        #expect(talk.due == 10_000)
        talk.response(.show, 2, ok)
        talk.response(.show, 1, ok)
        #expect(talk.due == nil)
        talk.request(.show, 3)
        talk.receive(.linkClosed(reason: "cut", time: talk.time))
        #expect(talk.due == nil)
    }

    @Test("later traffic tells of a late answer too, without any timer")
    func toldByTraffic() {
        var talk = Dialogue()
        talk.opens()
        talk.request(.show, 1)
        talk.milliseconds = 12_000
        talk.notification(.onDriverDistraction, #"{"state":"DD_OFF"}"#)
        #expect(unanswered(talk).map(\.waited) == [12_000])
    }

    @Test(
        "a request that names its own time is waited for as long, and 10 s more",
        arguments: [
            (.alert, "{}", 15_000), (.alert, #"{"duration":3000}"#, 13_000),
            (.alert, #"{"duration":3000,"ttsChunks":[]}"#, 73_000),
            (.subtleAlert, #"{"duration":10000}"#, 20_000),
            (.scrollableMessage, "{}", 40_000), (.slider, #"{"timeout":65535}"#, 75_535),
            (.performInteraction, #"{"interactionMode":"MANUAL_ONLY"}"#, 20_000),
            (.performInteraction, #"{"interactionMode":"BOTH","timeout":20000}"#, 50_000),
            (.performAudioPassThru, #"{"maxDuration":60000}"#, 70_000),
            (.performAudioPassThru, #"{"maxDuration":99999999999}"#, 1_010_000),
            (.performAudioPassThru, #"{"maxDuration":-5}"#, 10_000),
            (.speak, "{}", 70_000), (.show, #"{"timeout":99999}"#, 10_000),
        ] as [(FunctionID, String, Int64)])
    func longCalls(function: FunctionID, json: String, expected: Int64) {
        var talk = Dialogue()
        talk.opens()
        talk.request(function, 1, json)
        #expect(talk.due == expected)
        talk.silence(expected - 1)
        #expect(unanswered(talk).isEmpty)
        talk.silence(1)
        #expect(unanswered(talk).count == 1)
    }

    @Test("a correlation ID that is used again while it waits is reported")
    func replaced() throws {
        var talk = Dialogue()
        talk.opens()
        talk.request(.show, 5)
        talk.request(.alert, 5)
        #expect(talk.rpc?.replaced?.functionID == .show)
        #expect(talk.lastLine?.contains("the ID still belongs to Show!") == true)
        #expect(talk.entries.last?.priority == .warning)
        talk.response(.alert, 5, ok)
        #expect(talk.rpc?.request?.functionID == .alert)
        talk.request(.show, 5)
        #expect(talk.rpc?.replaced == nil)
    }

    @Test("both sides may use the same correlation ID at once")
    func directions() {
        var talk = Dialogue()
        talk.opens()
        talk.request(.show, 5)
        talk.rpc(.fromAccessory, .request, .getAppServiceData, 5)
        #expect(talk.rpc?.replaced == nil)
    }

    @Test("an answer nobody asked for is reported, unless questions may have gone by unseen")
    func unasked() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.response(.show, 99, ok)
        #expect(talk.rpc?.isUnasked == true)
        #expect(talk.lastLine?.contains("nobody asked!") == true)
        talk.receive(.missed(frames: 3, bytes: 100))
        talk.request(.alert, 100)
        talk.response(.show, 99, ok)
        #expect(talk.rpc?.isUnasked == false)
    }

    @Test("a second answer to the same request is reported, whichever side gives it")
    func answeredTwice() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.request(.show, 5)
        talk.rpc(.fromAccessory, .request, .getAppServiceData, 6)
        for (direction, function, correlationID) in [
            (.fromAccessory, .show, 5), (.fromApp, .getAppServiceData, 6),
        ] as [(Direction, FunctionID, Int32)] {
            talk.rpc(direction, .response, function, correlationID, ok)
            #expect(talk.rpc?.request?.functionID == function && talk.rpc?.isUnasked == false)
            talk.rpc(direction, .response, function, correlationID, ok)
            #expect(talk.rpc?.request == nil && talk.rpc?.isUnasked == true)
            #expect(talk.lastLine?.hasSuffix("nobody asked!") == true)
            #expect(talk.entries.last?.priority == .warning)
        }
    }

    @Test("StartService without answer is told, but not while there is no head unit")
    func unansweredStart() {
        func starts(_ talk: Dialogue) -> [ServiceType?] {
            talk.entries.compactMap { entry in
                guard case .event(.unansweredStart) = entry.content else { return nil }
                return entry.service
            }
        }
        var talk = Dialogue()
        talk.receive(.appConnected(AppID(rawValue: 1), peer: "p", time: talk.time))
        talk.control(.fromApp, .startService, session: 0)
        #expect(talk.due == nil)
        talk.silence(60_000)
        #expect(starts(talk).isEmpty)
        talk.receive(.linkOpened(number: 1, address: "sim:", time: talk.time))
        #expect(talk.due == 10_000)
        talk.silence(10_000)
        #expect(starts(talk) == [.rpc])
        talk.control(.fromAccessory, .startServiceACK)
        talk.control(.fromApp, .startService, .video)
        talk.control(.fromApp, .startService, .audio)
        talk.control(.fromAccessory, .startServiceNAK, .audio)
        talk.silence(20_000)
        #expect(starts(talk) == [.rpc, .video])
        talk.receive(.appClosed(AppID(rawValue: 1), reason: "left", time: talk.time))
        #expect(talk.due == nil)
    }

    @Test("a message that stops in the middle is told by the clock alone")
    func gap() {
        var talk = Dialogue()
        talk.opens()
        talk.says(
            .fromApp,
            Frame(
                version: 5, type: .first, service: .bulk, sessionID: 1, messageID: 9,
                payload: ByteBuffer(bytes: [0, 0, 0, 20, 0, 0, 0, 2])))
        #expect(talk.due == 10_000)
        talk.silence(10_000)
        #expect(talk.lastLine?.contains("stopped after 0 of 2 frames") == true)
        #expect(talk.due == nil)
    }

    @Test("a stream that pauses is summed up a second after it began")
    func pausingStream() {
        var talk = Dialogue()
        talk.opens()
        talk.says(.fromApp, .data(session: 1, service: .video, bytes: 500))
        #expect(talk.due == 1000)
        talk.silence(1000)
        #expect(talk.lastLine?.contains("video     1 frame") == true)
        #expect(talk.due == nil)
    }

    @Test("more waiting requests than there may be are forgotten without blame")
    func bounded() {
        var talk = Dialogue()
        talk.opens()
        for number in 1...5000 { talk.request(.show, Int32(number)) }
        talk.response(.show, 1, ok)
        #expect(talk.rpc?.request == nil)
        #expect(talk.rpc?.isUnasked == false)
        talk.response(.show, 5000, ok)
        #expect(talk.rpc?.request != nil)
    }

    @Test("an observer that waits for an answer is called when it does not come")
    func observerIsWoken() async {
        actor Collector: TrafficConsumer {
            var events: [EventEntry] = []
            func consume(_ entries: [TrafficEntry]) {
                for case .event(let event) in entries.map(\.content) { events.append(event) }
            }
        }
        let collector = Collector()
        let start = WallTime.now()
        let observer = TrafficObserver(
            consumers: [collector],
            clock: { WallTime(nanoseconds: start.nanoseconds + 11_000_000_000) },
            steadyClock: { .uptimeNanoseconds(1) })
        let app = AppID(rawValue: 1)
        let frame = TappedFrame(
            frame: .rpc(session: 1, .request, .listFiles), direction: .fromApp, app: app,
            time: start)
        let patience = await observer.observe([.frames([frame])])
        #expect(patience == .zero)
        #expect(await observer.observe([]) == nil)
        let events = await collector.events
        #expect(events.count == 1)
        guard case .unanswered(let request, let waited)? = events.first else { return }
        #expect(request.functionID == .listFiles)
        #expect(waited == 11_000_000_000)
    }
}
