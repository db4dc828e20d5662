import NIOCore
import RelayCore
import SDLProtocol
import Synchronization
import Testing

@Suite struct AdviceTests {
    private func advice(
        _ body: (inout Dialogue) -> Void
    ) async -> [Advice] {
        var talk = Dialogue(validator: .builtIn)
        body(&talk)
        return await advice(on: talk.entries).recent()
    }

    private func advice(
        on entries: [TrafficEntry], sink: @escaping @Sendable (Advice) -> Void = { _ in }
    ) async -> TrafficAdvisor {
        let advisor = TrafficAdvisor(
            facts: SessionFacts(), sink: sink)
        await advisor.consume(entries)
        return advisor
    }

    @Test(
        "every code has a dialogue that brings it and nothing else", arguments: AdviceCode.allCases)
    func brings(code: AdviceCode) async throws {
        let example = try #require(adviceExamples[code], "no dialogue for \(code.rawValue)")
        let found = await advice(example.dialogue)
        #expect(found.map(\.code) == [code])
        let only = try #require(found.first)
        for words in example.says { #expect(only.text.contains(words), "\(only.text)") }
        #expect(!only.text.isEmpty && !only.remedy.isEmpty)
        #expect(!only.sentence.contains("\n") && !only.remedy.hasSuffix("."))
    }

    @Test("what is nearly the same brings nothing", arguments: AdviceCode.allCases)
    func nearMiss(code: AdviceCode) async throws {
        let example = try #require(adviceExamples[code])
        let found = await advice(example.nearMiss).filter { $0.code == code }
        #expect(found.isEmpty, "\(found.map(\.text))")
    }

    @Test("recorded sessions of a well-behaved app bring only what is known of them")
    func recordedSessions() async throws {
        for name in ["js-full-1", "js-killed-1", "js-core-stops-1"] {
            let found = await advice(on: try Capture.entries(name)).recent()
            // The JavaScript library fills frames up to the mtu, which it takes for the payload.
            let expected: [AdviceCode] = name == "js-full-1" ? [.mtuNear] : []
            #expect(found.map(\.code) == expected, "\(name): \(found.map(\.text))")
        }
    }

    @Test("the same fault is told once a minute and counted meanwhile, per app and cause")
    func limited() async throws {
        let told = Mutex<[String]>([])
        var talk = Dialogue(validator: .builtIn)
        talk.starts(level: "NONE")
        for _ in 0..<30 {
            talk.request(.show, 5)
            talk.response(.show, 5, #"{"success":false,"resultCode":"DISALLOWED"}"#)
            talk.silence(3000)
        }
        let advisor = await advice(on: talk.entries) { advice in
            told.withLock { $0.append(advice.code.rawValue) }
        }
        // 90 s of it: at the beginning, and after a minute.
        #expect(told.withLock { $0 } == ["request_in_none", "request_in_none"])
        let kept = advisor.advice(about: AppID(rawValue: 1))
        #expect(kept.map(\.count).reduce(0, +) == 60)
        #expect(advisor.counts()[.requestInNone] == 60)
        #expect(kept.first?.lastTime ?? WallTime(nanoseconds: 0) > kept.first?.time ?? talk.time)
    }

    @Test("a refused name is told once, before the refusal")
    func beforeTheRefusal() async {
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        talk.secondApp(name: "Relay Test", appID: "other")
        let before = await advice(on: talk.entries).recent()
        #expect(before.map(\.code) == [.duplicateAppName])
        #expect(
            before.first?.remedy
                == "give one of the two another appName, or stop app #1 (Relay Test)")
        talk.response(
            .registerAppInterface, 1, #"{"success":false,"resultCode":"DUPLICATE_NAME"}"#)
        #expect(await advice(on: talk.entries).recent().map(\.code) == [.duplicateAppName])
    }

    @Test(
        "a refusal for a name or ID that no connected app has points to an earlier run",
        arguments: [
            ("DUPLICATE_NAME", AdviceCode.duplicateAppName),
            ("APPLICATION_REGISTERED_ALREADY", .duplicateAppID),
        ])
    func ghost(result: String, code: AdviceCode) async {
        let found = await advice { talk in
            talk.opens()
            talk.request(.registerAppInterface, 1, #"{"appName":"A","appID":"1"}"#)
            talk.response(
                .registerAppInterface, 1, #"{"success":false,"resultCode":"\#(result)"}"#)
        }
        #expect(found.map(\.code) == [code])
        #expect(found.first?.text.contains("earlier run") == true)
        #expect(found.first?.remedy.contains("try again") == true)
    }

    @Test("DISALLOWED although the level is right is about parameters or the user")
    func disallowedParameters() async {
        let found = await advice { talk in
            talk.starts()
            talk.fails(.getVehicleData, "DISALLOWED", #"{"rpm":true}"#)
        }
        #expect(
            found.first?.text.contains("one of its parameters is not among those allowed: speed")
                == true)
    }

    @Test("DISALLOWED in a level that is not enough names the levels that are")
    func disallowedLevel() async {
        let found = await advice { talk in
            talk.starts(level: "NONE")
            talk.notification(
                .onPermissionsChange,
                #"{"permissionItem":[{"rpcName":"Alert","#
                    + #""hmiPermissions":{"allowed":["FULL"],"userDisallowed":[]}}]}"#)
            talk.notification(.onHMIStatus, #"{"hmiLevel":"BACKGROUND"}"#)
            talk.fails(.alert, "DISALLOWED")
        }
        #expect(found.map(\.code) == [.disallowed])
        #expect(found.first?.text.contains("allowed in FULL, but the app is in BACKGROUND") == true)
        #expect(found.first?.remedy == "send it after OnHMIStatus with FULL")
    }

    @Test("a function the head unit does not know is told as such")
    func unknownFunction() async {
        let found = await advice { talk in
            talk.starts()
            talk.request(.subtleAlert, 5)
            talk.response(.genericResponse, 5, #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        }
        #expect(found.map(\.code) == [.invalidData])
        #expect(found.first?.text.contains("SubtleAlert #5") == true)
        #expect(found.first?.text.contains("does not know this function") == true)
    }

    @Test("a function that is in no specification is not a parameter's fault")
    func functionOfNobody() async {
        let found = await advice { talk in
            talk.starts()
            talk.request(FunctionID(rawValue: 0x270F), 5)
            talk.response(.genericResponse, 5, #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        }
        let refusal = found.last { $0.code == .invalidData }
        #expect(refusal?.text.contains("does not know this function") == true)
        #expect(refusal?.remedy.contains("RPC version") == true)
    }

    @Test("INVALID_DATA for a request that is no JSON says so, and was asked for")
    func invalidJSON() async {
        let found = await advice { talk in
            talk.starts()
            talk.request(.show, 77, #"{"mainField1":"#)
            talk.response(.show, 77, #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        }
        #expect(found.map(\.code) == [.notAnRPC, .invalidData])
        #expect(found.last?.text.hasPrefix("Show #77 is INVALID_DATA: ") == true)
        #expect(found.last?.text.contains("JSON") == true)
    }

    @Test("answers nobody asked for are told for either side")
    func unaskedOfBoth() async {
        let found = await advice { talk in
            talk.starts()
            talk.response(.show, 80, #"{"success":true,"resultCode":"SUCCESS"}"#)
            talk.rpc(
                .fromApp, .response, .show, 81, #"{"success":true,"resultCode":"SUCCESS"}"#)
        }
        #expect(found.map(\.code) == [.answerUnasked, .answerUnasked])
        #expect(found.last?.text.hasPrefix("the app answers Show #81") == true)
    }

    @Test("the last 20 pieces are kept per app, and those of apps that left among the latest")
    func kept() async {
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        for number in 0..<30 {
            talk.putsFile(#"{"syncFileName":"f\#(number)","crc":1}"#, bytes: "x")
        }
        let advisor = await advice(on: talk.entries)
        let about = advisor.advice(about: AppID(rawValue: 1))
        #expect(about.count == TrafficAdvisor.keptPerApp)
        #expect(about.last?.text.contains("\"f29\"") == true)
        talk.receive(.appClosed(AppID(rawValue: 1), reason: "left", time: talk.time))
        let later = await advice(on: talk.entries)
        #expect(later.advice(about: AppID(rawValue: 1)).isEmpty)
        #expect(later.recent().count == 30)
    }

    @Test("text of peers cannot break a line of advice")
    func printable() async {
        let found = await advice { talk in
            talk.starts()
            talk.fails(.show, "REJECTED")
            talk.putsFile(#"{"syncFileName":"a\nb\u001b[2J","crc":1}"#, bytes: "x")
        }
        #expect(found.first?.text.contains("\u{1B}") == false)
        #expect(found.first?.text.contains("\n") == false)
    }

    @Test("random frames neither crash the rules nor flood anybody")
    func survivesFuzzing() async {
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        var state: UInt64 = 7
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for _ in 0..<20_000 {
            await Task.yield()
            talk.milliseconds += Int64(random(40)) - 1
            let payload = (0..<random(40)).map { _ in UInt8(random(256)) }
            talk.says(
                random(2) == 0 ? .fromApp : .fromAccessory,
                Frame(
                    version: UInt8(random(5) + 1), isEncrypted: random(20) == 0,
                    type: FrameType.allCases[random(4)],
                    service: ServiceType.allCases[random(ServiceType.allCases.count)],
                    info: UInt8(random(8)), sessionID: UInt8(random(3)),
                    messageID: UInt32(random(4)), payload: ByteBuffer(bytes: payload)))
        }
        let told = Mutex(0)
        _ = await advice(on: talk.entries) { _ in told.withLock { $0 += 1 } }
        // Some 400 s: a handful of causes a minute.
        #expect(told.withLock { $0 } < 300)
    }
}
