import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("SessionRouter decides who gets which frame")
struct SessionRouterTests {
    typealias Router = SessionRouter<String>

    /// A router with a link, and a clock that only moves when told.
    private final class Bench {
        var router: Router
        var now = NIODeadline.uptimeNanoseconds(0)

        init(linkIsUp: Bool = true, _ change: (inout RelayConfiguration) -> Void = { _ in }) {
            var configuration = RelayConfiguration()
            change(&configuration)
            router = Router(configuration: configuration)
            if linkIsUp { router.linkOpened(at: now) }
        }

        func app(_ app: String, says frame: Frame) -> Router.Decision {
            router.receive(frame, from: app, at: now)
        }

        func accessory(says frame: Frame) -> Router.Decision {
            router.receiveFromAccessory(frame, at: now)
        }

        func pass(_ time: TimeAmount) {
            now = now + time
            router.advance(to: now)
        }

        /// What was done besides passing frames on, without the events that only inform.
        func actions() -> [Router.Action] {
            router.takeActions().filter { if case .event = $0 { false } else { true } }
        }

        /// An app that has been granted a session.
        func open(_ app: String, session: UInt8) {
            router.connect(app)
            _ = self.app(app, says: .startService())
            _ = accessory(says: .startServiceACK(session: session))
            _ = router.takeActions()
        }
    }

