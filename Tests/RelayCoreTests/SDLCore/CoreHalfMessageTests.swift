// The stand-in for sdl_core and the half message of an app that crashed: which remedies help, and at what
// cost, is the same as measured with the real one.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The stand-in for sdl_core: half messages")
struct CoreHalfMessageTests {
    /// A crash in the middle of a file, a remedy, and the next app with another file.
    struct Try {
        var service = ServiceType.rpc
        var version: UInt8 = 5
        /// How many of three consecutive frames went out before the crash.
        var cut = 1
        var oldSize = 3000
        var newSize = 3000
        var seed: UInt64 = 1
    }

    struct Outcome: Equatable {
        /// The result of the new app's own request.
        var answer: String?
        /// Whether the new file is stored as it was sent.
        var isRight = false
        /// Results that came for the dead app's request on the new app's session.
        var strays: [String] = []
        /// Whether the old file is stored, although it never arrived as a whole.
        var hasStoredOld = false
    }

    private static let oldCorrelation: Int32 = 900
    private static let newCorrelation: Int32 = 901

    /// - Parameter remedy: Sends frames between the crash and the next StartService.
    private func run(
        _ what: Try, remedy: (inout CoreDialogue, UInt8) -> Void
    ) -> Outcome {
        var dialogue = CoreDialogue(seed: what.seed)
        let old = dialogue.app("old", version: what.version)
        let oldFile = ByteBuffer(repeating: UInt8(ascii: "z"), count: what.oldSize)
        let newFile = ByteBuffer(repeating: UInt8(ascii: "y"), count: what.newSize)
        let frames = Frame.putFile(
            old, name: "old.bin", contents: oldFile, correlationID: Self.oldCorrelation,
            service: what.service, version: what.version, frameBytes: what.oldSize / 2 - 300)
        dialogue.say(Array(frames.prefix(1 + what.cut)))
        dialogue.wait(.milliseconds(50))
        remedy(&dialogue, old)
        let begin = dialogue.history.count
        let new = dialogue.app("new", version: what.version)
        dialogue.say(
            Frame.putFile(
                new, name: "new.bin", contents: newFile, correlationID: Self.newCorrelation,
                service: what.service, version: what.version, frameBytes: what.newSize / 2 - 300))
        dialogue.wait(.seconds(1))
        let answers = dialogue.history[begin...].drop { $0.controlType != .startServiceACK }
            .filter { $0.sessionID == new && $0.correlationID != nil }
        return Outcome(
            answer: answers.first { $0.correlationID == Self.newCorrelation }?.resultCode,
            isRight: dialogue.core.files["new"]?["new.bin"] == newFile,
            strays: answers.filter { $0.correlationID == Self.oldCorrelation }
                .compactMap(\.resultCode),
            hasStoredOld: dialogue.core.stored.contains { $0.name == "old.bin" })
    }

    private static let kinds: [Try] = [
        Try(), Try(service: .bulk), Try(version: 4), Try(service: .bulk, version: 4),
    ]

    private func unregister(_ dialogue: inout CoreDialogue, _ session: UInt8, _ version: UInt8) {
        dialogue.say(.unregister(session, version: version))
        _ = dialogue.wait { $0.correlationID == 65_530 }
    }

    /// The RPC header of a request for no function, followed by `extra` bytes.
    private static func harmless(_ extra: Int = 1) -> ByteBuffer {
        var bytes = ByteBuffer()
        RPCHeader(type: .request, functionID: 0xFFFF, correlationID: oldCorrelation, jsonBytes: 0)
            .write(to: &bytes)
        bytes.writeRepeatingByte(0, count: extra)
        return bytes
    }

