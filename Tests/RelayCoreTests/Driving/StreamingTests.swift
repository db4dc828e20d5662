// Audio and video that relayd sends in an app's session: who may use the services, where the answers go, and
// what ends them. On paper.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

private let wish: BSONDocument = [
    ControlKey.height: .int32(480), ControlKey.width: .int32(800),
    ControlKey.videoProtocol: .string("RAW"), ControlKey.videoCodec: .string("H264"),
]

extension RouterBench {
    fileprivate func starts(
        _ service: ServiceType = .video, patience: TimeAmount = .seconds(10)
    ) throws -> OwnRequestID {
        try router.startStream(service, wish, in: 1, patience: patience, at: now)
    }

    /// Starts a service, which then runs.
    fileprivate func streams(_ service: ServiceType = .video) throws -> OwnRequestID {
        let id = try starts(service)
        _ = heard()
        #expect(
            accessory(says: .control(.startServiceACK, service: service, session: 1)) == .handled)
        _ = actions()
        return id
    }

    fileprivate static func radio() -> RouterBench {
        let bench = RouterBench.withRadio()
        return bench
    }
}

@Suite("Audio and video of relayd's in an app's session")
struct StreamingTests {
    @Test("the head unit is asked as the app would ask, and its grant reaches relayd alone")
    func grant() throws {
        let bench = RouterBench.radio()
        _ = try bench.starts()
        let asked = try #require(bench.heard().first)
        #expect(asked.controlType == .startService && asked.service == .video)
        #expect(ControlPayload(asked).document == wish)
        let document: BSONDocument = [
            ControlKey.mtu: .int64(1000), ControlKey.videoProtocol: .string("RTP"),
        ]
        let ack = Frame.control(
            .startServiceACK, service: .video, session: 1, payload: document.bytes)
        #expect(bench.accessory(says: ack) == .handled)
        #expect(bench.actions() == [.toRelay(ack, "radio")])
        #expect(bench.news == [.granted(StreamGrant(version: 5, videoProtocol: "RTP"))])
    }

    @Test("data goes in frames that the service's own grant has room for, with numbers of relayd's")
    func data() throws {
        let bench = RouterBench.radio()
        let id = try bench.starts()
        _ = bench.heard()
        let document: BSONDocument = [ControlKey.mtu: .int64(1000)]
        _ = bench.accessory(
            says: .control(.startServiceACK, service: .video, session: 1, payload: document.bytes))
        let data = ByteBuffer(bytes: (0..<2500).map { UInt8(truncatingIfNeeded: $0) })
        let said = bench.router.streamData(data, in: id)
        let frames = try #require(said)
        #expect(frames.map(\.type) == [.first, .consecutive, .consecutive, .consecutive])
        #expect(frames.allSatisfy { $0.payloadBytes <= 988 && $0.service == .video })
        #expect(frames.allSatisfy { OwnRequests.messageIDs.contains($0.messageID ?? 0) })
        var whole = ByteBuffer()
        for frame in frames.dropFirst() { whole.writeImmutableBuffer(frame.payload) }
        #expect(whole == data)
    }

