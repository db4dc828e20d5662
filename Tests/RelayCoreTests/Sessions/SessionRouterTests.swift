import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("SessionRouter decides who gets which frame")
struct SessionRouterTests {
    typealias Router = SessionRouter<String>

    private typealias Bench = RouterBench

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

    @Test("what an app said before its session's number was another's closes nobody")
    func formerSession() {
        let bench = Bench { $0.foreignFrames = .close }
        bench.open("music", session: 1)
        _ = bench.accessory(says: .control(.endService, session: 1))
        bench.pass(bench.router.configuration.endAnswerTimeout)
        #expect(bench.heard().map(\.controlType) == [.endService])
        _ = bench.accessory(says: .control(.endServiceNAK, session: 1))
        bench.open("maps", session: 1)
        // It was paced meanwhile, or has not heard of the end.
        #expect(bench.app("music", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
        #expect(bench.actions().isEmpty)
        #expect(bench.app("music", says: .rpc(session: 2)) == .drop(.notItsSession(2)))
        #expect(bench.actions() == [.close("music", .foreignFrame(session: 2))])
    }

    @Test("one StartService is on the link at a time; the others wait for its answer")
    func serialisesStartService() {
        let bench = Bench()
        for app in ["music", "maps", "news"] { bench.router.connect(app) }
        #expect(bench.app("music", says: .startService()) == .handled)
        #expect(bench.actions() == [.toLink(.startService(), from: .app("music"))])
        #expect(bench.app("maps", says: .startService(headerVersion: 5)) == .waits)
        #expect(bench.app("news", says: .startService()) == .waits)
        #expect(bench.actions().isEmpty)

        func sent() -> [RouterEvent<String>] {
            bench.events.filter { if case .startSent = $0 { true } else { false } }
        }
        #expect(sent().isEmpty)
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("music"))
        #expect(bench.actions() == [.toLink(.startService(headerVersion: 5), from: .app("maps"))])
        #expect(sent() == [.startSent("maps")])
        #expect(bench.accessory(says: .startServiceNAK()) == .toApp("maps"))
        #expect(bench.actions() == [.toLink(.startService(), from: .app("news"))])
        #expect(sent() == [.startSent("maps"), .startSent("news")])
        #expect(bench.accessory(says: .startServiceACK(session: 2)) == .toApp("news"))
        #expect(bench.accessory(says: .rpc(session: 2)) == .toApp("news"))
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
        #expect(bench.app("maps", says: .rpc(session: 1)) == .drop(.sessionOver(1)))
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
        let ended = bench.actions().map { action -> UInt8? in
            if case .toLink(let frame, .relay) = action { frame.sessionID } else { nil }
        }
        #expect(ended == [1, 2])
    }

    // MARK: The link

    @Test("an app that comes first is held without answer until the head unit comes")
    func heldUntilTheLinkComes() {
        let bench = Bench(linkIsUp: false)
        bench.router.connect("music")
        #expect(bench.app("music", says: .startService()) == .waits)
        bench.pass(.seconds(59))
        #expect(bench.actions().isEmpty)
        bench.router.linkOpened(at: bench.now)
        #expect(bench.actions() == [.toLink(.startService(), from: .app("music"))])
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
        #expect(bench.actions() == [.repeated(.startService(), of: "music")])
        #expect(bench.accessory(says: .startServiceACK(session: 1)) == .toApp("music"))
        #expect(bench.actions() == [.repeated(.startService(), of: "maps")])
        #expect(bench.events.contains(.startSent("maps")))
        #expect(!bench.events.contains(.startSent("music")), "it was sent on the link before")
    }

    @Test("an app that waited for its turn while there was a head unit has not waited for one")
    func keptAfterALongWait() {
        let bench = Bench {
            $0.whenLinkLost = .keep
            $0.holdTimeout = .seconds(10)
        }
        for app in ["music", "maps"] {
            bench.router.connect(app)
            _ = bench.app(app, says: .startService())
        }
        _ = bench.actions()
        bench.pass(.seconds(14))
        bench.router.linkClosed(reason: "unplugged", at: bench.now)
        bench.pass(.seconds(9))
        #expect(bench.actions().isEmpty)
        bench.pass(.seconds(1))
        let closed = bench.actions().compactMap { action -> String? in
            if case .close(let app, .noAccessory) = action { app } else { nil }
        }
        #expect(closed == ["music", "maps"])
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
        func offers(_ bench: Bench) -> [RouterEvent<String>] {
            _ = bench.actions()
            defer { bench.events = [] }
            return bench.events.filter {
                if case .secondaryTransportOffered = $0 { true } else { false }
            }
        }
        let offered = RouterEvent.secondaryTransportOffered("music", session: 1, isPassedOn: false)
        #expect(offers(bench) == [offered])
        let event = Frame.control(.transportEventUpdate, service: .control, session: 1)
        #expect(bench.accessory(says: event) == .drop(.secondaryTransport))
        #expect(offers(bench) == [offered])
        let withdrawal: BSONDocument = [ControlKey.tcpIPAddress: .string("")]
        let gone = Frame.control(
            .transportEventUpdate, service: .control, session: 1, payload: withdrawal.bytes)
        #expect(bench.accessory(says: gone) == .drop(.secondaryTransport))
        #expect(offers(bench) == [])

        let passing = Bench { $0.secondaryTransports = .pass }
        passing.router.connect("music")
        _ = passing.app("music", says: .startService())
        #expect(passing.accessory(says: offer) == .toApp("music"))
        #expect(passing.accessory(says: event) == .toApp("music"))
        let passed = RouterEvent.secondaryTransportOffered("music", session: 1, isPassedOn: true)
        #expect(offers(passing) == [passed, passed])
        #expect(passing.accessory(says: gone) == .toApp("music"))
        #expect(offers(passing) == [])
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
        #expect(bench.app("music", says: .startService()) == .waits)
        #expect(bench.app("music", says: .startService()) == .waits)
        #expect(bench.app("music", says: .startService()) == .drop(.queueFull))
    }

    @Test("a wrong or missing hash in an app's EndService is noticed, not mended")
    func wrongHash() {
        let bench = Bench()
        bench.open("music", session: 1)
        let end = Frame.endService(version: 5, sessionID: 1, hashID: 9)
        #expect(bench.app("music", says: end) == .handled)
        let hash = WrongHash(sent: .hash(9), expected: 0x1_0005)
        #expect(bench.router.actions.first == .event(.wrongHash("music", session: 1, hash)))
        #expect(bench.actions() == [.toLink(end, from: .app("music"))])
    }

    @Test(
        "which hash of an EndService is wrong",
        arguments: [
            (Frame.control(.endService, session: 1), WrongHash.Sent.nothing),
            (.endService(version: 5, sessionID: 1, hashID: 9), .hash(9)),
            (.endService(version: 5, sessionID: 1, hashID: 0x1_0005), nil),
            (
                .control(
                    .endService, session: 1,
                    payload: ([ControlKey.hashID: .int64(0x1_0005)] as BSONDocument).bytes),
                .type("int64")
            ),
            // Version 1 knows no hash.
            (.endService(version: 1, sessionID: 1, hashID: 0), nil),
        ] as [(Frame, WrongHash.Sent?)])
    func hashes(end: Frame, sent: WrongHash.Sent?) {
        let bench = Bench()
        bench.open("music", session: 1)
        _ = bench.app("music", says: end)
        _ = bench.actions()
        let found = bench.events.compactMap { event -> WrongHash.Sent? in
            if case .wrongHash("music", session: 1, let hash) = event { hash.sent } else { nil }
        }
        #expect(found == [sent].compactMap(\.self))
    }

    @Test("where the head unit has granted no hash, none is wrong")
    func grantedWithoutHash() {
        let bench = Bench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        _ = bench.actions()
        _ = bench.accessory(says: .control(.startServiceACK, session: 1))
        _ = bench.app("music", says: .endService(version: 5, sessionID: 1, hashID: 9))
        _ = bench.actions()
        #expect(!bench.events.contains { if case .wrongHash = $0 { true } else { false } })
    }
}
