// Which app gets a grant that comes late, or never: an answer to StartService does not name the app.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Late answers to StartService are paired with who asked for the like")
struct LateGrantTests {
    private typealias Bench = RouterBench

    @Test("a grant that comes after giving up goes to who waits; the one too many is ended")
    func lateAnswer() {
        let bench = Bench()
        for app in ["music", "maps"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        _ = bench.app("maps", says: .startService())
        _ = bench.actions()
        bench.pass(.seconds(20))
        let nak = Frame.startServiceNAK(of: .startService(), reason: "")
        #expect(
            bench.actions() == [
                .toApp(nak, "music"), .toLink(.startService(), from: .app("maps")),
            ])
        // It names no app, and maps asked for the same.
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("maps"))
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .drop(.lateAnswer))
        let end = Frame.endService(version: 5, sessionID: 2, hashID: 0x2_0005, messageID: 1)
        #expect(bench.actions() == [.toLink(end, from: .relay)])
        #expect(bench.accessory(says: .control(.endServiceACK, session: 2)) == .drop(.farewell(2)))
        #expect(bench.router.farewellSessions == 0)
        #expect(bench.accessory(says: .rpc(session: 1)) == .toApp("maps"))
    }

    @Test("a late answer to another request is not taken for the answer to this one")
    func lateAnswerOfAnother() {
        let bench = Bench()
        for app in ["music", "maps"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        _ = bench.app("maps", says: .startServiceV4())
        bench.pass(.seconds(20))
        _ = bench.actions()
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("maps"))
    }

    @Test("a grant's version tells whose it can be")
    func grantOfAnotherVersion() {
        for isOld in [true, false] {
            let bench = Bench()
            for app in ["music", "maps"] { bench.router.connect(app) }
            _ = bench.app("music", says: isOld ? .startService() : .startServiceV4())
            _ = bench.app("maps", says: isOld ? .startServiceV4() : .startService())
            bench.pass(.seconds(20))
            _ = bench.actions()
            let grant =
                isOld
                ? Frame(
                    version: 4, type: .control, service: .rpc,
                    info: ControlFrameType.startServiceACK.rawValue, sessionID: 1,
                    payload: ByteBuffer(integer: 0x1_0005 as UInt32)) : .startServiceACK(session: 1)
            #expect(bench.accessory(says: grant) == .toApp("maps"))
        }
    }

    @Test("a late grant that cannot be another's leaves the one on the link its own late answer")
    func lateGrantOfAnotherVersion() {
        let bench = Bench()
        for app in ["music", "maps", "news"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        _ = bench.app("maps", says: .startServiceV4())
        _ = bench.app("news", says: .startService())
        bench.pass(.seconds(20))
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        bench.pass(.seconds(20))
        _ = bench.actions()
        // The answer to maps, and not a grant of v4 for news.
        let late = Frame(
            version: 4, type: .control, service: .rpc,
            info: ControlFrameType.startServiceACK.rawValue, sessionID: 2,
            payload: ByteBuffer(integer: 0x2_0005 as UInt32))
        #expect(bench.accessory(says: late) == .drop(.lateAnswer))
        #expect(bench.accessory(says: .startServiceACK(session: 3)) == .toApp("news"))
    }

    @Test(
        "two equal requests were given up: the answer to the second is not that of another version",
        arguments: [true, false])
    func secondLateGrant(isGranted: Bool) {
        let bench = Bench()
        for app in ["music", "maps", "news"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        bench.pass(.seconds(20))
        _ = bench.app("maps", says: .startService())
        bench.router.disconnect("maps", at: bench.now)
        // The answer to music or to maps.
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        bench.pass(.seconds(20))
        _ = bench.app("news", says: .startServiceV4())
        _ = bench.heard()
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .drop(.lateAnswer))
        #expect(
            bench.heard().map(\.controlType) == [.endService], "it is nobody's, and is ended")
        // No other answer is due. A head unit may grant v5 whatever it is asked for.
        let grant =
            isGranted
            ? Frame(
                version: 4, type: .control, service: .rpc,
                info: ControlFrameType.startServiceACK.rawValue, sessionID: 3,
                payload: ByteBuffer(integer: 0x3_0005 as UInt32)) : .startServiceACK(session: 3)
        #expect(bench.accessory(says: grant) == .toApp("news"))
    }

    @Test(
        "a request that may have been answered costs no app that asks for the same version a grant")
    func doubtfulAnswer() {
        let bench = Bench()
        for app in ["music", "maps", "news"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        bench.pass(.seconds(20))
        // Taken for the answer to music, which was lost.
        _ = bench.app("maps", says: Self.startService(version: "5.1.0"))
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        bench.pass(.seconds(20))
        _ = bench.app("news", says: .startService())
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("news"))
    }

    @Test("a lost answer shifts the pairing once and not for ever")
    func lostAnswer() {
        let bench = Bench()
        for app in ["music", "maps", "news"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        _ = bench.app("maps", says: .startServiceV4())
        _ = bench.app("news", says: .startService())
        bench.pass(.seconds(20))  // Music's request was lost; maps' goes out.
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        bench.pass(.seconds(20))  // Maps is told to stop waiting; news' goes out.
        _ = bench.actions()
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("news"))
    }

    @Test(
        "however many StartServices a silent head unit has swallowed, its first grant is used",
        arguments: [1, 2, 30, 500])
    func silentHeadUnit(count: Int) {
        let bench = Bench()
        for number in 0..<count {
            let version: UInt8 = number % 3 == 0 ? 5 : 1
            bench.router.connect("try \(number)")
            _ = bench.app("try \(number)", says: .startService(headerVersion: version))
            bench.pass(.seconds(20))
            bench.router.disconnect("try \(number)", at: bench.now)
        }
        _ = bench.actions()
        bench.pass(.seconds(60))
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("music"))
    }

    /// Asks for another version than `Frame.startService()`, so that their grants differ.
    private static func startService(version: String) -> Frame {
        let document: BSONDocument = [ControlKey.protocolVersion: .string(version)]
        return Frame(
            version: 1, type: .control, service: .rpc,
            info: ControlFrameType.startService.rawValue, sessionID: 0, payload: document.bytes)
    }

    @Test("an answer that has not come for 60 s is not expected any more, whatever was asked for")
    func forgottenAnswers() {
        let bench = RouterBench()
        for number in 0..<30 {
            bench.router.connect("try \(number)")
            _ = bench.app("try \(number)", says: Self.startService(version: "5.1.0"))
            bench.pass(.seconds(20))
            bench.router.disconnect("try \(number)", at: bench.now)
        }
        bench.pass(.seconds(59))
        for app in ["music", "maps"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        _ = bench.actions()
        // The answer to the last one may still come, and no other.
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        bench.pass(.seconds(1))
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("music"))
    }

    @Test(
        "an app loses no more grants to unanswered requests for another version than are expected",
        arguments: [(TimeAmount.seconds(20), 3), (.seconds(2), 8)])
    func lostGrants(timeout: TimeAmount, most: Int) {
        let bench = RouterBench { $0.startServiceTimeout = timeout }
        for number in 0..<50 {
            bench.router.connect("try \(number)")
            _ = bench.app("try \(number)", says: Self.startService(version: "5.1.0"))
            bench.pass(timeout)
            bench.router.disconnect("try \(number)", at: bench.now)
        }
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        _ = bench.actions()
        var lost = 0
        while lost < 50, bench.accessory(says: .startServiceACK(session: 1)) != .toApp("music") {
            lost += 1
        }
        #expect(lost == most)
    }

    @Test(
        "an app that leaves while its StartService is unanswered gets nothing, and no ghost stays")
    func leavesBeforeTheAnswer() {
        let bench = Bench()
        for app in ["music", "maps"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        _ = bench.app("maps", says: .startService())
        bench.router.disconnect("music", at: bench.now)
        _ = bench.actions()
        #expect(bench.accessory(says: .startServiceACK(session: 7)) == .drop(.lateAnswer))
        let end = Frame.endService(version: 5, sessionID: 7, hashID: 0x7_0005, messageID: 1)
        #expect(
            bench.actions() == [
                .toLink(.startService(), from: .app("maps")), .toLink(end, from: .relay),
            ])
        #expect(bench.accessory(says: .startServiceACK(session: 8)) == .toApp("maps"))
    }
}