    @Test("a refusal is told with its names and its reason, and the app may ask itself then")
    func refusal() throws {
        let bench = RouterBench.radio()
        _ = try bench.starts()
        _ = bench.heard()
        let document: BSONDocument = [
            ControlKey.rejectedParams: .array([.string("videoCodec")]),
            ControlKey.reason: .string("no such codec"),
        ]
        let nak = Frame.control(
            .startServiceNAK, service: .video, session: 1, payload: document.bytes)
        #expect(bench.accessory(says: nak) == .handled)
        _ = bench.actions()
        #expect(
            bench.news == [.refused(parameters: ["videoCodec"], reason: "no such codec")])
        let own = Frame.control(.startService, service: .video, session: 1)
        #expect(bench.app("radio", says: own) == .toLink)
    }

    @Test("what the app uses, or has asked for, relayd does not ask for")
    func usedByApp() throws {
        let bench = RouterBench.radio()
        let own = Frame.control(.startService, service: .video, session: 1)
        #expect(bench.app("radio", says: own) == .toLink)
        #expect(throws: DriveRefusal.serviceInUse(.video)) { _ = try bench.starts() }
        let ack = Frame.control(.startServiceACK, service: .video, session: 1)
        #expect(bench.accessory(says: ack) == .toApp("radio"))
        #expect(throws: DriveRefusal.serviceInUse(.video)) { _ = try bench.starts() }
        _ = try bench.starts(.audio)
        // The app ends it, and it is free.
        _ = bench.app("radio", says: .control(.endService, service: .video, session: 1))
        _ = bench.accessory(says: .control(.endServiceACK, service: .video, session: 1))
        _ = try bench.starts()
        #expect(throws: DriveRefusal.serviceDriven(.video)) { _ = try bench.starts() }
    }

    @Test("the app's service ends when its end is confirmed, by whichever side")
    func ends() throws {
        func control(_ type: ControlFrameType) -> Frame {
            .control(type, service: .video, session: 1)
        }
        let bench = RouterBench.radio()
        func ends() -> Int {
            _ = bench.actions()
            defer { bench.events = [] }
            return bench.events.count { $0 == .serviceEnded("radio", session: 1, .video) }
        }
        func starts() {
            _ = bench.app("radio", says: control(.startService))
            _ = bench.accessory(says: control(.startServiceACK))
        }
        starts()
        // A running service goes on when a second start, or its end, is refused.
        _ = bench.app("radio", says: control(.startService))
        _ = bench.accessory(says: control(.startServiceNAK))
        _ = bench.app("radio", says: control(.endService))
        _ = bench.accessory(says: control(.endServiceNAK))
        #expect(ends() == 0)
        #expect(throws: DriveRefusal.serviceInUse(.video)) { _ = try bench.starts() }
        _ = bench.app("radio", says: control(.endService))
        #expect(ends() == 0)
        _ = bench.accessory(says: control(.endServiceACK))
        #expect(ends() == 1)
        starts()
        _ = bench.accessory(says: control(.endService))
        #expect(ends() == 1)
        #expect(
            throws: DriveRefusal.serviceInUse(.video), "a late confirmation would end the new one"
        ) {
            _ = try bench.starts()
        }
        // Once is enough; confirming a service that has ended changes nothing.
        #expect(bench.app("radio", says: control(.endServiceACK)) == .toLink)
        #expect(bench.app("radio", says: control(.endServiceACK)) == .toLink)
        _ = bench.accessory(says: control(.endServiceACK))
        #expect(ends() == 0)
        // An app that does not confirm, as with sdl_ios, may start again at once.
        starts()
        _ = bench.accessory(says: control(.endService))
        #expect(ends() == 1)
        starts()
        _ = bench.accessory(says: control(.endService))
        #expect(ends() == 1)
        // A service that was asked for and refused has not begun.
        _ = bench.app("radio", says: control(.startService))
        _ = bench.accessory(says: control(.startServiceNAK))
        #expect(ends() == 0)
        _ = try bench.starts()
    }

    @Test("what the head unit has ended is free when the app has confirmed it or had time to")
    func leaves() throws {
        for confirms in [true, false] {
            let bench = RouterBench.radio()
            _ = bench.app("radio", says: .control(.startService, service: .video, session: 1))
            for said in [ControlFrameType.startServiceACK, .endService] {
                _ = bench.accessory(says: .control(said, service: .video, session: 1))
            }
            #expect(throws: DriveRefusal.serviceInUse(.video)) { _ = try bench.starts() }
            if confirms {
                _ = bench.app("radio", says: .control(.endServiceACK, service: .video, session: 1))
            } else {
                bench.pass(StreamServices.patience)
            }
            #expect(throws: Never.self) { _ = try bench.starts() }
        }
    }

    @Test("relayd's own service ends when the head unit has confirmed it, or does not, or ends it")
    func ownEnds() throws {
        for answer in [ControlFrameType.endServiceACK, .endService, nil] {
            let bench = RouterBench.radio()
            let id = try bench.streams()
            if answer != .endService { bench.router.endStream(id, at: bench.now) }
            _ = bench.heard()
            #expect(!bench.events.contains(.serviceEnded("radio", session: 1, .video)))
            if let answer {
                _ = bench.accessory(says: .control(answer, service: .video, session: 1))
            } else {
                bench.pass(StreamServices.patience)
            }
            _ = bench.actions()
            #expect(bench.events.contains(.serviceEnded("radio", session: 1, .video)))
        }
    }

    @Test("while relayd streams, the app is refused the service, and nothing of it gets in between")
    func appAsks() throws {
        let bench = RouterBench.radio()
        let id = try bench.streams()
        let start = Frame.control(.startService, service: .video, session: 1, messageID: 9)
        #expect(bench.app("radio", says: start) == .drop(.serviceOfRelay))
        guard case .toApp(let nak, "radio")? = bench.actions().first else {
            Issue.record("no refusal")
            return
        }
        #expect(nak.controlType == .startServiceNAK && nak.service == .video)
        let end = Frame.control(.endService, service: .video, session: 1)
        #expect(bench.app("radio", says: end) == .drop(.serviceOfRelay))
        let data = Frame(
            version: 5, type: .single, service: .video, sessionID: 1, messageID: 10,
            payload: ByteBuffer(repeating: 1, count: 5000))
        #expect(bench.app("radio", says: data) == .drop(.serviceOfRelay))
        // The app's RPCs and other services are its own.
        #expect(bench.app("radio", says: .rpc(session: 1)) == .toLink)
        #expect(
            bench.app("radio", says: .control(.startService, service: .audio, session: 1))
                == .toLink)
        #expect(bench.router.isStreaming(id))
    }

    @Test("its end is asked for, and the confirmation reaches relayd alone")
    func end() throws {
        let bench = RouterBench.radio()
        let id = try bench.streams()
        bench.router.endStream(id, at: bench.now)
        let asked = try #require(bench.heard().first)
        #expect(asked.controlType == .endService && asked.service == .video)
        #expect(asked.payloadBytes == 0)
        #expect(bench.router.streamData(ByteBuffer(bytes: [1]), in: id) == nil)
        let ack = Frame.control(.endServiceACK, service: .video, session: 1)
        #expect(bench.accessory(says: ack) == .handled)
        _ = bench.actions()
        #expect(bench.news.last == .ended(isConfirmed: true))
        // A second one goes to the app.
        #expect(bench.accessory(says: ack) == .toApp("radio"))
    }

    @Test("an end that nobody confirms is over after its time")
    func unconfirmed() throws {
        let bench = RouterBench.radio()
        let id = try bench.streams()
        bench.router.endStream(id, at: bench.now)
        _ = bench.heard()
        bench.pass(StreamServices.patience)
        _ = bench.actions()
        #expect(bench.news.last == .ended(isConfirmed: false))
    }

    @Test(
        "a service that is granted too late is ended at once, and the app may not use it until then"
    )
    func late() throws {
        let bench = RouterBench.radio()
        _ = try bench.starts(patience: .seconds(1))
        _ = bench.heard()
        bench.pass(.seconds(1))
        _ = bench.actions()
        #expect(bench.news == [.unanswered])
        let own = Frame.control(.startService, service: .video, session: 1)
        #expect(bench.app("radio", says: own) == .drop(.serviceOfRelay))
        _ = bench.heard()
        #expect(
            bench.accessory(says: .control(.startServiceACK, service: .video, session: 1))
                == .handled)
        #expect(bench.heard().map(\.controlType) == [.endService])
        #expect(
            bench.accessory(says: .control(.endServiceACK, service: .video, session: 1)) == .handled
        )
        _ = bench.actions()
        #expect(bench.app("radio", says: own) == .toLink)
    }

    @Test("the head unit ends it: relayd confirms that, as libraries do, and says no more")
    func headUnitEnds() throws {
        let bench = RouterBench.radio()
        let id = try bench.streams()
        let end = Frame.control(.endService, service: .video, session: 1, messageID: 7)
        #expect(bench.accessory(says: end) == .handled)
        let confirmed = try #require(bench.heard().first)
        #expect(confirmed.controlType == .endServiceACK && confirmed.service == .video)
        #expect(bench.news.last == .endedByAccessory)
        #expect(bench.router.streamData(ByteBuffer(bytes: [1]), in: id) == nil)
    }

    @Test("the app or the link goes: whoever streams is told, once")
    func gone() throws {
        let left = RouterBench.radio()
        let id = try left.streams()
        left.router.disconnect("radio", at: left.now)
        _ = left.actions()
        #expect(left.news.last == .sessionOver)
        #expect(!left.router.isStreaming(id))
        let lost = RouterBench.radio()
        _ = try lost.streams()
        lost.router.linkClosed(reason: "pulled", at: lost.now)
        _ = lost.actions()
        #expect(lost.news.filter { $0 == .sessionOver }.count == 1)
        let ended = RouterBench.radio()
        _ = try ended.streams()
        _ = ended.app("radio", says: .control(.endService, session: 1))
        _ = ended.actions()
        #expect(ended.news.last == .sessionOver)
    }

    @Test("protocol version 2 has no audio and video")
    func oldProtocol() throws {
        let bench = RouterBench()
        bench.router.connect("radio")
        _ = bench.app("radio", says: .startService())
        _ = bench.actions()
        var hash = ByteBuffer()
        hash.writeInteger(UInt32(7))
        _ = bench.accessory(
            says: Frame(
                version: 2, type: .control, service: .rpc,
                info: ControlFrameType.startServiceACK.rawValue, sessionID: 1, messageID: 1,
                payload: hash))
        _ = bench.heard()
        #expect(throws: DriveRefusal.noStreams(session: 1, version: 2)) { _ = try bench.starts() }
    }
}
