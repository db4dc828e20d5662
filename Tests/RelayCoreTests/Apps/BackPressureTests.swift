// Links that stand still and apps that read slowly, with several apps and over real TCP.

import NIOCore
import NIOPosix
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Back pressure between several apps and a head unit", .serialized)
struct BackPressureTests {
    @Test("while the link stands still, an app that floods is no longer read; another is served")
    func floodOnStuckLink() async throws {
        try await RelayBench.run {
            $0.framesPerSecond = 0
        } _: { bench in
            let headUnit = try await bench.openLink()
            let flooder = try await bench.openSession(1, on: headUnit)
            let quiet = try await bench.openSession(2, on: headUnit)
            try await headUnit.channel.setOption(.autoRead, value: false).get()
            let frame = Frame.data(session: 1, bytes: 64_000)
            let flood = Task {
                for _ in 0..<600 { try await flooder.send(frame) }
            }
            try await bench.until { $0.apps.first { $0.id.rawValue == 1 }?.isPaused == true }
            // Bytes that the flooder has written and relayd has not taken stay in TCP's windows.
            let read = try await bench.relay.snapshot().apps.first?.counters.bytesIn ?? 0
            for _ in 0..<200 { await Task.yield() }
            let snapshot = try await bench.relay.snapshot()
            #expect(snapshot.apps.first?.counters.bytesIn == read, "it is not read any more")
            #expect(snapshot.link.queuedBytes < 2 * RelayConfiguration().linkQueueBytes)
            #expect(snapshot.limits[.linkQueue] != nil)
            // The other app is still read, and its frame goes before the waiting flood.
            let word = Frame.rpc(session: 2, json: #"{"mainField1":"in between"}"#)
            try await quiet.send(word)
            try await bench.until { $0.apps.last?.counters.framesIn == 2 }
            try await headUnit.channel.setOption(.autoRead, value: true).get()
            var floods = 0
            var wordAfter: Int?
            while floods < 600 || wordAfter == nil {
                let heard = try await headUnit.next()
                if heard == word {
                    wordAfter = floods
                } else {
                    #expect(heard == frame)
                    floods += 1
                }
            }
            #expect(try #require(wordAfter) < 600)
            try await flood.value
        }
    }

    @Test("an app leaves while the link stands still: its last frames arrive, then its farewell")
    func lastWords() async throws {
        try await RelayBench.run {
            $0.framesPerSecond = 0
        } _: { bench in
            let headUnit = try await bench.openLink()
            let app = try await bench.openSession(1, on: headUnit)
            try await headUnit.channel.setOption(.autoRead, value: false).get()
            var count: UInt32 = 0
            func say() async throws {
                count += 1
                try await app.send(.data(session: 1, message: count, bytes: 50_000))
            }
            while try await bench.relay.snapshot().apps.first?.isPaused != true { try await say() }
            for _ in 0..<10 { try await say() }
            await app.close()
            try await headUnit.channel.setOption(.autoRead, value: true).get()
            for number in 1...count {
                let heard = try await headUnit.next()
                try #require(heard.messageID == number, "\(heard), number \(number) of \(count)")
            }
            #expect(try await headUnit.next().controlType == .endService)
            try await headUnit.send(.control(.endServiceACK, session: 1))
            try await bench.until { $0.link.openSessions + $0.link.farewellSessions == 0 }
        }
    }

    @Test("an app that reads slowly, but reads, is not closed although its queue is full")
    func slowReader() async throws {
        try await RelayBench.run {
            $0.appQueueBytes = 4 << 20
            $0.whenSlow = .hold
        } _: { bench in
            let headUnit = try await bench.openLink()
            let slow = try await bench.openSession(1, on: headUnit)
            try await slow.channel.setOption(.autoRead, value: false).get()
            let other = try await bench.openSession(2, on: headUnit)
            let flood = Frame.data(session: 1, bytes: 100_000)
            let sending = Task {
                for _ in 0..<400 { try await headUnit.send(flood) }
                try await headUnit.send(.rpc(session: 2))
            }
            try await bench.until { $0.limits[.stallGrace] != nil }
            // One read after the other, each only when the one before is done.
            let wanted = Frame.startServiceACK(session: 1).wire.readableBytes
            let reading = Task {
                let bytes = 400 * flood.wire.readableBytes + wanted
                let deadline = NIODeadline.now() + FramePeer.patience
                while try await slow.receivedBytes() < bytes {
                    guard NIODeadline.now() < deadline else { throw FramePeer.Failure.nothingCame }
                    slow.channel.read()
                }
            }
            try await reading.value
            #expect(try await other.next() == .rpc(session: 2))
            try await sending.value
            let snapshot = try await bench.relay.snapshot()
            #expect(snapshot.departures.isEmpty)
        }
    }

    @Test("after a cut in the middle of a frame no byte of before reaches anybody")
    func recovery() async throws {
        try await RelayBench.run {
            $0.framesPerSecond = 0
        } _: { bench in
            for round in UInt8(1)...5 {
                let headUnit = try await bench.openLink()
                let before = round &* 2 &- 1
                var apps: [FramePeer] = []
                for session in UInt8(1)...20 {
                    apps.append(try await bench.openSession(session, on: headUnit))
                }
                // Frames wait in both directions, some of them begun.
                try await headUnit.channel.setOption(.autoRead, value: false).get()
                let up = Frame.data(session: 0, bytes: 100_000, filledWith: before).wire
                for (index, app) in apps.enumerated() {
                    var frame = up
                    frame.setInteger(UInt8(index + 1), at: 3)
                    for _ in 0..<3 { app.channel.writeAndFlush(frame, promise: nil) }
                    let half = frame.getSlice(at: 0, length: 70_000) ?? ByteBuffer()
                    app.channel.writeAndFlush(half, promise: nil)
                }
                let down = Frame.data(session: 3, bytes: 100_000, filledWith: before).wire
                try await headUnit.send(
                    bytes: down.getSlice(at: 0, length: 50_000) ?? ByteBuffer())
                try await bench.until { $0.link.queuedBytes > 0 }
                if round % 2 == 0 { await headUnit.close() } else { try await headUnit.reset() }
                for app in apps { try await app.closed() }
                try await bench.until { !$0.link.isUp && $0.apps.isEmpty }
                #expect(try await bench.relay.snapshot().link.queuedBytes == 0)

                // The head unit is back: the first frame that it hears is a new one.
                let again = try await bench.openLink()
                let now = before &+ 1
                for session in UInt8(1)...20 {
                    let app = try await bench.connectApp()
                    try await app.send(.startService())
                    #expect(try await again.grant(session: session) == .startService())
                    #expect(try await app.next() == .startServiceACK(session: session))
                    let up = Frame.data(session: session, bytes: 50_000, filledWith: now)
                    try await app.send(up)
                    #expect(try await again.next() == up)
                    let down = Frame.data(session: session, bytes: 50_000, filledWith: now)
                    try await again.send(down)
                    #expect(try await app.next() == down)
                }
                await again.close()
                try await bench.until { !$0.link.isUp && $0.apps.isEmpty }
            }
        }
    }
}
