// The stand-in for sdl_core and the ends of sessions: late answers, what is kept, ghosts.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The stand-in for sdl_core: sessions")
struct CoreSessionTests {
    /// A frame on a session that does not exist.
    private static func isStray(_ frame: Frame) -> Bool {
        frame.type == .single && frame.messageID == 0
    }

    private func tries(
        _ count: UInt64, version: UInt8 = 5, _ body: (inout CoreDialogue, UInt8) -> Void
    ) -> (strays: Int, unexpected: Int) {
        var result = (strays: 0, unexpected: 0)
        for seed in 1...count {
            var dialogue = CoreDialogue(seed: seed)
            let app = dialogue.app(version: version)
            body(&dialogue, app)
            if dialogue.wait(.seconds(1)).contains(where: Self.isStray) { result.strays += 1 }
            if dialogue.core.ends.last?.isUnexpected == true { result.unexpected += 1 }
            #expect(dialogue.app(version: version) == app)
            #expect(dialogue.core.sessions[app]?.app != nil, "the app ID is free at once")
        }
        return result
    }

    private func hash(_ dialogue: CoreDialogue, _ session: UInt8) -> UInt32 {
        dialogue.core.sessions[session]?.hash ?? 0
    }

    @Test("Unregister and EndService in one write: sometimes a late answer, mostly unexpected")
    func backToBack() {
        let five = tries(65) { dialogue, app in
            dialogue.say(
                .unregister(app),
                .endService(version: 5, sessionID: app, hashID: hash(dialogue, app)))
        }
        #expect((3...20).contains(five.strays))
        #expect(five.unexpected > 50)
        let four = tries(40, version: 4) { dialogue, app in
            dialogue.say(
                .unregister(app, version: 4),
                .endService(version: 4, sessionID: app, hashID: hash(dialogue, app)))
        }
        #expect((10...30).contains(four.strays))
    }

    @Test("waiting for the answer to Unregister: no late answer, expected", arguments: [5, 4])
    func waiting(version: UInt8) {
        let result = tries(45, version: version) { dialogue, app in
            dialogue.say(.unregister(app, version: version))
            #expect(dialogue.result(of: 65_530) == "SUCCESS")
            dialogue.end(app, version: version)
        }
        #expect(result == (0, 0))
    }

    @Test("a second Unregister with EndService at once is nearly always answered too late")
    func secondUnregister() {
        let result = tries(45) { dialogue, app in
            dialogue.say(.unregister(app))
            #expect(dialogue.result(of: 65_530) == "SUCCESS")
            dialogue.say(
                .unregister(app),
                .endService(version: 5, sessionID: app, hashID: hash(dialogue, app)))
        }
        #expect(result.strays > 35 && result.unexpected == 0)
    }

    @Test("EndService first: Unregister is answered too late, always")
    func endFirst() {
        let result = tries(25) { dialogue, app in
            let end = Frame.endService(version: 5, sessionID: app, hashID: hash(dialogue, app))
            dialogue.say(end, .unregister(app))
        }
        #expect(result == (25, 25))
    }

    @Test("EndService alone for an app that crashed: unexpected, and no late answer")
    func endOnly() {
        #expect(tries(45) { $0.end($1) } == (0, 45))
    }

    @Test("an Alert pending at EndService is never answered")
    func pendingAlert() {
        let result = tries(10) { dialogue, app in
            dialogue.say(.request(app, .alert, 7, json: #"{"duration":3000}"#))
            dialogue.wait()
            dialogue.end(app)
            #expect(!dialogue.wait(.seconds(4)).contains { $0.correlationID == 7 })
        }
        #expect(result == (0, 10))
    }

    @Test("what an app had is kept when its end was not expected, and only then")
    func resumption() {
        func register(after farewell: (inout CoreDialogue, UInt8) -> Void) -> String? {
            var dialogue = CoreDialogue()
            let app = dialogue.app()
            dialogue.say(.request(app, .addCommand, 3))
            dialogue.wait()
            let hash = dialogue.core.sessions[app]?.app?.hash
            farewell(&dialogue, app)
            let next = dialogue.start()
            dialogue.say(.register(next, "app", hash: hash))
            return dialogue.result(of: 65_529)
        }
        #expect(register { $0.end($1) } == "SUCCESS")
        #expect(
            register { dialogue, _ in
                dialogue.disconnect()
                dialogue.connect()
            } == "SUCCESS")
        #expect(
            register { dialogue, app in
                dialogue.say(.unregister(app))
                dialogue.wait()
                dialogue.end(app)
            } == "RESUME_FAILED")
    }

    @Test("eight apps: all Unregisters, all answers, all EndServices end them as expected")
    func shutdown() {
        var dialogue = CoreDialogue()
        let apps = (1...8).map { dialogue.app("app \($0)") }
        dialogue.say(apps.map { .unregister($0) })
        #expect(dialogue.wait().count { $0.resultCode == "SUCCESS" } == 8)
        let ends = apps.map {
            Frame.endService(version: 5, sessionID: $0, hashID: hash(dialogue, $0))
        }
        dialogue.say(ends)
        let heard = dialogue.wait()
        #expect(heard.count { $0.controlType == .endServiceACK } == 8)
        #expect(!heard.contains(where: Self.isStray))
        #expect(dialogue.core.ends.count { !$0.isUnexpected } == 8)
    }

    // MARK: - Protection refused

    /// The core's answer to a request to protect the RPC service.
    private func protect(_ dialogue: inout CoreDialogue, _ app: UInt8) -> [Frame] {
        dialogue.say(
            Frame(
                version: 5, isEncrypted: true, type: .control, service: .rpc, info: 1,
                sessionID: app))
        return dialogue.wait()
    }

