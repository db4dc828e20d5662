// For every way in which a StartService can fail, the side at fault: app, relayd or head unit.

import NIOCore
import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct StartFaultTests {
    private let app = AppID(rawValue: 1)

    private func connected(_ address: String = "tcp:127.0.0.1:12345") -> Dialogue {
        var talk = Dialogue()
        talk.receive(.linkOpened(number: 1, address: address, time: talk.time))
        talk.receive(.appConnected(app, peer: "p", time: talk.time))
        return talk
    }

    /// The faults of the entries; checks that log lines name them.
    private func faults(_ talk: Dialogue) -> [FaultSide] {
        let found = talk.entries.compactMap(\.startFault)
        let lines = talk.lines().joined(separator: "\n")
        let json = talk.lines(TrafficLog.Configuration(format: .json)).joined(separator: "\n")
        for fault in found {
            #expect(lines.contains("fault: \(fault.name)"))
            #expect(json.contains("\"fault\":\"\(fault.rawValue)\""))
        }
        return found
    }

    @Test("the head unit refuses a session, or says nothing until relayd refuses it")
    func headUnit() {
        var refused = connected()
        refused.control(.fromApp, .startService, session: 0)
        refused.control(.fromAccessory, .startServiceNAK, session: 0)
        #expect(faults(refused) == [.headUnit])

        var silent = connected()
        silent.control(.fromApp, .startService, session: 0)
        silent.silence(20_000)
        silent.control(.fromAccessory, .startServiceNAK, session: 0, fate: .byRelay)
        #expect(faults(silent) == [.headUnit, .headUnit])
    }

    @Test("there is no head unit") func absent() {
        var talk = Dialogue()
        talk.receive(.appConnected(app, peer: "p", time: talk.time))
        talk.control(.fromApp, .startService, session: 0, fate: .dropped(.noLink))
        talk.control(.fromAccessory, .startServiceNAK, session: 0, fate: .byRelay)
        #expect(faults(talk) == [.headUnit])

        var held = Dialogue()
        held.receive(.appConnected(app, peer: "p", time: held.time))
        held.control(.fromApp, .startService, session: 0)
        held.silence(60_000)
        held.control(.fromAccessory, .startServiceNAK, session: 0, fate: .byRelay)
        #expect(faults(held) == [.headUnit])
    }

    @Test("relayd had bytes in hand that may have been the answer") func relayd() {
        for lost in [true, false] {
            var talk = connected()
            talk.control(.fromApp, .startService, session: 0)
            if lost {
                talk.control(
                    .fromAccessory, .startServiceACK, session: 3, fate: .dropped(.lateAnswer))
            } else {
                let garbage = GarbageNotice(offset: 0, error: .reservedVersion(7), recognised: nil)
                talk.receive(.noticed(.garbage(garbage), nil, time: talk.time))
            }
            talk.silence(20_000)
            talk.control(.fromAccessory, .startServiceNAK, session: 0, fate: .byRelay)
            #expect(faults(talk) == [.relayd, .relayd])
        }
        // On a serial line bytes get lost before relayd sees them.
        var serial = connected("serial:/dev/ttyS0")
        serial.control(.fromApp, .startService, session: 0)
        let garbage = GarbageNotice(offset: 0, error: .reservedVersion(7), recognised: nil)
        serial.receive(.noticed(.garbage(garbage), nil, time: serial.time))
        serial.silence(10_000)
        #expect(faults(serial) == [.headUnit])
    }

    @Test("it waits for its turn, and then the head unit has its time") func waiting() {
        func starts(_ talk: inout Dialogue) {
            let start = TappedFrame(
                frame: .startService(), direction: .fromApp, app: app, time: talk.time,
                isWaiting: true)
            talk.receive(.frames([start]))
        }
        var talk = connected()
        starts(&talk)
        #expect(talk.lastLine?.contains("waits for its turn") == true)
        #expect(talk.due == nil)
        talk.silence(15_000)
        talk.receive(.session(.startSent, app, time: talk.time))
        #expect(talk.due == 10_000)
        talk.silence(9000)
        #expect(faults(talk) == [])
        var refused = talk
        refused.control(.fromAccessory, .startServiceNAK, session: 0, fate: .byRelay)
        #expect(faults(refused) == [.relayd], "before the head unit is late")
        talk.silence(1000)
        #expect(faults(talk) == [.headUnit])
        #expect(talk.lastLine?.contains("has no answer for 10") == true)

        // An answer that is delivered to no app in the meantime does not count.
        var lost = connected()
        starts(&lost)
        lost.control(.fromAccessory, .startServiceACK, session: 3, fate: .dropped(.lateAnswer))
        lost.receive(.session(.startSent, app, time: lost.time))
        lost.silence(10_000)
        #expect(faults(lost) == [.headUnit])

        var unsent = connected()
        starts(&unsent)
        unsent.control(.fromAccessory, .startServiceNAK, session: 0, fate: .byRelay)
        #expect(faults(unsent) == [.relayd])

        // Of two requests made before the head unit connects, the second is sent when the first is answered.
        var early = Dialogue()
        early.receive(.appConnected(app, peer: "p", time: early.time))
        starts(&early)
        starts(&early)
        early.silence(5000)
        early.receive(.linkOpened(number: 1, address: "tcp:", time: early.time))
        early.receive(.session(.startSent, app, time: early.time))
        early.silence(8000)
        early.control(.fromAccessory, .startServiceACK)
        early.receive(.session(.startSent, app, time: early.time))
        early.silence(9000)
        #expect(faults(early) == [])
        early.silence(1000)
        #expect(faults(early) == [.headUnit])
    }

    @Test("an answer to another request of the app is none to one that waits for its turn")
    func answersOfOthers() {
        var talk = connected()
        func says(_ frame: Frame, _ grant: GrantMeaning? = nil, waits: Bool = false) {
            talk.receive(
                .frames([
                    TappedFrame(
                        frame: frame, direction: grant == nil ? .fromApp : .fromAccessory, app: app,
                        time: talk.time, grant: grant, isWaiting: waits)
                ]))
        }
        says(.startService(), waits: true)
        // A request to protect the session that the app already has.
        says(.control(.startService, service: .rpc, session: 1))
        says(.startServiceACK(session: 1), .protects)
        says(.startServiceACK(session: 1), .nothing)
        talk.silence(15_000)
        #expect(faults(talk) == [])
        talk.receive(.session(.startSent, app, time: talk.time))
        says(.startServiceACK(session: 1), .nothing)
        talk.silence(10_000)
        #expect(faults(talk) == [.headUnit])
    }

    @Test("nobody is late with an answer in a session that is over")
    func over() {
        for isLinkLost in [true, false] {
            var talk = Dialogue()
            talk.opens()
            talk.control(.fromApp, .startService, .video)
            if isLinkLost {
                talk.receive(.linkClosed(reason: "unplugged", time: talk.time))
                talk.receive(.linkOpened(number: 2, address: "tcp:", time: talk.time))
            } else {
                talk.receive(.session(.ended(1), app, time: talk.time))
            }
            talk.silence(10_000)
            #expect(faults(talk) == [])
        }
    }

    @Test(
        "the head unit has its time from the sending on, also where the link's opening is told late"
    )
    func toldLate() {
        var talk = Dialogue()
        talk.receive(.appConnected(app, peer: "p", time: talk.time))
        let start = TappedFrame(
            frame: .startService(), direction: .fromApp, app: app, time: talk.time, isWaiting: true)
        talk.receive(.frames([start]))
        let opening = talk.time
        talk.silence(15_000)
        talk.receive(.session(.startSent, app, time: talk.time))
        talk.receive(.linkOpened(number: 1, address: "tcp:", time: opening))
        talk.silence(9000)
        #expect(faults(talk) == [])
        talk.silence(1000)
        #expect(faults(talk) == [.headUnit])
    }

    @Test("the app asks too often, or for a stream that it may not have") func ofTheApp() {
        var often = connected()
        often.control(.fromApp, .startService, session: 0)
        often.control(.fromApp, .startService, session: 0, fate: .dropped(.queueFull))
        often.control(.fromAccessory, .startServiceNAK, session: 0, fate: .byRelay)
        #expect(faults(often) == [.app])
        // The earlier request still waits.
        often.silence(10_000)
        #expect(faults(often) == [.app, .headUnit])

        var untyped = Dialogue()
        untyped.starts()
        untyped.control(.fromApp, .startService, .video)
        untyped.control(.fromAccessory, .startServiceNAK, .video)
        #expect(faults(untyped) == [.app])

        var unregistered = Dialogue()
        unregistered.opens()
        unregistered.control(.fromApp, .startService, .audio)
        unregistered.silence(10_000)
        #expect(faults(unregistered) == [.app])
    }

    @Test(
        "a navigation app in FULL is refused by the head unit, unless it asks for what is rejected")
    func navigation() {
        for rejects in [false, true] {
            var talk = Dialogue()
            talk.opens()
            talk.request(
                .registerAppInterface, 1,
                #"{"appName":"N","appID":"n","appHMIType":["NAVIGATION"]}"#)
            talk.response(.registerAppInterface, 1, #"{"success":true,"resultCode":"SUCCESS"}"#)
            talk.notification(.onHMIStatus, #"{"hmiLevel":"FULL"}"#)
            talk.control(.fromApp, .startService, .video)
            let nak: BSONDocument = ["rejectedParams": .array([.string("videoCodec")])]
            talk.control(
                .fromAccessory, .startServiceNAK, .video,
                payload: rejects ? nak.bytes : ByteBuffer())
            #expect(faults(talk) == [rejects ? .app : .headUnit])
        }
    }
}
