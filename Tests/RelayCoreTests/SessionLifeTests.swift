// What waits for a busy link belongs to a session's life, not to its number: the hub on embedded
// channels, with a link that takes nothing for a while.

import Logging
import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What waits belongs to a session's life, not to its number")
struct SessionLifeTests {
    private final class Bench {
        let loop = EmbeddedEventLoop()
        let queue = TapQueue(maximumBytes: 8 << 20)
        let switchboard: Switchboard
        let link: EmbeddedChannel

        init(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
            var configuration = RelayConfiguration()
            change(&configuration)
            switchboard = Switchboard(
                loop: loop, configuration: configuration, accessoryAddress: "test:",
                tapQueue: queue, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            link = EmbeddedChannel(handler: LinkHandler(switchboard: switchboard), loop: loop)
            try connect(link)
        }

        private func connect(_ channel: EmbeddedChannel) throws {
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2776)).wait()
        }

        func app() throws -> EmbeddedChannel {
            let channel = EmbeddedChannel(loop: loop)
            try switchboard.accept(channel)
            try connect(channel)
            return channel
        }

        func app(session: UInt8) throws -> EmbeddedChannel {
            let app = try app()
            try say(.startService(), from: app)
            #expect(try heard() == [.startService()])
            try say(.startServiceACK(session: session), from: link)
            return app
        }

        func say(_ frame: Frame, from channel: EmbeddedChannel) throws {
            try channel.writeInbound(frame.wire)
        }

        func setBusy(_ isBusy: Bool) {
            link.isWritable = !isBusy
            if !isBusy { link.pipeline.fireChannelWritabilityChanged() }
        }

