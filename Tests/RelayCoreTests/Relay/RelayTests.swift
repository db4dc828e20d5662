import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("The relay between apps and a head unit", .serialized)
struct RelayTests {
    @Test("an app gets its session and both sides hear each other's bytes untouched")
    func endToEnd() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            let app = try await bench.connectApp()
            try await app.send(.startService())
            #expect(try await headUnit.grant(session: 1) == .startService())
            #expect(try await app.next() == .startServiceACK(session: 1))
            let request = Frame.rpc(session: 1, json: #"{"mainField1":"Hello"}"#)
            try await app.send(request)
            #expect(try await headUnit.next() == request)
            let response = Frame.rpc(session: 1, .response, json: #"{"success":true}"#)
            try await headUnit.send(response)
            #expect(try await app.next() == response)
        }
    }

    @Test("twenty apps register at once; each hears only its own")
    func twentyApps() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...20 {
                    group.addTask {
                        let app = try await bench.connectApp()
                        try await app.send(.startService())
                        let session = try await app.next().sessionID
                        let mine = Frame.rpc(
                            session: session, .request, .registerAppInterface,
                            json: #"{"appName":"App \#(number)"}"#)
                        try await app.send(mine)
                        // The head unit echoes; anything of another app's would not match.
                        for _ in 0..<3 { #expect(try await app.next() == mine) }
                    }
                }
                var heard: [Frame] = []
                var session: UInt8 = 0
                while heard.count < 20 {
                    let frame = try await headUnit.next()
                    if frame.controlType == .startService {
                        session += 1
                        try await headUnit.send(.startServiceACK(session: session))
                    } else {
                        heard.append(frame)
                    }
                }
                for _ in 0..<3 {
                    for frame in heard { try await headUnit.send(frame) }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("an app killed at every byte of a frame leaves the link clean")
    func killedAtEveryByte() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            let witness = try await bench.openSession(1, on: headUnit)
            let frame = Frame.rpc(session: 2, message: 5, json: #"{"mainField1":"cut"}"#)
            for cut in 0..<frame.wire.readableBytes {
                let app = try await bench.connectApp()
                try await app.send(.startService())
                try await headUnit.grant(session: 2)
                _ = try await app.next()
                let start = frame.wire.getSlice(at: 0, length: cut) ?? ByteBuffer()
                try await app.send(bytes: start)
                if cut % 2 == 0 { await app.close() } else { try await app.reset() }
                // The head unit hears a goodbye and not one byte of the frame.
                let end = try await headUnit.next()
                #expect(end.controlType == .endService)
                #expect(ControlPayload(end).hashID == 0x2_0005)
                try await headUnit.send(.control(.endServiceACK, session: 2))
                let proof = Frame.rpc(session: 1, message: UInt32(cut + 1))
                try await witness.send(proof)
                #expect(try await headUnit.next() == proof)
            }
        }
    }

    @Test("an app that dies in the middle of a 100 KB frame leaves not one byte of it on the link")
    func diesInLargeFrame() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            let app = try await bench.openSession(1, on: headUnit)
            let frame = Frame.data(session: 1, message: 2, bytes: 100_000)
            try await app.send(bytes: frame.wire.getSlice(at: 0, length: 70_000) ?? ByteBuffer())
            await app.close()
            #expect(try await headUnit.next().controlType == .endService)
        }
    }

    @Test("garbage closes the app that sent it, says where and what, and disturbs nobody")
    func garbage() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            let good = try await bench.openSession(1, on: headUnit)
            let browser = try await bench.connectApp()
            try await browser.send(bytes: ByteBuffer(string: "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
            try await browser.closed()
            try await bench.until { $0.departures.count == 1 }
            let reason = try await bench.relay.snapshot().departures[0].reason
            guard case .garbage(let garbage) = reason else {
                Issue.record("closed for another reason: \(reason)")
                return
            }
            #expect(garbage.offset == 0)
            #expect(garbage.recognised == .http)
            #expect(garbage.excerpt.hexExcerpt().hasPrefix("47 45 54 20"))
            let request = Frame.rpc(session: 1)
            try await good.send(request)
            #expect(try await headUnit.next() == request)
        }
    }

    @Test("the link cut and restored fifty times: apps are closed at once and come back")
    func fiftyCuts() async throws {
        try await RelayBench.run { bench in
            for round in 1...50 {
                let headUnit = try await bench.openLink()
                let app = try await bench.connectApp()
                try await app.send(.startService())
                try await headUnit.grant(session: UInt8(round))
                #expect(try await app.next().sessionID == UInt8(round))
                // Half a frame to the app must not survive into the next link.
                let torn = Frame.rpc(session: UInt8(round)).wire
                try await headUnit.send(bytes: torn.getSlice(at: 0, length: 9) ?? ByteBuffer())
                if round % 2 == 0 { await headUnit.close() } else { try await headUnit.reset() }
                try await app.closed()
                try await bench.until { !$0.link.isUp && $0.apps.isEmpty }
            }
            let snapshot = try await bench.relay.snapshot()
            #expect(snapshot.link.openedCount == 50)
            #expect(snapshot.link.openSessions == 0)
        }
    }

    @Test("an app that came first is served when the head unit comes")
    func appFirst() async throws {
        try await RelayBench.run { bench in
            let app = try await bench.connectApp()
            try await app.send(.startService())
            try await bench.until { $0.link.waitingStarts == 1 }
            let headUnit = try await bench.openLink()
            try await headUnit.grant(session: 4)
            #expect(try await app.next().sessionID == 4)
        }
    }

