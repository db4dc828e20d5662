// How sessions end, as dialogues on paper: what was measured with sdl_core is what they follow.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Goodbyes are said in order, each word behind the answer to the one before")
struct FarewellTests: GoodbyeWords {
    private typealias Bench = RouterBench
    private typealias Router = RouterBench.Router

    // MARK: An app is gone

    @Test("an app that vanishes: EndService alone, with its hash, so that it can resume")
    func vanished() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .rpc(session: 1, message: 41))
        _ = bench.heard()
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [end(1, message: 42)])
        // What still comes for it is swallowed until the head unit confirms.
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
        // The answer comes all the same, and reaches nobody, whoever has the number.
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
        let start = Frame.control(.startService, session: 1)
        #expect(bench.app("music", says: start) == .toLink)
        #expect(bench.accessory(says: .startServiceACK(session: 1, hashID: 0)) == .toApp("music"))
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

    // MARK: The head unit ends it

    @Test("the head unit ends a session: its app hears why, may still answer, and is ended in time")
    func endedByAccessory() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.accessory(says: .control(.endService, session: 1)) == .toApp("music"))
        #expect(bench.purgedSessions() == [1])
        let reason = Frame.rpc(session: 1, .notification, .onAppInterfaceUnregistered)
        #expect(bench.accessory(says: reason) == .toApp("music"))
        // Libraries unregister then. Nobody else can be granted the number in the meantime.
        let answer = Frame.rpc(session: 1)
        #expect(bench.app("music", says: answer) == .toLink)
        #expect(bench.heard() == [answer])
        bench.pass(.seconds(1))
        #expect(bench.heard() == [end(1, message: 2)])
        #expect(bench.app("music", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.accessory(says: reason) == .toApp("music"))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [])
    }

    @Test("a grant that nobody asked for does not revive the session that had its number")
    func unaskedGrant() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: end(1, message: 1))
        #expect(bench.heard().map(\.controlType) == [.endService])
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        #expect(bench.heard().map(\.controlType) == [.endService])
    }

    @Test("an app may not answer the head unit's EndService while its number may be granted")
    func mayNotAnswer() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        _ = bench.accessory(says: .control(.endService, session: 1))
        #expect(bench.app("music", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
    }

    @Test("an app that leaves after the head unit's EndService leaves no ghost")
    func leavesAfterTheEnd() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [end(1, message: 1)])
    }

    @Test("the app's own answer counts when it frees the session, and is not doubled")
    func answersItself() {
        for answer in [ControlFrameType.endService, .endServiceACK] {
            let bench = Bench()
            bench.open("music", session: 1)
            _ = bench.accessory(says: .control(.endService, session: 1))
            let document: BSONDocument = [ControlKey.hashID: .int32(0x1_0005)]
            let frame = Frame.control(answer, session: 1, payload: document.bytes)
            _ = bench.app("music", says: frame)
            #expect(bench.heard() == [frame])
            bench.pass(.seconds(5))
            bench.router.disconnect("music", at: bench.now)
            #expect(bench.heard() == [])
        }
    }

    @Test("an acknowledgement without the hash frees nothing: relayd ends the session behind it")
    func acknowledgesWithoutHash() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.accessory(says: .control(.endService, session: 1))
        let ack = Frame.control(.endServiceACK, session: 1)
        #expect(bench.app("music", says: ack) == .handled)
        #expect(bench.heard() == [ack, end(1, message: 1)])
        #expect(bench.app("music", says: end(1, message: 8)) == .drop(.sessionOver(1)))
    }

    @Test("no StartService goes before the number is ended that the head unit might grant for it")
    func startsWaitForTheEnd() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        #expect(bench.heard() == [])
        bench.pass(.seconds(1))
        #expect(bench.heard() == [end(1, message: 1), .startService()])
    }

    @Test("a number that may be granted at this moment is not ended: the hash would be the same")
    func grantedWhileEnding() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        _ = bench.heard()
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [])
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        bench.pass(.seconds(5))
        #expect(bench.heard() == [])
        #expect(bench.app("maps", says: .rpc(session: 1)) == .toLink)
    }

    @Test("no StartService goes before the app's acknowledgement, which would end the next session")
    func startsWaitForTheAcknowledgement() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.holdsRPCs = true
        #expect(bench.app("music", says: acknowledgement(1)) == .handled)
        #expect(bench.app("music", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        #expect(bench.heard() == [])
        bench.holdsRPCs = false
        #expect(bench.heard() == [acknowledgement(1), .startService()])
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        #expect(bench.app("maps", says: .rpc(session: 1)) == .toLink)
    }

    @Test("an acknowledgement waits while its number may be granted: it would end the next session")
    func acknowledgesWhileStarting() {
        for granted in UInt8(1)...2 {
            let bench = Bench()
            bench.open("music", session: 1)
            bench.router.connect("maps")
            _ = bench.app("maps", says: .startService())
            #expect(bench.heard() == [.startService()])
            _ = bench.accessory(says: .control(.endService, session: 1))
            _ = bench.app("music", says: acknowledgement(1))
            #expect(bench.heard() == [])
            #expect(bench.accessory(says: .startServiceACK(session: granted)) == .toApp("maps"))
            #expect(bench.heard() == (granted == 1 ? [] : [acknowledgement(1)]))
            #expect(bench.app("maps", says: .rpc(session: granted)) == .toLink)
            bench.router.disconnect("music", at: bench.now)
            #expect(bench.router.farewells.isEmpty)
        }
    }

    @Test(
        "an app that left while its EndService waits for the link keeps its number until it is said"
    )
    func leavesBehindItsWaitingEnd() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.holdsRPCs = true
        _ = bench.app("music", says: end(1, message: 9))
        _ = bench.actions()
        bench.router.disconnect("music", at: bench.now)
        bench.pass(bench.router.configuration.endServiceTimeout)
        #expect(!bench.router.hasSaidAllGoodbyes)
        bench.holdsRPCs = false
        #expect(bench.heard() == [end(1, message: 9)])
        bench.pass(bench.router.configuration.endServiceTimeout)
        #expect(bench.router.hasSaidAllGoodbyes)
    }

    @Test("a refusal that comes behind the head unit's EndService is no answer to another app")
    func refusalOfAnUpgrade() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .control(.startService, session: 1))
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        _ = bench.heard()
        #expect(bench.accessory(says: .control(.endService, session: 1)) == .toApp("music"))
        #expect(bench.accessory(says: .control(.startServiceNAK, session: 1)) == .toApp("music"))
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("maps"))
    }

    @Test("a refusal for an app that has left is no answer to another app")
    func refusalOfTheDead() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .control(.startService, session: 1))
        bench.router.disconnect("music", at: bench.now)
        _ = bench.heard()
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.farewell(1)))
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        _ = bench.heard()
        let refusal = Frame.control(.startServiceNAK, session: 1)
        #expect(bench.accessory(says: refusal) == .drop(.lateWords(1)))
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("maps"))
    }

    @Test(
        "an app that ends its session in mid-file ends it, also if the end of the file is unanswered"
    )
    func endsInMidFile() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 0)
        #expect(bench.app("music", says: end(1, message: 78)) == .handled)
        #expect(bench.heard().map(\.type) == [.consecutive])
        bench.pass(.milliseconds(500))
        #expect(bench.heard() == [end(1, message: 78)])
    }

    @Test("a number granted while its former end is unanswered ends with that")
    func endsWithFormer() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [end(1, message: 1)])
        // The two cross.
        #expect(bench.accessory(says: .control(.endService, session: 1)) == .drop(.farewell(1)))
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        #expect(bench.heard() == [.startService()])
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .toApp("maps"))
        #expect(bench.app("maps", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
        bench.router.disconnect("maps", at: bench.now)
        #expect(bench.heard() == [])
    }

    /// The head unit ends session 1 by itself, and relayd's EndService crosses its next grants.
    private func crossing() -> Bench {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [end(1, message: 1)])
        _ = bench.accessory(says: .control(.endService, session: 1))
        // A grant for an app that has left.
        bench.router.connect("radio")
        _ = bench.app("radio", says: .startService())
        bench.router.disconnect("radio", at: bench.now)
        #expect(bench.heard() == [.startService()])
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        #expect(bench.heard() == [end(1, message: 1)])
        return bench
    }

    @Test("two EndServices cross the grants of a number: each acknowledgement ends what is there")
    func strayEnds() {
        let bench = crossing()
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        // The first has ended radio's session.
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        #expect(bench.app("maps", says: .rpc(session: 1)) == .toLink)
        // The second ends that of maps, who must hear it.
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .toApp("maps"))
        #expect(bench.app("maps", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
    }

    @Test(
        "a stray EndService that is refused has ended nothing: the goodbye waits for its own answer"
    )
    func strayEndRefused() {
        let bench = crossing()
        #expect(bench.accessory(says: .control(.endServiceNAK, session: 1)) == .drop(.lateWords(1)))
        #expect(!bench.router.hasSaidAllGoodbyes)
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.router.hasSaidAllGoodbyes)
    }

    @Test("an EndService that was refused in time is no stray one when the number is granted again")
    func refusedInTime() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: end(1, message: 1))
        _ = bench.heard()
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        #expect(bench.heard() == [.startService()])
        #expect(bench.accessory(says: .control(.endServiceNAK, session: 1)) == .toApp("music"))
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        bench.router.disconnect("maps", at: bench.now)
        #expect(bench.heard() == [end(1, message: 1)])
        #expect(bench.accessory(says: .control(.endServiceNAK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.router.hasSaidAllGoodbyes)
    }

    @Test("the refusal of a half message reaches nobody, also behind the number's next grant")
    func refusalBehindTheNextGrant() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.begin("music", session: 1, frames: 1, correlation: 900)
        bench.router.disconnect("music", at: bench.now)
        _ = bench.heard()
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.router.connect("maps")
        _ = bench.app("maps", says: .startService())
        bench.pass(.milliseconds(500))
        _ = bench.heard()
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        func answer(_ json: String) -> Frame {
            .rpc(
                version: 5, sessionID: 1, messageID: 5, type: .response,
                functionID: FunctionID.putFile.rawValue, correlationID: 900, json: json)
        }
        let own = answer(#"{ "success": true, "resultCode": "SUCCESS" }"#)
        #expect(bench.accessory(says: own) == .toApp("maps"))
        let refusal = answer(#"{"success":false,"resultCode":"INVALID_DATA"}"#)
        #expect(bench.accessory(says: refusal) == .drop(.farewell(1)))
        #expect(bench.accessory(says: refusal) == .toApp("maps"), "one was due")
    }
}
