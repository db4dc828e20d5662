// How sessions end that the head unit ends, and what happens to their numbers, as dialogues on paper.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("A session that the head unit has ended leaves no ghost, and its end meets no other session")
struct HeadUnitEndTests: GoodbyeWords {
    private typealias Bench = RouterBench

    @Test("the head unit ends a session: its app hears why, may still answer, and is ended in time")
    func endedByAccessory() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.accessory(says: .control(.endService, session: 1)) == .toApp("music"))
        #expect(bench.purgedSessions() == [1])
        let reason = Frame.rpc(session: 1, .notification, .onAppInterfaceUnregistered)
        #expect(bench.accessory(says: reason) == .toApp("music"))
        // Libraries unregister then. No other app can be granted the number in the meantime.
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

    @Test("an acknowledgement that nobody asked for, which would end its own session, goes nowhere")
    func unaskedAcknowledgement() {
        let bench = Bench()
        bench.open("music", session: 1)
        let acknowledgement = Frame.control(.endServiceACK, session: 1)
        #expect(bench.app("music", says: acknowledgement) == .drop(.endNotAsked(1)))
        #expect(bench.heard() == [])
        #expect(bench.app("music", says: .rpc(session: 1)) == .toLink)
    }

    @Test("an answer to an EndService that has not been written is not taken for its own")
    func answerBeforeTheEnd() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.holdsRPCs = true
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.heard() == [])
        let late = Frame.control(.endServiceACK, session: 1)
        #expect(bench.accessory(says: late) == .drop(.lateWords(1)))
        bench.holdsRPCs = false
        #expect(bench.heard() == [end(1, message: 1)])
        #expect(bench.accessory(says: late) == .drop(.farewell(1)))
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
        // The second ends that of maps, which must hear it.
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