    @Test("an app is told no when nothing comes for as long as configured")
    func holdTimeout() async throws {
        try await RelayBench.run {
            $0.holdTimeout = .milliseconds(20)
        } _: { bench in
            let app = try await bench.connectApp()
            try await app.send(.startService(headerVersion: 5))
            let answer = try await app.next()
            #expect(answer.controlType == .startServiceNAK)
            let reason = ControlPayload(answer).document?.string("reason")
            #expect(reason == "no head unit was connected within 0.02 s")
            try await app.closed()
        }
    }

    @Test("a slow link holds its apps back instead of buffering without bound")
    func slowLink() async throws {
        try await RelayBench.run {
            $0.framesPerSecond = 0
        } _: { bench in
            let headUnit = try await bench.openLink()
            let app = try await bench.openSession(1, on: headUnit)
            try await headUnit.channel.setOption(.autoRead, value: false).get()
            // More than all socket buffers on the way can hold.
            let frame = Frame.data(session: 1, bytes: 64_000)
            let writes = Task {
                for _ in 0..<1000 { try await app.send(frame) }
            }
            try await bench.until { $0.apps.first?.isPaused == true }
            let waiting = try await bench.relay.snapshot().link.queuedBytes
            let limit = RelayConfiguration().linkQueueBytes
            #expect(waiting >= limit && waiting < 2 * limit)
            try await headUnit.channel.setOption(.autoRead, value: true).get()
            for _ in 0..<1000 { #expect(try await headUnit.next() == frame) }
            try await writes.value
        }
    }

    @Test("an app that does not read is closed alone; the others get every byte")
    func slowApp() async throws {
        try await RelayBench.run {
            $0.appQueueBytes = 4 << 20
        } _: { bench in
            let headUnit = try await bench.openLink()
            let stuck = try await bench.connectApp(readsByItself: false)
            try await stuck.send(.startService())
            try await headUnit.grant(session: 1)
            let healthy = try await bench.openSession(2, on: headUnit)
            let flood = Frame.data(session: 1, bytes: 100_000)
            let wanted = Frame.data(session: 2, bytes: 1000)
            let listening = Task {
                for _ in 0..<200 {
                    let heard = try await healthy.next()
                    #expect(heard == wanted)
                }
            }
            for _ in 0..<200 { try await headUnit.send(flood, wanted) }
            try await listening.value
            try await bench.until { $0.departures.count == 1 }
            let snapshot = try await bench.relay.snapshot()
            guard case .tooSlow(let bytes) = snapshot.departures[0].reason else {
                Issue.record("closed for another reason: \(snapshot.departures[0].reason)")
                return
            }
            #expect(bytes > 4 << 20)
            #expect(snapshot.limits[.appQueue]?.count == 1)
            #expect(snapshot.apps.count == 1)
        }
    }

    @Test("an app that floods is paced below the head unit's limit and loses nothing")
    func paced() async throws {
        try await RelayBench.run {
            $0.framesPerSecond = 50
        } _: { bench in
            let headUnit = try await bench.openLink()
            let app = try await bench.openSession(1, on: headUnit)
            let start = NIODeadline.now()
            for message in 1...120 {
                try await app.send(.rpc(session: 1, message: UInt32(message)))
            }
            for message in 1...120 {
                #expect(try await headUnit.next().messageID == UInt32(message))
            }
            #expect(NIODeadline.now() - start >= .seconds(1))
            #expect(try await bench.relay.snapshot().limits[.framesPerSecond] != nil)
        }
    }

    @Test("a stopping relay ends sessions on both sides before it closes")
    func shutDown() async throws {
        try await RelayBench.run {
            $0.farewellTimeout = FramePeer.patience
        } _: { bench in
            let headUnit = try await bench.openLink()
            let app = try await bench.openSession(1, on: headUnit)
            async let stopped: Void = bench.relay.shutDown()
            #expect(try await app.next().controlType == .endService)
            try await app.closed()
            let unregister = try await headUnit.next()
            #expect(RPCHeader(unregister.payload)?.functionID == 2)
            try await headUnit.answer(unregister)
            let end = try await headUnit.next()
            #expect(ControlPayload(end).hashID == 0x1_0005)
            try await headUnit.send(.control(.endServiceACK, session: 1))
            await stopped
        }
    }

    @Test("the tap sees what passed, in order, with its fate")
    func tap() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            let app = try await bench.openSession(1, on: headUnit)
            try await app.send(.rpc(session: 9))
            await app.close()
            _ = try await headUnit.next()
            try await bench.until { $0.apps.isEmpty }
            await bench.relay.shutDown()
            var story: [String] = []
            while let batch = await bench.relay.tapQueue.nextBatch() {
                for item in batch { story += describe(item) }
            }
            #expect(
                story == [
                    "link opened", "#1 connected", "#1 fromApp StartService forwarded",
                    "#1 fromAccessory StartServiceACK forwarded",
                    "#1 fromApp single dropped(session 9 is not this app's)",
                    "- fromApp EndService byRelay", "#1 closed",
                ])
        }
    }

    private func describe(_ item: TapItem) -> [String] {
        switch item {
        case .linkOpened: ["link opened"]
        case .linkClosed: ["link closed"]
        case .appConnected(let app, _, _): ["\(app) connected"]
        case .appClosed(let app, _, _): ["\(app) closed"]
        case .session(let event, let app, _): ["\(app) \(event)"]
        case .missed: ["missed"]
        case .bytes: ["bytes"]
        case .noticed: ["noticed"]
        case .noted(let note, _): [note.text]
        case .frames(let frames):
            frames.map { frame in
                let app = frame.app.map(\.description) ?? "-"
                let what = frame.frame.controlType?.name ?? "\(frame.frame.type)"
                let fate =
                    if case .dropped(let reason) = frame.fate {
                        "dropped(\(reason))"
                    } else {
                        "\(frame.fate)"
                    }
                return "\(app) \(frame.direction) \(what) \(fate)"
            }
        }
    }
}