    /// Whether the same app can register afterwards, on another connection too.
    private func registers(after word: (inout CoreDialogue, UInt8) -> Void) -> [String?] {
        [false, true].map { isElsewhere in
            var dialogue = CoreDialogue()
            let app = dialogue.app()
            _ = protect(&dialogue, app)
            word(&dialogue, app)
            if isElsewhere { dialogue.connect() }
            let next = dialogue.start()
            dialogue.say(.register(next, "app"))
            return dialogue.result(of: 65_529)
        }
    }

    @Test("a protected RPC service: EndService, NAK, NONE; the app stays and may do nothing")
    func protection() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        let heard = protect(&dialogue, app)
        #expect(heard.map(\.controlType) == [.endService, .startServiceNAK, nil])
        #expect(heard.first?.payloadBytes == 0)
        dialogue.say(.request(app, .show, 4))
        #expect(dialogue.result(of: 4) == "DISALLOWED")
    }

    @Test("only the hash frees an app whose service the core ended, or a v1 header, or Unregister")
    func ghost() {
        let ghost: [String?] = ["APPLICATION_REGISTERED_ALREADY", "APPLICATION_REGISTERED_ALREADY"]
        let free: [String?] = ["SUCCESS", "SUCCESS"]
        #expect(registers { _, _ in } == ghost)
        #expect(
            registers {
                $0.say(.control(.endServiceACK, session: $1))
                $0.wait()
            } == ghost)
        #expect(
            registers {
                $0.say(.unregister($1))
                $0.wait()
            } == free)
        #expect(registers { $0.end($1) } == free)
        #expect(
            registers { dialogue, app in
                let document: BSONDocument = [
                    "hashId": .int32(Int32(bitPattern: hash(dialogue, app)))
                ]
                dialogue.say(
                    .control(.endServiceACK, session: app, payload: document.bytes))
                dialogue.wait()
            } == free)
        var versions: [UInt8?] = []
        #expect(
            registers { dialogue, app in
                dialogue.say(.endService(version: 1, sessionID: app, hashID: 0))
                versions.append(dialogue.wait().first?.version)
            } == free)
        #expect(versions == [1, 1], "answered in v1")
    }

    @Test("an acknowledgement with the hash ends whoever has the number, and is not answered")
    func acknowledgesInTheNextSession() {
        var dialogue = CoreDialogue()
        let first = dialogue.app("first")
        dialogue.end(first)
        let second = dialogue.app("second")
        #expect(second == first)
        let document: BSONDocument = ["hashId": .int32(Int32(bitPattern: hash(dialogue, second)))]
        dialogue.say(.control(.endServiceACK, session: second, payload: document.bytes))
        #expect(dialogue.wait() == [])
        #expect(dialogue.core.sessions[second] == nil)
    }

    @Test("an EndService that the line loses is never answered, and the session goes on")
    func lostEnd() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        dialogue.core.habits.lostEndChance = 1
        dialogue.say(.endService(version: 5, sessionID: app, hashID: hash(dialogue, app)))
        #expect(dialogue.wait() == [])
        #expect(dialogue.core.sessions[app]?.app != nil)
    }

    @Test("a second app with the ID of a registered one: with capital letters another answer")
    func duplicates() {
        var dialogue = CoreDialogue()
        for (appID, answer) in [
            ("abc-1", "APPLICATION_REGISTERED_ALREADY"), ("Abc-2", "DISALLOWED"),
        ] {
            _ = dialogue.app(appID)
            let second = dialogue.start()
            dialogue.say(.register(second, appID))
            #expect(dialogue.result(of: 65_529) == answer)
        }
    }

    @Test("a wrong hash is refused; none at all, too; 0 in v5 is taken")
    func wrongHash() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        dialogue.say(.endService(version: 5, sessionID: app, hashID: 99))
        #expect(dialogue.wait().map(\.controlType) == [.endServiceNAK])
        dialogue.say(.control(.endService, session: app))
        #expect(dialogue.wait().map(\.controlType) == [.endServiceNAK])
        dialogue.say(.endService(version: 5, sessionID: app, hashID: 0))
        #expect(dialogue.wait().map(\.controlType) == [.endServiceACK])
    }

    @Test("the hash of a session number is the same for everyone who has it on a connection")
    func sameHash() {
        var dialogue = CoreDialogue()
        let first = dialogue.start()
        let before = hash(dialogue, first)
        dialogue.end(first)
        #expect(dialogue.start() == first)
        #expect(hash(dialogue, first) == before)
    }

    @Test("255 sessions on all connections, lowest first; the 256th is refused in v1")
    func allSessions() {
        var dialogue = CoreDialogue()
        for number in 1...200 as ClosedRange<UInt8> {
            #expect(dialogue.start() == number)
            if number % 50 == 0 { dialogue.wait(.seconds(2)) }
        }
        dialogue.connect()
        for number in 201...255 as ClosedRange<UInt8> { #expect(dialogue.start() == number) }
        dialogue.say(.startService())
        #expect(dialogue.wait() == [.startServiceNAK()])
        dialogue.end(230)
        #expect(dialogue.start() == 230)
    }

    @Test("SIGTERM: EndService and IGNITION_OFF for every app, then silence, then the end")
    func slowEnd() {
        var dialogue = CoreDialogue()
        _ = dialogue.app()
        dialogue.core.terminate(at: dialogue.now)
        let heard = dialogue.wait(.seconds(6))
        #expect(heard.first?.controlType == .endService)
        #expect(heard.dropFirst().first.flatMap { RPCHeader($0.payload) }?.functionID == 32_769)
        dialogue.say(.startService())
        #expect(dialogue.wait(.milliseconds(500)).isEmpty)
        #expect(dialogue.closed.isEmpty)
        dialogue.wait(.seconds(1))
        #expect(dialogue.closed == [1])
    }
}