        /// Frames the head unit has got since the last look.
        func heard() throws -> [Frame] {
            var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
            while let bytes = try link.readOutbound(as: ByteBuffer.self) { decoder.append(bytes) }
            var frames: [Frame] = []
            while let frame = try decoder.next() { frames.append(frame) }
            return frames
        }
    }

    private func end(_ session: UInt8) -> Frame {
        .endService(version: 5, sessionID: session, hashID: UInt32(session) << 16 | 5, messageID: 1)
    }

    @Test("a half message whose end is dropped with its session is ended in the number's next one")
    func droppedEnd() throws {
        let bench = try Bench()
        let music = try bench.app(session: 1)
        let maps = try bench.app()
        try bench.say(.startService(), from: maps)
        for frame in Frame.putFile(session: 1, frames: 3).prefix(2) {
            try bench.say(frame, from: music)
        }
        #expect(try bench.heard().count == 3)
        bench.setBusy(true)
        music.close(promise: nil)
        bench.loop.run()
        try bench.say(.control(.endService, session: 1), from: bench.link)
        try bench.say(.startServiceACK(session: 1), from: bench.link)
        bench.setBusy(false)
        let heard = try bench.heard()
        #expect(heard.map(\.type) == [.consecutive])
        #expect(heard.first?.info == 0 && heard.first?.messageID == 77)
    }

    @Test("the head unit ends a session while its frames wait: none of them is in the next one's")
    func endedByAccessory() throws {
        let bench = try Bench { $0.framesPerSecond = 0 }
        let first = try bench.app(session: 1)
        bench.setBusy(true)
        for message in UInt32(1)...20 {
            try bench.say(.data(session: 1, message: message, bytes: 8000), from: first)
        }
        let waiting = bench.switchboard.linkQueuedBytes
        #expect(waiting > 100_000)
        try bench.say(.control(.endService, session: 1), from: bench.link)
        #expect(bench.switchboard.linkQueuedBytes == 0)
        let second = try bench.app()
        try bench.say(.startService(), from: second)
        bench.setBusy(false)
        // First the number is ended for good, then asked for.
        bench.loop.advanceTime(by: .seconds(1))
        #expect(try bench.heard() == [end(1).with(messageID: 21), .startService()])
        try bench.say(.startServiceACK(session: 1), from: bench.link)
        try bench.say(.rpc(session: 1, message: 500), from: second)
        #expect(try bench.heard() == [.rpc(session: 1, message: 500)])
        // It was not the app's fault, and it is told.
        #expect(first.isActive)
        let told = bench.switchboard.apps.values.compactMap(\.lastProblem)
        #expect(told == ["20 frames dropped: session 1 ended while they waited for the link"])
    }

    @Test("the number is granted again without an end: what waits of the former session never goes")
    func takenOver() throws {
        let bench = try Bench { $0.framesPerSecond = 0 }
        let first = try bench.app(session: 1)
        let second = try bench.app()
        try bench.say(.startService(), from: second)
        #expect(try bench.heard() == [.startService()])
        bench.setBusy(true)
        let file = Frame.putFile(session: 1, frames: 3)
        for frame in file { try bench.say(frame, from: first) }
        try bench.say(.startServiceACK(session: 1), from: bench.link)
        try bench.say(.rpc(session: 1, message: 500), from: second)
        bench.setBusy(false)
        #expect(try bench.heard() == [.rpc(session: 1, message: 500)])
        #expect(bench.switchboard.linkQueuedBytes == 0)
    }

    @Test("an app sends on after its own EndService: not a byte of it reaches the head unit")
    func sendsAfterItsEnd() throws {
        let bench = try Bench { $0.framesPerSecond = 0 }
        let first = try bench.app(session: 1)
        bench.setBusy(true)
        let before = Frame.data(session: 1, message: 1, bytes: 8000)
        try bench.say(before, from: first)
        try bench.say(end(1), from: first)
        for message in UInt32(2)...20 {
            try bench.say(.data(session: 1, message: message, bytes: 8000), from: first)
        }
        bench.setBusy(false)
        #expect(try bench.heard() == [before, end(1)])
        try bench.say(.control(.endServiceACK, session: 1), from: bench.link)
        let second = try bench.app(session: 1)
        try bench.say(.data(session: 1, message: 21, bytes: 8000), from: first)
        #expect(try bench.heard() == [])
        try bench.say(.rpc(session: 1), from: second)
        #expect(try bench.heard() == [.rpc(session: 1)])
    }

    @Test(
        "what an app said before it left goes out, then its half message is ended, then its session"
    )
    func lastWords() throws {
        let bench = try Bench { $0.framesPerSecond = 0 }
        let app = try bench.app(session: 1)
        let file = Frame.putFile(session: 1, frames: 3)
        try bench.say(file[0], from: app)
        bench.setBusy(true)
        try bench.say(file[1], from: app)
        try bench.say(file[2], from: app)
        try bench.say(.rpc(session: 1, message: 90), from: app)
        try app.close().wait()
        #expect(try bench.heard() == [file[0]])
        bench.setBusy(false)
        let heard = try bench.heard()
        #expect(heard.prefix(3) == [.rpc(session: 1, message: 90), file[1], file[2]])
        #expect(heard.count == 4)
        #expect(heard.last?.payloadBytes == 13 && heard.last?.info == 0)
        try bench.say(
            .rpc(session: 1, .response, .putFile, correlation: 7), from: bench.link)
        #expect(try bench.heard().map(\.controlType) == [.endService])
    }

    @Test("a rest that is dropped after its message was begun: the message is ended")
    func droppedInTheMiddle() throws {
        let bench = try Bench { $0.framesPerSecond = 0 }
        let app = try bench.app(session: 1)
        let file = Frame.putFile(session: 1, frames: 3)
        try bench.say(file[0], from: app)
        try bench.say(file[1], from: app)
        #expect(try bench.heard() == [file[0], file[1]])
        bench.setBusy(true)
        try bench.say(file[2], from: app)
        try bench.say(.control(.endService, session: 1), from: bench.link)
        bench.setBusy(false)
        bench.loop.advanceTime(by: .seconds(1))
        let heard = try bench.heard()
        #expect(heard.map(\.payloadBytes) == [13])
        try bench.say(.rpc(session: 1, .response, .putFile, correlation: 7), from: bench.link)
        #expect(try bench.heard() == [end(1).with(messageID: 78)])
    }

    @Test("dropped frames are counted and shown, each once")
    func shown() async throws {
        let bench = try Bench { $0.framesPerSecond = 0 }
        let app = try bench.app(session: 1)
        bench.setBusy(true)
        for message in UInt32(1)...5 {
            try bench.say(.data(session: 1, message: message, bytes: 100), from: app)
        }
        try bench.say(.control(.endService, session: 1), from: bench.link)
        bench.loop.advanceTime(by: .seconds(1))
        bench.queue.finish()
        var dropped = 0
        while let batch = await bench.queue.nextBatch() {
            for case .frames(let frames) in batch {
                dropped += frames.count { $0.fate == .dropped(.sessionOver(1)) }
            }
        }
        #expect(dropped == 5)
    }
}

extension Frame {
    /// The same control frame with another message ID.
    fileprivate func with(messageID: UInt32) -> Frame {
        Frame(
            version: version, type: type, service: service, info: info, sessionID: sessionID,
            messageID: messageID, payload: payload)
    }
}
