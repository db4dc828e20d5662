// Nothing that hurts the head unit goes on the shared link: one app's errors affect only that
// app.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What would hurt the head unit stays off the link")
struct SharedLinkGuardTests {
    private func first(announcing bytes: UInt32, session: UInt8 = 1) -> Frame {
        var payload = ByteBuffer()
        payload.writeInteger(bytes)
        payload.writeInteger(UInt32(1))
        return Frame(
            version: 5, type: .first, service: .bulk, sessionID: session, messageID: 2,
            payload: payload)
    }

    @Test("a message of 0 bytes, after which sdl_core never reads the link again")
    func emptyMessage() {
        let bench = RouterBench()
        bench.open("music", session: 1)
        #expect(bench.app("music", says: first(announcing: 0)) == .drop(.emptyMessage))
        #expect(bench.actions() == [.close("music", .emptyMessage)])
        #expect(bench.app("music", says: first(announcing: 1)) == .toLink)
    }

    @Test("a message larger than any RPC needs, whose bytes sdl_core reserves at once")
    func hugeMessage() {
        let bench = RouterBench { $0.messageBytes = 1000 }
        bench.open("music", session: 1)
        #expect(bench.app("music", says: first(announcing: 1000)) == .toLink)
        #expect(bench.app("music", says: first(announcing: 1001)) == .drop(.messageTooLarge))
        let reason = CloseReason.messageTooLarge(bytes: 1001, limit: 1000)
        #expect(bench.actions() == [.close("music", reason)])
        #expect(bench.events.last == .messageTooLarge("music", bytes: 1001))
        #expect("\(reason)".contains("apps.message_limit"))
        #expect(bench.app("music", says: first(announcing: .max)) == .drop(.messageTooLarge))
    }

    @Test("the default lets an app's whole quota through, 100 MiB, and its parameters")
    func defaultLimit() {
        let bench = RouterBench()
        bench.open("music", session: 1)
        #expect(bench.app("music", says: first(announcing: 100 << 20 | 4096)) == .toLink)
        #expect(bench.app("music", says: first(announcing: 1 << 30)) == .drop(.messageTooLarge))
    }

    @Test("several messages at once that together are larger than one may be")
    func hugeSum() {
        let bench = RouterBench { $0.messageBytes = 1000 }
        bench.open("music", session: 1)
        bench.open("maps", session: 2)
        func first(announcing bytes: UInt32, session: UInt8, message: UInt32) -> Frame {
            var frame = self.first(announcing: bytes, session: session)
            frame = Frame(
                version: 5, type: .first, service: .bulk, sessionID: session, messageID: message,
                payload: frame.payload)
            return frame
        }
        _ = bench.app("music", says: first(announcing: 400, session: 1, message: 2))
        _ = bench.app("music", says: first(announcing: 600, session: 1, message: 3))
        // Messages of another app do not count.
        _ = bench.app("maps", says: first(announcing: 1000, session: 2, message: 2))
        #expect(bench.heard().map(\.type) == [.first, .first, .first])
        let third = first(announcing: 500, session: 1, message: 4)
        #expect(bench.app("music", says: third) == .toLink)
        let heard = bench.heard()
        #expect(heard.map(\.messageID) == [2, 3, 4])
        #expect(heard.map(\.type) == [.consecutive, .consecutive, .first])
        #expect(bench.router.halves.count(of: 1) == 1 && bench.router.halves.count(of: 2) == 1)
        let told = bench.events.compactMap { event -> String? in
            if case .messageEnded("music", let message) = event {
                RelayNotice.messageEnded(message).description
            } else {
                nil
            }
        }
        #expect(told.count == 2 && told.allSatisfy { $0.contains("apps.message_limit") })
    }

