import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic
import Synchronization
import Testing

@Suite struct AdviceTests {
    @Test(
        "every code has a dialogue that brings it and nothing else", arguments: AdviceCode.allCases)
    func brings(code: AdviceCode) throws {
        let example = try #require(adviceExamples[code], "no dialogue for \(code.rawValue)")
        let found = advice(example.dialogue)
        #expect(found.map(\.code) == [code])
        let only = try #require(found.first)
        for words in example.says { #expect(only.text.contains(words), "\(only.text)") }
        #expect(!only.text.isEmpty && !only.remedy.isEmpty)
        #expect(!only.sentence.contains("\n") && !only.remedy.hasSuffix("."))
    }

    @Test("what is nearly the same brings nothing", arguments: AdviceCode.allCases)
    func nearMiss(code: AdviceCode) throws {
        let example = try #require(adviceExamples[code])
        let found = advice(example.nearMiss).filter { $0.code == code }
        #expect(found.isEmpty, "\(found.map(\.text))")
    }

    /// The names of all recordings.
    static let recordings: [String] = {
        let files = try? FileManager.default.contentsOfDirectory(atPath: Capture.folder.path())
        return (files ?? []).filter { $0.hasSuffix(".up.bin") }.map { String($0.dropLast(7)) }
            .sorted()
    }()

    @Test(
        "no warning in any recorded session of a healthy app, once or three times in a row",
        arguments: recordings)
    func recordedSessions(name: String) throws {
        let found = advice(on: try Capture.entries(name, runs: 3)).recent()
        let warnings = found.filter { $0.code.severity == .warning }
        #expect(warnings.isEmpty, "\(name): \(warnings.map(\.sentence))")
        // sdl_core's apps fill frames up to the mtu: reported once, although it happens in three runs.
        let information = Set(found.map(\.code)).subtracting([.mtuNear])
        #expect(information.isEmpty && found.count <= 1, "\(found.map(\.sentence))")
        #expect(found.allSatisfy { $0.app == nil })
    }

    @Test("there are recordings of two app libraries") func libraries() {
        #expect(Self.recordings.count >= 4)
        #expect(Self.recordings.contains { $0.hasPrefix("js-") })
        #expect(Self.recordings.contains { $0.hasPrefix("java-") })
    }

    @Test("a refused name is told once, before the refusal")
    func beforeTheRefusal() {
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        talk.secondApp(name: "Relay Test", appID: "other")
        let before = advice(on: talk.entries).recent()
        #expect(before.map(\.code) == [.duplicateAppName])
        #expect(
            before.first?.remedy
                == "give one of the two another appName, or stop app #1 (Relay Test)")
        var refused = talk
        refused.response(
            .registerAppInterface, 1, #"{"success":false,"resultCode":"DUPLICATE_NAME"}"#)
        #expect(advice(on: refused.entries).recent().map(\.code) == [.duplicateAppName])
        // A head unit that accepts it.
        talk.response(.registerAppInterface, 1, #"{"success":true,"resultCode":"SUCCESS"}"#)
        #expect(advice(on: talk.entries).recent().isEmpty)
    }

    @Test("who asks for facts waits for a part of a batch, not for all of it")
    func batchInParts() {
        let facts = SessionFacts()
        let known = Mutex<[Int]>([])
        let advisor = TrafficAdvisor(facts: facts) { _ in
            known.withLock { $0.append(facts.facts().count) }
        }
        var talk = Dialogue(validator: .builtIn)
        talk.starts(level: "NONE")
        talk.fails(.show, "DISALLOWED")
        for _ in 0..<100 { talk.control(.fromAccessory, .heartbeatACK, .control) }
        talk.receive(.appConnected(AppID(rawValue: 2), peer: "127.0.0.1:5001", time: talk.time))
        advisor.consume(talk.entries)
        #expect(known.withLock { $0 } == [1], "when the advice came")
        #expect(facts.facts().count == 2)
    }

    @Test(
        "an app ID with capitals that is refused as DISALLOWED may be an earlier run's",
        arguments: [("Music-1", true), ("music-1", false)])
    func capitals(appID: String, mayBeLeftOver: Bool) {
        let registration = #"{"appName":"A","appID":"\#(appID)"}"#
        let refusal = #"{"success":false,"resultCode":"DISALLOWED"}"#
        let unknown = advice { talk in
            talk.opens()
            talk.request(.registerAppInterface, 1, registration)
            talk.response(.registerAppInterface, 1, refusal)
        }
        #expect(unknown.map(\.code) == [.registrationRefused])
        #expect(unknown.first?.remedy.contains("policies") == true)
        #expect(unknown.first?.remedy.contains("relayctl reopen") == mayBeLeftOver)
        // relayd has seen the earlier run.
        let left = advice { talk in
            talk.opens()
            talk.registers(name: "A", appID: appID)
            talk.receive(.appClosed(AppID(rawValue: 1), reason: "killed", time: talk.time))
            talk.app = AppID(rawValue: 2)
            talk.session = 2
            if let app = talk.app { talk.receive(.appConnected(app, peer: "p", time: talk.time)) }
            talk.control(.fromApp, .startService, session: 0)
            talk.control(.fromAccessory, .startServiceACK, payload: Dialogue.grant())
            talk.request(.registerAppInterface, 1, registration)
            talk.response(.registerAppInterface, 1, refusal)
        }
        #expect(left.map(\.code) == [mayBeLeftOver ? .duplicateAppID : .registrationRefused])
        #expect(left.first?.text.contains("probably an earlier run") == mayBeLeftOver)
        #expect(left.first?.remedy.contains("relayctl reopen") == mayBeLeftOver)
    }

    @Test("an ID that another app has in other capitals is that app's")
    func rivalInCapitals() {
        let found = advice { talk in
            talk.opens()
            talk.registers(name: "First", appID: "Music-1")
            talk.secondApp(name: "Second", appID: "MUSIC-1")
            talk.response(
                .registerAppInterface, 1, #"{"success":false,"resultCode":"DISALLOWED"}"#)
        }
        #expect(found.map(\.code) == [.duplicateAppID])
        #expect(found.first?.text.contains("app #1 (First)") == true)
    }

    @Test("a refused service that was asked for with encryption says so, as a guess")
    func protectedService() {
        for service in [ServiceType.rpc, .video] {
            let found = advice { talk in
                talk.starts()
                talk.says(
                    .fromApp,
                    Frame(
                        version: 5, isEncrypted: true, type: .control, service: service,
                        info: ControlFrameType.startService.rawValue, sessionID: 1))
                talk.control(.fromAccessory, .startServiceNAK, service)
            }
            #expect(found.map(\.code) == [.startRefused])
            #expect(found.first?.text.contains("probably has none") == true)
            #expect(found.first?.remedy.contains("without encryption") == true)
        }
    }

    @Test("a head unit that stops on TCP has no cable to look at")
    func stalledOnTCP() {
        for (address, word) in [("tcp:127.0.0.1:12345", "own log"), ("serial:/dev/ttyS0", "cable")]
        {
            let found = advice { talk in
                talk.receive(.linkOpened(number: 1, address: address, time: talk.time))
                talk.notices(.stoppedSending(bytes: 30, seconds: 10), app: nil)
            }
            #expect(found.first?.remedy.contains(word) == true)
            #expect(found.first?.remedy.contains("cable") == (word == "cable"))
        }
    }

    @Test("an answer to what a dead app left unfinished names that")
    func strayAnswer() {
        let found = advice { talk in
            talk.starts()
            talk.leavesPutFile(correlationID: 7)
            talk.runsAgain(appID: "other")
            talk.request(.show, 8)
            talk.response(.putFile, 7, #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        }
        #expect(found.map(\.code) == [.answerUnasked])
        #expect(
            found.first?.text.contains("left unfinished (2 of 3 frames)") == true,
            "\(found.map(\.text))")
    }

    @Test(
        "a refusal for a name or ID that no connected app has points to an earlier run",
        arguments: [
            ("DUPLICATE_NAME", AdviceCode.duplicateAppName),
            ("APPLICATION_REGISTERED_ALREADY", .duplicateAppID),
        ])
    func ghost(result: String, code: AdviceCode) {
        let found = advice { talk in
            talk.opens()
            talk.request(.registerAppInterface, 1, #"{"appName":"A","appID":"1"}"#)
            talk.response(
                .registerAppInterface, 1, #"{"success":false,"resultCode":"\#(result)"}"#)
        }
        #expect(found.map(\.code) == [code])
        #expect(found.first?.text.contains("earlier run") == true)
        #expect(found.first?.remedy.contains("try again") == true)
        #expect(found.first?.remedy.contains("if it stays, relayctl reopen") == true)
    }

    @Test("DISALLOWED although the level is right is about parameters or the user")
    func disallowedParameters() {
        let found = advice { talk in
            talk.starts()
            talk.fails(.getVehicleData, "DISALLOWED", #"{"rpm":true}"#)
        }
        #expect(
            found.first?.text.contains("one of its parameters is not among those allowed: speed")
                == true)
    }

    @Test("DISALLOWED in a level that is not enough names the levels that are")
    func disallowedLevel() {
        let found = advice { talk in
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
    func unknownFunction() {
        let found = advice { talk in
            talk.starts()
            talk.request(.subtleAlert, 5)
            talk.response(.genericResponse, 5, #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        }
        #expect(found.map(\.code) == [.invalidData])
        #expect(found.first?.text.contains("SubtleAlert #5") == true)
        #expect(found.first?.text.contains("does not know this function") == true)
    }

    @Test("a function that is in no specification is not a parameter's fault")
    func functionOfNobody() {
        let found = advice { talk in
            talk.starts()
            talk.request(FunctionID(rawValue: 0x270F), 5)
            talk.response(.genericResponse, 5, #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        }
        let refusal = found.last { $0.code == .invalidData }
        #expect(refusal?.text.contains("does not know this function") == true)
        #expect(refusal?.remedy.contains("RPC version") == true)
    }

    @Test("INVALID_DATA for a request that is no JSON says so, and was asked for")
    func invalidJSON() {
        let found = advice { talk in
            talk.starts()
            talk.request(.show, 77, #"{"mainField1":"#)
            talk.response(.show, 77, #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        }
        #expect(found.map(\.code) == [.notAnRPC, .invalidData])
        #expect(found.last?.text.hasPrefix("Show #77 is INVALID_DATA: ") == true)
        #expect(found.last?.text.contains("JSON") == true)
    }

    @Test("answers nobody asked for are told for either side")
    func unaskedOfBoth() {
        let found = advice { talk in
            talk.starts()
            talk.response(.show, 80, #"{"success":true,"resultCode":"SUCCESS"}"#)
            talk.rpc(
                .fromApp, .response, .show, 81, #"{"success":true,"resultCode":"SUCCESS"}"#)
        }
        #expect(found.map(\.code) == [.answerUnasked, .answerUnasked])
        #expect(found.last?.text.hasPrefix("the app answers Show #81") == true)
    }

    @Test("text of peers cannot break a line of advice")
    func printable() {
        let found = advice { talk in
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
        _ = advice(on: talk.entries) { _ in told.withLock { $0 += 1 } }
        // About 400 s: a handful of causes a minute.
        #expect(told.withLock { $0 } < 300)
    }
}

extension Dialogue {
    /// The first two of three frames of a PutFile.
    fileprivate mutating func leavesPutFile(correlationID: Int32) {
        var message = Frame.rpc(
            version: 5, service: .bulk, sessionID: session, messageID: 900, type: .request,
            functionID: FunctionID.putFile.rawValue, correlationID: correlationID,
            json: #"{"syncFileName":"f"}"#, bulk: ByteBuffer(repeating: 1, count: 100)
        ).payload
        var sizes = ByteBuffer()
        sizes.writeInteger(UInt32(message.readableBytes))
        sizes.writeInteger(UInt32(3))
        func part(_ type: FrameType, _ info: UInt8, _ payload: ByteBuffer) -> Frame {
            Frame(
                version: 5, type: type, service: .bulk, info: info, sessionID: session,
                messageID: 900, payload: payload)
        }
        says(.fromApp, part(.first, 0, sizes))
        for info in 1...2 {
            let piece = message.readSlice(length: 40) ?? ByteBuffer()
            says(.fromApp, part(.consecutive, UInt8(info), piece))
        }
    }
}