    @Test("a frame goes to the app that owns its session, and only there")
    func routesBySession() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.open("maps", session: 2)
        #expect(bench.accessory(says: .rpc(session: 1, .response)) == .toApp("music"))
        #expect(bench.accessory(says: .rpc(session: 2, .response)) == .toApp("maps"))
        #expect(bench.accessory(says: .rpc(session: 9)) == .drop(.noSuchSession(9)))
    }

    @Test("an app may use its own session and no other")
    func ownership() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.open("maps", session: 2)
        #expect(bench.app("music", says: .rpc(session: 1)) == .toLink)
        #expect(bench.app("music", says: .rpc(session: 2)) == .drop(.notItsSession(2)))
        #expect(bench.app("music", says: .rpc(session: 3)) == .drop(.notItsSession(3)))
        let end = Frame.endService(version: 5, sessionID: 2, hashID: 0)
        #expect(bench.app("music", says: end) == .drop(.notItsSession(2)))
        #expect(bench.actions().isEmpty)
    }

    @Test("an app that uses foreign sessions is closed when so configured")
    func foreignFramesClose() {
        let bench = Bench { $0.foreignFrames = .close }
        bench.open("music", session: 1)
        #expect(bench.app("music", says: .rpc(session: 2)) == .drop(.notItsSession(2)))
        #expect(bench.actions() == [.close("music", .foreignFrame(session: 2))])
    }

    @Test("one StartService is on the link at a time; the others wait for its answer")
    func serialisesStartService() {
        let bench = Bench()
        for app in ["music", "maps", "news"] { bench.router.connect(app) }
        #expect(bench.app("music", says: .startService()) == .handled)
        #expect(bench.actions() == [.toLink(.startService(), from: "music")])
        #expect(bench.app("maps", says: .startService(headerVersion: 5)) == .handled)
        #expect(bench.app("news", says: .startService()) == .handled)
        #expect(bench.actions().isEmpty)

        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("music"))
        #expect(bench.actions() == [.toLink(.startService(headerVersion: 5), from: "maps")])
        #expect(bench.accessory(says: .startServiceNAK()) == .toApp("maps"))
        #expect(bench.actions() == [.toLink(.startService(), from: "news")])
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("news"))
        #expect(bench.accessory(says: .rpc(session: 2)) == .toApp("news"))
    }

    @Test(
        "an answer that comes after giving up is ended with its hash, the next app is not confused")
    func lateAnswer() {
        let bench = Bench()
        for app in ["music", "maps"] { bench.router.connect(app) }
        _ = bench.app("music", says: .startService())
        _ = bench.app("maps", says: .startService())
        _ = bench.actions()
        bench.pass(.seconds(20))
        let nak = Frame.startServiceNAK(of: .startService(), reason: "")
        #expect(
            bench.actions() == [.toApp(nak, "music"), .toLink(.startService(), from: "maps")])
        // The late one first: order is all there is.
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        let end = Frame.endService(version: 5, sessionID: 1, hashID: 0x1_0005, messageID: 2)
        #expect(bench.actions() == [.toLink(end, from: nil)])
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("maps"))
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.router.farewellSessions == 0)
    }

    @Test("a lost answer shifts the pairing once and not for ever")
    func lostAnswer() {
        let bench = Bench()
        for app in ["music", "maps", "news"] {
            bench.router.connect(app)
            _ = bench.app(app, says: .startService())
        }
        bench.pass(.seconds(20))  // Music's request was lost; maps' goes out.
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .drop(.lateAnswer))
        bench.pass(.seconds(20))  // Maps is told to stop waiting; news' goes out.
        _ = bench.actions()
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("news"))
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
        let end = Frame.endService(version: 5, sessionID: 7, hashID: 0x7_0005, messageID: 2)
        #expect(
            bench.actions()
                == [.toLink(end, from: nil), .toLink(.startService(), from: "maps")])
        #expect(bench.accessory(says: .startServiceACK(session: 8)) == .toApp("maps"))
    }

    @Test("an app that vanishes is said goodbye to with its hash and a message ID of its own")
    func farewell() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .rpc(session: 1, message: 41))
        bench.router.disconnect("music", at: bench.now)
        let unregister = Frame.rpc(
            session: 1, message: 42, .request, .unregisterAppInterface,
            correlation: Router.farewellCorrelationID)
        let end = Frame.endService(version: 5, sessionID: 1, hashID: 0x1_0005, messageID: 43)
        #expect(bench.actions() == [.toLink(unregister, from: nil), .toLink(end, from: nil)])
        // What still comes for it is swallowed until the head unit confirms.
        #expect(bench.accessory(says: .rpc(session: 1, .notification)) == .drop(.farewell(1)))
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.farewell(1)))
        #expect(bench.accessory(says: .rpc(session: 1)) == .drop(.noSuchSession(1)))
    }

    @Test("goodbyes speak the version of their session")
    func farewellVersions() throws {
        for version in [UInt8(1), 2, 4] {
            let bench = Bench()
            bench.router.connect("music")
            _ = bench.app("music", says: .startService())
            var hash = ByteBuffer()
            if version > 1 { hash.writeInteger(UInt32(77)) }
            let ack = Frame(
                version: version, type: .control, service: .rpc,
                info: ControlFrameType.startServiceACK.rawValue, sessionID: 3, payload: hash)
            #expect(bench.accessory(says: ack) == .toApp("music"))
            _ = bench.actions()
            bench.router.disconnect("music", at: bench.now)
            let frames = bench.actions().compactMap { action -> Frame? in
                if case .toLink(let frame, nil) = action { frame } else { nil }
            }
            #expect(frames.map(\.version) == [version, version])
            #expect(ControlPayload(frames[1]).hashID == (version == 1 ? nil : 77))
            if version == 1 {
                #expect(String(buffer: frames[0].payload).contains("UnregisterAppInterface"))
            }
        }
    }

    @Test("the answer to a goodbye never reaches the next app with the same session ID")
    func lateFarewellReply() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .drop(.farewell(1)))
        bench.open("maps", session: 1)
        let reply = Frame.rpc(
            session: 1, .response, .unregisterAppInterface,
            correlation: Router.farewellCorrelationID)
        #expect(bench.accessory(says: .rpc(session: 1, .response)) == .toApp("maps"))
        #expect(bench.accessory(says: reply) == .drop(.farewell(1)))
        // Only that one: an app's own answers are its own.
        #expect(bench.accessory(says: reply) == .toApp("maps"))
    }

    @Test("an ID the head unit grants again belongs to the new app from then on")
    func reusedAtOnce() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.disconnect("music", at: bench.now)
        bench.open("maps", session: 1)
        #expect(bench.accessory(says: .rpc(session: 1)) == .toApp("maps"))
        bench.open("news", session: 1)
        #expect(bench.accessory(says: .rpc(session: 1)) == .toApp("news"))
        #expect(bench.app("maps", says: .rpc(session: 1)) == .drop(.notItsSession(1)))
    }

    @Test("an app ends its session itself: no goodbye is said for it")
    func endsItself() {
        let bench = Bench()
        bench.open("music", session: 1)
        let end = Frame.endService(version: 5, sessionID: 1, hashID: 0x1_0005)
        #expect(bench.app("music", says: end) == .toLink)
        #expect(bench.accessory(says: .control(.endServiceACK, session: 1)) == .toApp("music"))
        #expect(bench.app("music", says: .rpc(session: 1)) == .drop(.notItsSession(1)))
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.actions().isEmpty)
    }

    @Test("a refused EndService leaves the session running")
    func endRefused() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .endService(version: 5, sessionID: 1, hashID: 99))
        #expect(bench.accessory(says: .control(.endServiceNAK, session: 1)) == .toApp("music"))
        #expect(bench.app("music", says: .rpc(session: 1)) == .toLink)
        _ = bench.actions()
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.actions().count == 2)
    }

    @Test("after the head unit's EndService frames still pass both ways, and no goodbye is said")
    func endedByAccessory() {
        let bench = Bench()
        bench.open("music", session: 1)
        #expect(bench.accessory(says: .control(.endService, session: 1)) == .toApp("music"))
        let reason = Frame.rpc(session: 1, .notification, .onAppInterfaceUnregistered)
        #expect(bench.accessory(says: reason) == .toApp("music"))
        #expect(bench.app("music", says: .rpc(session: 1)) == .toLink)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.actions().isEmpty)
    }

    @Test("protecting a running service keeps the session and its hash")
    func upgrade() {
        let bench = Bench()
        bench.open("music", session: 1)
        let start = Frame.control(.startService, session: 1)
        #expect(bench.app("music", says: start) == .toLink)
        let ack = Frame.startServiceACK(session: 1, hashID: 0)
        #expect(bench.accessory(says: ack) == .toApp("music"))
        bench.router.disconnect("music", at: bench.now)
        let end = Frame.endService(version: 5, sessionID: 1, hashID: 0x1_0005, messageID: 2)
        #expect(bench.actions().last == .toLink(end, from: nil))
    }

    @Test("audio and video services are the session's own business")
    func streams() {
        let bench = Bench()
        bench.open("maps", session: 1)
        let start = Frame.control(.startService, service: .video, session: 1)
        #expect(bench.app("maps", says: start) == .toLink)
        let ack = Frame.control(.startServiceACK, service: .video, session: 1)
        #expect(bench.accessory(says: ack) == .toApp("maps"))
        #expect(bench.app("maps", says: .data(session: 1, service: .video, bytes: 9)) == .toLink)
        let end = Frame.control(.endService, service: .video, session: 1)
        #expect(bench.accessory(says: end) == .toApp("maps"))
        #expect(bench.app("maps", says: .rpc(session: 1)) == .toLink)
    }

    @Test("two sessions of one app are both its own and both ended")
    func twoSessions() {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: .startService())
        _ = bench.accessory(says: .startServiceACK(session: 2))
        _ = bench.actions()
        #expect(bench.router.sessions(of: "music").map(\.sessionID) == [1, 2])
        #expect(bench.app("music", says: .rpc(session: 2)) == .toLink)
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.actions().count == 4)
    }

    // MARK: The link

    @Test("an app that comes first is held without answer until the head unit comes")
    func heldUntilTheLinkComes() {
        let bench = Bench(linkIsUp: false)
        bench.router.connect("music")
        #expect(bench.app("music", says: .startService()) == .handled)
        bench.pass(.seconds(59))
        #expect(bench.actions().isEmpty)
        bench.router.linkOpened(at: bench.now)
        #expect(bench.actions() == [.toLink(.startService(), from: "music")])
    }

    @Test("holding ends with a refusal that says why")
    func heldTooLong() {
        let bench = Bench(linkIsUp: false)
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        bench.pass(.seconds(60))
        let nak = Frame.startServiceNAK(of: .startService(), reason: "")
        #expect(
            bench.actions() == [
                .toApp(nak, "music"), .close("music", .noAccessory(waited: .seconds(60))),
            ])
    }

    @Test("without a head unit apps are refused at once when so configured")
    func refusedWithoutLink() {
        let bench = Bench(linkIsUp: false) { $0.whenAccessoryAbsent = .refuse }
        bench.router.connect("music")
        #expect(bench.app("music", says: .startService()) == .drop(.noLink))
        let nak = Frame.startServiceNAK(of: .startService(), reason: "")
        #expect(
            bench.actions() == [
                .toApp(nak, "music"), .close("music", .noAccessory(waited: nil)),
            ])
    }

    @Test("when the link goes, apps are closed and all sessions forgotten")
    func linkLost() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.linkClosed(reason: "unplugged", at: bench.now)
        #expect(bench.actions() == [.close("music", .linkLost("unplugged"))])
        bench.router.disconnect("music", at: bench.now)
        #expect(bench.actions().isEmpty)
        bench.router.linkOpened(at: bench.now)
        #expect(bench.accessory(says: .rpc(session: 1)) == .drop(.noSuchSession(1)))
    }

    @Test("apps kept over a lost link are asked for again, in their order")
    func keptOverALostLink() {
        let bench = Bench { $0.whenLinkLost = .keep }
        for app in ["music", "maps"] {
            bench.router.connect(app)
            _ = bench.app(app, says: .startService())
        }
        _ = bench.actions()
        bench.router.linkClosed(reason: "unplugged", at: bench.now)
        #expect(bench.actions().isEmpty)
        bench.router.linkOpened(at: bench.now)
        #expect(bench.actions() == [.toLink(.startService(), from: "music")])
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("music"))
    }

    @Test("a stopping relay ends every session on both sides")
    func stops() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.endAllSessions()
        let toApp = Frame.control(.endService, session: 1)
        let toLink = Frame.endService(version: 5, sessionID: 1, hashID: 0x1_0005, messageID: 2)
        let actions = bench.actions()
        #expect(actions.first == .toApp(toApp, "music"))
        #expect(actions.last == .toLink(toLink, from: nil))
        #expect(!bench.router.hasSaidAllGoodbyes)
        _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        #expect(bench.router.hasSaidAllGoodbyes)
    }

    // MARK: Around the relay

    @Test("invitations to connect around the relay are taken out, other ACKs pass untouched")
    func secondaryTransports() throws {
        let offer = Frame.startServiceACK(
            session: 1, extra: [("secondaryTransports", .array([.string("TCP_WIFI")]))])
        let bench = Bench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        _ = bench.actions()
        #expect(bench.accessory(says: offer) == .handled)
        #expect(bench.actions() == [.amended(.startServiceACK(session: 1), to: "music")])
        let event = Frame.control(.transportEventUpdate, service: .control, session: 1)
        #expect(bench.accessory(says: event) == .drop(.secondaryTransport))

        let passing = Bench { $0.secondaryTransports = .pass }
        passing.router.connect("music")
        _ = passing.app("music", says: .startService())
        #expect(passing.accessory(says: offer) == .toApp("music"))
        #expect(passing.accessory(says: event) == .toApp("music"))
    }

    @Test("an app that opens a secondary transport through the relay is told no")
    func registerSecondaryTransport() {
        let bench = Bench()
        bench.open("music", session: 1)
        bench.router.connect("second")
        let register = Frame.control(.registerSecondaryTransport, service: .control, session: 1)
        #expect(bench.app("second", says: register) == .drop(.secondaryTransport))
        guard case .toApp(let answer, "second") = bench.actions().first else {
            Issue.record("no answer")
            return
        }
        #expect(answer.controlType == .registerSecondaryTransportNAK)
    }

    @Test("an app cannot fill the queue of StartServices")
    func tooManyStarts() {
        let bench = Bench(linkIsUp: false) { $0.maximumPendingStartsPerApp = 2 }
        bench.router.connect("music")
        #expect(bench.app("music", says: .startService()) == .handled)
        #expect(bench.app("music", says: .startService()) == .handled)
        #expect(bench.app("music", says: .startService()) == .drop(.queueFull))
    }

    @Test("a wrong or missing hash in an app's EndService is noticed, not mended")
    func wrongHash() {
        let bench = Bench()
        bench.open("music", session: 1)
        let end = Frame.endService(version: 5, sessionID: 1, hashID: 9)
        #expect(bench.app("music", says: end) == .toLink)
        let noticed = bench.router.takeActions()
        #expect(noticed == [.event(.wrongHash("music", session: 1, sent: 9))])
    }
}