    @Test("no remedy: a mixture is stored under the old name, never the new file", arguments: kinds)
    func none(what: Try) {
        for cut in 1...2 {
            var what = what
            what.cut = cut
            let outcome = run(what) { dialogue, session in
                unregister(&dialogue, session, what.version)
                dialogue.end(session, version: what.version)
            }
            #expect(
                outcome
                    == Outcome(answer: nil, isRight: false, strays: ["SUCCESS"], hasStoredOld: true)
            )
        }
    }

    @Test("no remedy, only the first frame came: INVALID_DATA, or right by luck of equal sizes")
    func noneAfterFirstFrame() {
        let other = run(Try(cut: 0, newSize: 2000)) { $0.end($1) }
        #expect(!other.isRight && other.answer != "SUCCESS")
        #expect(run(Try(cut: 0)) { $0.end($1) }.isRight)
    }

    @Test(
        "last frame with a harmless header, its answer awaited, EndService: right", arguments: kinds
    )
    func closed(what: Try) {
        for cut in 0...2 {
            for seed in 1...10 as ClosedRange<UInt64> {
                var what = what
                (what.cut, what.seed) = (cut, seed)
                var answer: Frame?
                let outcome = run(what) { dialogue, session in
                    dialogue.say(
                        .last(
                            session, service: what.service, version: what.version, Self.harmless()))
                    answer = dialogue.wait { $0.correlationID == Self.oldCorrelation }
                    dialogue.end(session, version: what.version)
                }
                #expect(answer?.resultCode == (cut == 0 ? "UNSUPPORTED_REQUEST" : "INVALID_DATA"))
                #expect(
                    RPCHeader(answer?.payload ?? ByteBuffer())?.functionID
                        == (cut == 0 ? 0xFFFF : 32))
                #expect(outcome == Outcome(answer: "SUCCESS", isRight: true))
            }
        }
    }

    @Test("a closing frame that exactly fills stores the corrupt old file; one byte more does not")
    func filled() {
        for extra in 0...1 {
            let outcome = run(Try(cut: 2)) { dialogue, session in
                let frames = Frame.putFile(
                    session, name: "old.bin", contents: ByteBuffer(repeating: 0, count: 3000),
                    correlationID: Self.oldCorrelation, frameBytes: 1200)
                let missing = frames.last?.payloadBytes ?? 0
                dialogue.say(.last(session, ByteBuffer(repeating: 0, count: missing + extra)))
                _ = dialogue.wait { $0.correlationID == Self.oldCorrelation }
                dialogue.end(session)
            }
            #expect(
                outcome == Outcome(answer: "SUCCESS", isRight: true, hasStoredOld: extra == 0))
        }
    }

    @Test("wrong number, new first frame, single frame, empty last frame: no remedy")
    func noRemedy() {
        let remedies: [(UInt8) -> Frame] = [
            {
                Frame(
                    version: 5, type: .consecutive, service: .rpc, info: 9, sessionID: $0,
                    messageID: 77, payload: Self.harmless())
            },
            {
                Frame.putFile(
                    $0, name: "x", contents: ByteBuffer(repeating: 1, count: 40), correlationID: 5,
                    frameBytes: 20)[0]
            },
            {
                .rpc(
                    version: 5, sessionID: $0, messageID: 77, type: .request, functionID: 0xFFFF,
                    correlationID: 6)
            },
            {
                Frame(
                    version: 5, type: .consecutive, service: .rpc, info: 0, sessionID: $0,
                    messageID: 77)
            },
        ]
        for (index, remedy) in remedies.enumerated() {
            var malformed = 0
            let outcome = run(Try()) { dialogue, session in
                dialogue.say(remedy(session))
                dialogue.wait()
                malformed = dialogue.core.counters.malformed
                dialogue.end(session)
            }
            #expect(!outcome.isRight)
            #expect(malformed == (index == 3 ? 1 : 0))
        }
    }

    @Test("the last frame after EndService is answered without a session, or in the next one")
    func closedTooLate() {
        var strays = 0
        for seed in 1...40 as ClosedRange<UInt64> {
            var heardZero = false
            let outcome = run(Try(seed: seed)) { dialogue, session in
                dialogue.end(session)
                dialogue.say(.last(session, Self.harmless()))
                if seed % 2 == 0 {
                    heardZero = dialogue.wait(.milliseconds(100)).contains { $0.messageID == 0 }
                    #expect(heardZero)
                }
            }
            #expect(outcome.isRight)
            strays += outcome.strays.count
        }
        #expect(strays > 0)
    }

    @Test("half messages expire after 10 s, and only when some frame comes")
    func expiry() {
        let outcome = run(Try()) { dialogue, session in
            unregister(&dialogue, session, 5)
            dialogue.end(session)
            #expect(dialogue.wait(.seconds(11)).isEmpty)
        }
        #expect(outcome.isRight)
        let early = run(Try()) { dialogue, session in
            dialogue.end(session)
            dialogue.wait(.seconds(9))
        }
        #expect(!early.isRight)
    }

    @Test("after 10 s the answer to the dead message reaches whoever has the session")
    func lateExpiry() {
        var dialogue = CoreDialogue()
        let old = dialogue.app("old")
        let file = ByteBuffer(repeating: 1, count: 3000)
        dialogue.say(
            Array(
                Frame.putFile(old, name: "f", contents: file, correlationID: 900, frameBytes: 1200)
                    .prefix(2)))
        dialogue.end(old)
        let new = dialogue.app("new")
        #expect(new == old)
        dialogue.wait(.seconds(10))
        dialogue.say(.request(new, .show, 5), .request(new, .show, 900))
        #expect(dialogue.result(of: 900) == "INVALID_DATA", "the wrong answer comes first")
        #expect(dialogue.result(of: 900) == "SUCCESS")
    }

    @Test("one byte behind a lone first frame is read with what the heap held before")
    func staleHeap() {
        var answers = 0
        for seed in 1...20 as ClosedRange<UInt64> {
            var dialogue = CoreDialogue(seed: seed)
            let app = dialogue.app()
            let small = ByteBuffer(repeating: 1, count: 2000)
            dialogue.say(
                Frame.putFile(app, name: "a", contents: small, correlationID: 900, frameBytes: 900))
            #expect(dialogue.result(of: 900) == "SUCCESS")
            let large = ByteBuffer(repeating: 2, count: 3000)
            dialogue.say(
                Frame.putFile(
                    app, name: "b", contents: large, correlationID: 901, message: 78,
                    frameBytes: 900)[0])
            dialogue.say(.last(app, message: 78, ByteBuffer(repeating: 0, count: 1)))
            if dialogue.result(of: 900) == "INVALID_DATA" { answers += 1 }
        }
        #expect((10..<20).contains(answers))
    }

    @Test("the same message ID on services 7 and 15 at once is one message")
    func services() {
        var dialogue = CoreDialogue()
        let app = dialogue.app()
        let (first, second) = (
            ByteBuffer(repeating: 1, count: 2000), ByteBuffer(repeating: 2, count: 2000)
        )
        let rpc = Frame.putFile(app, name: "a", contents: first, correlationID: 1, frameBytes: 900)
        let bulk = Frame.putFile(
            app, name: "b", contents: second, correlationID: 2, service: .bulk, frameBytes: 900)
        for (one, other) in zip(rpc, bulk) { dialogue.say(one, other) }
        dialogue.wait(.seconds(1))
        #expect(dialogue.core.files["app"]?["b"] == nil)
    }

    @Test("closing the connection drops its half messages")
    func connectionClosed() {
        let outcome = run(Try()) { dialogue, _ in
            dialogue.disconnect()
            dialogue.connect()
        }
        #expect(outcome == Outcome(answer: "SUCCESS", isRight: true))
    }
}