    @Test("a frame larger than the head unit's mtu by any reading")
    func largeFrame() {
        let bench = RouterBench()
        bench.open("music", session: 1)
        #expect(bench.app("music", says: .data(session: 1, bytes: 131_072)) == .toLink)
        #expect(
            bench.app("music", says: .data(session: 1, bytes: 131_073)) == .drop(.frameTooLarge))
        #expect(
            bench.actions() == [.close("music", .frameTooLarge(bytes: 131_073, limit: 131_072))])
        // A service may allow more than the session did.
        let document: BSONDocument = [ControlKey.mtu: .int64(200_000)]
        let ack = Frame.control(
            .startServiceACK, service: .video, session: 1, payload: document.bytes)
        _ = bench.accessory(says: ack)
        #expect(
            bench.app("music", says: .data(session: 1, service: .video, bytes: 200_000)) == .toLink)
    }

    @Test(
        "an mtu that leaves no room for any frame closes nobody: the default stays",
        arguments: [Int64.min, -1, 0, 1, 7, 8, 12])
    func impossibleMTU(mtu: Int64) {
        let bench = RouterBench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        _ = bench.heard()
        _ = bench.accessory(
            says: .startServiceACK(session: 1, extra: [(ControlKey.mtu, .int64(mtu))]))
        #expect(bench.app("music", says: .rpc(session: 1)) == .toLink)
        #expect(bench.app("music", says: .data(session: 1, bytes: 131_072)) == .toLink)
        #expect(
            bench.app("music", says: .data(session: 1, bytes: 131_073)) == .drop(.frameTooLarge))
        // Nor that of another service.
        bench.open("navigation", session: 2)
        let document: BSONDocument = [ControlKey.mtu: .int64(mtu)]
        _ = bench.accessory(
            says: .control(.startServiceACK, service: .video, session: 2, payload: document.bytes))
        #expect(
            bench.app("navigation", says: .data(session: 2, service: .video, bytes: 1000))
                == .toLink)
    }

    @Test("the smallest mtu that a frame fits in counts")
    func smallestMTU() {
        let bench = RouterBench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        _ = bench.heard()
        _ = bench.accessory(
            says: .startServiceACK(session: 1, extra: [(ControlKey.mtu, .int64(13))]))
        #expect(bench.app("music", says: .data(session: 1, bytes: 13)) == .toLink)
        #expect(bench.app("music", says: .data(session: 1, bytes: 14)) == .drop(.frameTooLarge))
    }

    @Test("anything in session 0 but StartService of the RPC service")
    func sessionZero() {
        let bench = RouterBench()
        bench.open("music", session: 1)
        var frames: [Frame] = [
            .data(session: 0, service: .control, bytes: 20), first(announcing: 9, session: 0),
        ]
        for type in ControlFrameType.allCases {
            for service in [ServiceType.control, .rpc, .audio, .video, .bulk]
            where !(type == .startService && service == .rpc) {
                frames.append(.control(type, service: service, session: 0))
            }
        }
        for frame in frames {
            _ = bench.app("music", says: frame)
            #expect(bench.heard() == [], "\(frame)")
        }
        _ = bench.app("music", says: .startService())
        #expect(bench.heard() == [.startService()])
    }

    /// sdl_core refuses the header of a frame that is larger than its mtu, whatever its type, and reads
    /// on byte by byte: it takes what follows for frames of any session.
    @Test(
        "a control frame larger than any needs, in and before a session",
        arguments: [4097, 131_073])
    func controlFrames(bytes: Int) {
        let payload = ByteBuffer(repeating: 1, count: bytes)
        let fits = ByteBuffer(repeating: 1, count: 4096)
        for type in ControlFrameType.allCases {
            for service in ServiceType.allCases {
                for session in [0, 1] as [UInt8] {
                    let bench = RouterBench()
                    bench.open("music", session: 1)
                    _ = bench.heard()
                    let large = Frame.control(
                        type, service: service, session: session, payload: payload)
                    #expect(bench.app("music", says: large) == .drop(.frameTooLarge), "\(large)")
                    let reason = CloseReason.controlFrameTooLarge(bytes: bytes, limit: 4096)
                    #expect(bench.actions() == [.close("music", reason)])
                    #expect(bench.heard() == [])
                    let other = Frame.control(
                        type, service: service, session: session, payload: fits)
                    #expect(bench.app("music", says: other) != .drop(.frameTooLarge))
                }
            }
        }
        // With a head unit that takes even less.
        let bench = RouterBench()
        bench.router.connect("music")
        _ = bench.app("music", says: .startService())
        _ = bench.heard()
        _ = bench.accessory(
            says: .startServiceACK(session: 1, extra: [(ControlKey.mtu, .int64(1024))]))
        let ack = Frame.control(
            .heartbeatACK, service: .control, session: 1,
            payload: ByteBuffer(repeating: 0, count: 1025))
        #expect(bench.app("music", says: ack) == .drop(.frameTooLarge))
    }

    @Test("an RPC frame as large as only the video service takes")
    func payloadOfAService() {
        let bench = RouterBench()
        bench.open("maps", session: 1)
        let document: BSONDocument = [ControlKey.mtu: .int64(200_000)]
        _ = bench.accessory(
            says: .control(.startServiceACK, service: .video, session: 1, payload: document.bytes))
        #expect(
            bench.app("maps", says: .data(session: 1, service: .video, bytes: 200_000)) == .toLink)
        #expect(bench.app("maps", says: .data(session: 1, bytes: 131_073)) == .drop(.frameTooLarge))
    }

    /// sdl_core counts such a header as malformed, of which the eleventh in a second closes the
    /// link for all apps (sdl_core incoming_data_handler.cc, protocol_packet.cc).
    private static let malformed: [(String, [UInt8])] = [
        ("version 0", [0x01, 7, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]),
        ("version 6", [0x61, 7, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]),
        ("version 15", [0xF1, 7, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]),
        ("frame type 4", [0x54, 7, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]),
        ("frame type 7", [0x57, 7, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]),
        ("service 1", [0x51, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]),
        ("service 255", [0x51, 255, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]),
        ("control info 0x0A", [0x50, 7, 0x0A, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("control info 0xFC", [0x50, 7, 0xFC, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("empty single frame", [0x51, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("empty consecutive frame", [0x53, 7, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("empty last frame", [0x53, 15, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
        (
            "first frame of 7 bytes",
            [0x52, 7, 0, 1, 0, 0, 0, 7, 0, 0, 0, 1] + Array(repeating: 1, count: 7)
        ),
        (
            "first frame of 9 bytes",
            [0x52, 7, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1] + Array(repeating: 1, count: 9)
        ),
        ("single, message ID 0", [0x51, 7, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]),
        (
            "first, message ID 0",
            [0x52, 7, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0] + Array(repeating: 1, count: 8)
        ),
        ("consecutive, message ID 0", [0x53, 7, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]),
        ("v1, 1489 bytes", [0x11, 7, 0, 1, 0, 0, 5, 0xD1] + Array(repeating: 1, count: 1489)),
        (
            "v2, 1489 bytes",
            [0x21, 7, 0, 1, 0, 0, 5, 0xD1, 0, 0, 0, 1] + Array(repeating: 1, count: 1489)
        ),
        ("v5, 131,101 bytes", [0x51, 7, 0, 1, 0, 2, 0, 0x1D, 0, 0, 0, 1]),
    ]

    @Test("nothing that sdl_core counts as malformed comes from an app", arguments: malformed)
    func malformedFrames(name: String, bytes: [UInt8]) {
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(ByteBuffer(bytes: bytes))
        #expect(throws: FrameError.self, "\(name)") { try decoder.next() }
    }

    @Test("the rate is a session's: two sessions of an app have each their own, data and control")
    func ratePerSession() {
        var pacing = SessionPacing(limit: 950)
        let now = NIODeadline.uptimeNanoseconds(1)
        func passed(_ session: UInt8) -> Int {
            (0..<2000).count { _ in
                guard !pacing.isFull(session, at: now) else { return false }
                _ = pacing.wrote(session, at: now)
                return true
            }
        }
        #expect(passed(1) == 950)
        #expect(passed(2) == 950)
        #expect(passed(1) == 0)
        // The next owner of a number is in the same second of the head unit's count.
        let released = pacing.release(at: now + .milliseconds(900))
        let isFull = pacing.isFull(1, at: now + .milliseconds(900))
        #expect(released == [] && isFull)
        pacing.limit = 0
        #expect(pacing.release(at: now) == [1, 2])
        let isFullWithoutLimit = pacing.isFull(1, at: now)
        #expect(!isFullWithoutLimit)
    }
}
