// Which apps are let in and for how long: the hub over real TCP.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Limits of connections", .serialized)
struct LimitTests {
    @Test("an app too many hears why in a NAK, and those connected stay")
    func surplus() async throws {
        try await RelayBench.run {
            $0.maximumApps = 1
        } _: { bench in
            let headUnit = try await bench.openLink()
            let first = try await bench.openSession(1, on: headUnit)
            let second = try await bench.connectApp()
            try await second.send(.startService(headerVersion: 5))
            let answer = try await second.next()
            #expect(answer.controlType == .startServiceNAK)
            #expect(
                ControlPayload(answer).document?.string(ControlKey.reason)
                    == "relayd: 1 app is connected already (apps.maximum)")
            // Its end comes after the answer, without a reset.
            try await second.closed()
            let request = Frame.rpc(session: 1)
            try await first.send(request)
            #expect(try await headUnit.next() == request)
            let snapshot = try await bench.relay.snapshot()
            #expect(snapshot.refusedConnections == 1)
            #expect(snapshot.limits[.maximumApps]?.count == 1)
            #expect(snapshot.apps.count == 1)
            // Its place is free when the first one goes.
            await first.close()
            try await bench.until { $0.apps.isEmpty }
            _ = try await bench.connectApp()
            try await bench.until { $0.apps.count == 1 }
        }
    }

    @Test("connections that wait for their refusal are few, and garbage ends one at once")
    func surplusIsBounded() async throws {
        try await RelayBench.run {
            $0.maximumApps = 1
            $0.maximumSurplus = 1
        } _: { bench in
            let app = try await bench.connectApp()
            try await bench.until { $0.apps.count == 1 }
            let second = try await bench.connectApp()
            let third = try await bench.connectApp()
            try await third.closed()
            try await second.send(bytes: ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
            try await second.closed()
            #expect(try await bench.relay.snapshot().refusedConnections == 2)
            await app.close()
        }
    }

    @Test("a connection from outside the networks allowed is closed and counted")
    func notAllowed() async throws {
        let elsewhere = try Network(parsing: "10.0.0.0/8")
        try await RelayBench.run {
            $0.allowedNetworks = [elsewhere]
        } _: { bench in
            let stranger = try await bench.connectApp()
            try await stranger.closed()
            let snapshot = try await bench.relay.snapshot()
            #expect(snapshot.limits[.allow]?.count == 1)
            #expect(snapshot.apps.isEmpty)
        }
    }

    @Test("an address that reconnects without end is refused")
    func rate() async throws {
        try await RelayBench.run {
            $0.connectionsPerSecond = 1
        } _: { bench in
            // Twenty may come at once, and one more each second that this takes.
            for _ in 0..<200 {
                let app = try await bench.connectApp()
                await app.close()
            }
            try await bench.until { ($0.limits[.connectionsPerSecond]?.count ?? 0) > 0 }
        }
    }

    @Test("a connection that says nothing is closed; an app that has spoken is not")
    func silent() throws {
        let bench = try EmbeddedHub { $0.silentTimeout = .milliseconds(100) }
        let app = try bench.app(session: 1)
        let mute = try bench.app()
        let half = try bench.app()
        try half.writeInbound(ByteBuffer(bytes: [0x50, 0x07]))

        bench.loop.advanceTime(by: .milliseconds(99))
        #expect(bench.switchboard.snapshot(missedBatches: 0).departures.isEmpty)
        bench.loop.advanceTime(by: .milliseconds(1))
        bench.loop.advanceTime(by: LingeringClose.patience)
        #expect(app.isActive && !mute.isActive && !half.isActive)
        let snapshot = bench.switchboard.snapshot(missedBatches: 0)
        let silence = CloseReason.silent(.milliseconds(100))
        #expect(snapshot.departures.map(\.reason) == [silence, silence])
        #expect(snapshot.limits[.silentTimeout]?.count == 2)
        #expect(snapshot.apps.count == 1)
    }

    @Test("the 256th session gets the head unit's own refusal, and status says why")
    func sessions() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            var apps: [FramePeer] = []
            for session in UInt8(1)...255 {
                apps.append(try await bench.openSession(session, on: headUnit))
            }
            let last = try await bench.connectApp()
            try await last.send(.startService())
            _ = try await headUnit.next()
            try await headUnit.send(.startServiceNAK())
            #expect(try await last.next() == .startServiceNAK())
            let snapshot = try await bench.relay.snapshot()
            #expect(snapshot.limits[.sessions]?.count == 1)
            #expect(snapshot.link.openSessions == 255)
            for app in apps { await app.close() }
        }
    }

    @Test("IPv4 and IPv6 may listen on one port, and each app is served")
    func bothFamilies() async throws {
        try await RelayBench.run { bench in
            // A port nobody has: the bench's own listener has the next ones on 127.0.0.1.
            let probe = try await AppListener.open(
                [ListenAddress(host: "::1", port: 0)], for: bench.relay)
            let port = try #require(probe.addresses.first?.port)
            let apps = try await FramePeer.connect(host: "::1", port: port)
            try await bench.until { $0.apps.first?.peer.hasPrefix("[::1]:") == true }
            await apps.close()
            await probe.close()
            let both = try await AppListener.open(
                [
                    ListenAddress(host: "0.0.0.0", port: port),
                    ListenAddress(host: "::", port: port),
                ],
                for: bench.relay)
            let four = try await FramePeer.connect(host: "127.0.0.1", port: port)
            let six = try await FramePeer.connect(host: "::1", port: port)
            try await bench.until { $0.apps.count == 2 }
            await four.close()
            await six.close()
            await both.close()
        }
    }
}
