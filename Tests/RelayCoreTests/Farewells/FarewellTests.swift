// How sessions end that an app leaves or ends, as dialogues on paper that follow measurements with sdl_core.
// Sessions that the head unit ends are in HeadUnitEndTests.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Goodbyes are said in order, each word behind the answer to the one before")
struct FarewellTests: GoodbyeWords {
    private typealias Bench = RouterBench

    // MARK: An app is gone

    @Test("an app that vanishes: EndService alone, with its hash, so that it can resume")
    func vanished() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .rpc(session: 1, message: 41))
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [end(1, message: 42)])
        // Frames that still come for it are swallowed until the head unit confirms.
        #expect(bench.accessory(says: .rpc(session: 1, .notification)) == .drop(.farewell(1)))
        #expect(!bench.router.hasSaidAllGoodbyes)
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.router.hasSaidAllGoodbyes)
        #expect(bench.accessory(says: .rpc(session: 1)) == .drop(.lateWords(1)))
        bench.pass(.seconds(10))
        #expect(bench.accessory(says: .rpc(session: 1)) == .drop(.noSuchSession(1)))
    }

    @Test("goodbyes speak the version of their session; v1 has no hash", arguments: [1, 2, 4, 5])
    func versions(version: UInt8) {
        let bench = Bench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        var hash = ByteBuffer()
        if version > 1 { hash.writeInteger(UInt32(77)) }
        let ack =
            version == 5
            ? Frame.startServiceACK(session: 3, hashID: 77)
            : Frame(
                version: version, type: .control, service: .rpc,
                info: ControlFrameType.startServiceACK.rawValue, sessionID: 3, payload: hash)
        #expect(bench.accessory(says: ack) == .toApp("music"))
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        let said = bench.heard()
        #expect(said.map(\.version) == [version])
        #expect(said.map { ControlPayload($0).hashID } == [version == 1 ? nil : 77])
    }

    @Test("without a known hash the goodbye is the oldest EndService, which needs none")
    func unknownHash() {
        let bench = Bench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        _ = bench.accessory(says: .control(.startServiceACK, session: 3))
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        let bytes = bench.heard().flatMap { Array($0.wire.readableBytesView) }
        #expect(bytes == [0x10, 0x07, 0x04, 0x03, 0, 0, 0, 0])
    }

    @Test("what the app said last goes before its goodbye, however long the link is busy")
    func lastWords() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.waiting = [1]
        bench.router.disconnect("music", at: bench.now)
        bench.pass(.seconds(30))
        #expect(bench.heard() == [])
        bench.drained(1)
        #expect(bench.heard() == [end(1, message: 1)])
    }

    @Test("a head unit that does not confirm keeps the number for a bounded time")
    func unconfirmed() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.disconnect("music", at: bench.now)
        _ = bench.heard()
        bench.pass(bench.router.configuration.endServiceTimeout)
        #expect(bench.router.hasSaidAllGoodbyes)
        #expect(bench.router.nextDeadline == nil)
        // The answer still comes, and reaches nobody, whichever app has the number.
        bench.open("maps", session: 1)
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.lateWords(1)))
    }

    @Test("late words with message ID 0 never reach the next app with the number")
    func lateWords() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.disconnect("music", at: bench.now)
        _ = bench.heard()
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        bench.open("maps", session: 1)
        let late = Frame.rpc(session: 1, message: 0, .response, .unregisterAppInterface)
        #expect(bench.accessory(says: late) == .drop(.lateWords(1)))
        #expect(bench.accessory(says: .rpc(session: 1, .response)) == .toApp("maps"))
        // A head unit that always sends 0 is heard again when nothing late can come.
        bench.pass(.seconds(10))
        #expect(bench.accessory(says: late) == .toApp("maps"))
    }

    // MARK: The app ends its session

    @Test("an app ends its session: it may say no more, and no goodbye is said for it")
    func endsItself() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.app("music", says: end(1, message: 9)) == .handled)
        #expect(bench.heard() == [end(1, message: 9)])
        #expect(bench.app("music", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
        let heartbeat = Frame.control(.heartbeat, service: .control, session: 1)
        #expect(bench.app("music", says: heartbeat) == .drop(.sessionOver(1)))
        #expect(bench.accessory(says: .rpc(session: 1, .notification)) == .toApp("music"))
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .toApp("music"))
        #expect(bench.app("music", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [])
        #expect(bench.router.nextDeadline == nil)
    }

    @Test("a refused EndService leaves the session running")
    func endRefused() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .endService(version: 5, sessionID: 1, hashID: 99))
        _ = bench.heard()
        #expect(bench.accessory(says: .control(.endServiceNAK, session: 1)) == .toApp("music"))
        #expect(bench.app("music", says: .rpc(session: 1)) == .toLink)
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [end(1, message: 2)])
    }

    @Test("an app that ended its session with a wrong hash and left is ended with the right one")
    func endRefusedAndLeft() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .endService(version: 4, sessionID: 1, hashID: 0))
        bench.router.disconnect("music", at: bench.now)
        _ = bench.heard()
        #expect(bench.accessory(says: .control(.endServiceNAK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.heard() == [end(1, message: 1)])
        // Refused again, there is nothing left to say.
        #expect(bench.accessory(says: .control(.endServiceNAK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.heard() == [])
        #expect(bench.router.hasSaidAllGoodbyes)
    }

    @Test("protecting a running service keeps the session and its hash")
    func upgrade() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.router.grantMeaning == .opens)
        let start = Frame.control(.startService, session: 1)
        #expect(bench.app("music", says: start) == .toLink)
        #expect(bench.accessory(says: .startServiceACK(session: 1, hashID: 0)) == .toApp("music"))
        #expect(bench.router.grantMeaning == .protects)
        // Nobody has asked for this one.
        #expect(bench.accessory(says: .startServiceACK(session: 1, hashID: 0)) == .toApp("music"))
        #expect(bench.router.grantMeaning == .nothing)
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [end(1, message: 1)])
    }

    @Test(
        "an upgrade that nobody answered does not swallow the grant of the next app",
        arguments: [true, false])
    func abandonedUpgrade(isEndedByApp: Bool) {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .control(.startService, session: 1))
        if isEndedByApp {
            _ = bench.app("music", says: end(1, message: 3))
            _ = bench.heard()
            _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        } else {
            _ = bench.accessory(says: .control(.endService, session: 1))
            bench.pass(.seconds(1))
        }
        _ = bench.heard()
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        _ = bench.heard()
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        #expect(bench.app("maps", says: .rpc(session: 1)) == .toLink)
    }
}
