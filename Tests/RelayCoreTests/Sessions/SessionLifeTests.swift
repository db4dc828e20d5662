// Frames that wait for a busy link belong to a session's life, not to its number: the hub on embedded
// channels, with a link that takes nothing for a while.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What waits belongs to a session's life, not to its number")
struct SessionLifeTests: GoodbyeWords {
    @Test("a half message whose end is dropped with its session is ended in the number's next one")
    func droppedEnd() throws {
        let bench = try EmbeddedHub()
        let music = try bench.app(session: 1)
        let maps = try bench.app()
        try maps.says(.startService())
        for frame in Frame.putFile(session: 1, frames: 3).prefix(2) {
            try music.says(frame)
        }
        #expect(try bench.heard().count == 3)
        bench.setBusy(true)
        music.close(promise: nil)
        bench.loop.run()
        try bench.link.says(.control(.endService, session: 1))
        try bench.link.says(.startServiceACK(session: 1))
        bench.setBusy(false)
        let heard = try bench.heard()
        #expect(heard.map(\.type) == [.consecutive])
        #expect(heard.first?.info == 0 && heard.first?.messageID == 77)
        // The one that was dropped gets no answer.
        let refusal = Frame.rpc(session: 1, .response, .putFile, correlation: 7)
        #expect(try maps.hears() == .startServiceACK(session: 1))
        try bench.link.says(refusal)
        #expect(try maps.hears() == nil)
        try bench.link.says(refusal)
        #expect(try maps.hears() == refusal, "one was due")
    }

    @Test("a number is granted to nobody while last words wait in it: its half message ends once")
    func grantedToNobody() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 0 }
        let music = try bench.app(session: 1)
        for frame in Frame.putFile(session: 1, frames: 3).prefix(2) { try music.says(frame) }
        #expect(try bench.heard().count == 2)
        bench.setBusy(true)
        try music.says(.rpc(session: 1, message: 90))
        music.close(promise: nil)
        bench.loop.run()
        try bench.link.says(.startServiceACK(session: 1))
        bench.setBusy(false)
        let heard = try bench.heard()
        #expect(heard.map(\.type) == [.consecutive])
        #expect(heard.first?.info == 0 && heard.first?.messageID == 77)
        // Never together with EndService: the answer would come in the number's next session.
        try bench.link.says(.rpc(session: 1, .response, .putFile, correlation: 7))
        #expect(try bench.heard() == [end(1)])
        try bench.link.says(.control(.endServiceACK, session: 1))
        #expect(bench.switchboard.sdl.router.farewellSessions == 0)
    }

    @Test("an app's acknowledgement that waits for the link goes before the next StartService")
    func acknowledgementFirst() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 0 }
        let music = try bench.app(session: 1)
        let maps = try bench.app()
        try music.says(.data(session: 1, service: .rpc, bytes: 8000))
        #expect(try bench.heard().count == 1)
        bench.setBusy(true)
        try bench.link.says(.control(.endService, session: 1))
        try music.says(acknowledgement(1))
        try maps.says(.startService())
        bench.setBusy(false)
        #expect(try bench.heard() == [acknowledgement(1), .startService()])
    }

    @Test("the head unit ends a session while its frames wait: none of them is in the next one's")
    func endedByAccessory() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 0 }
        let first = try bench.app(session: 1)
        bench.setBusy(true)
        for message in UInt32(1)...20 {
            try first.says(.data(session: 1, message: message, bytes: 8000))
        }
        let waiting = bench.switchboard.sdl.output.waitingBytes
        #expect(waiting > 100_000)
        try bench.link.says(.control(.endService, session: 1))
        #expect(bench.switchboard.sdl.output.waitingBytes == 0)
        let second = try bench.app()
        try second.says(.startService())
        bench.setBusy(false)
        // First the number is ended for good, then asked for.
        bench.loop.advanceTime(by: .seconds(1))
        #expect(try bench.heard() == [end(1, message: 21), .startService()])
        try bench.link.says(.startServiceACK(session: 1))
        try second.says(.rpc(session: 1, message: 500))
        #expect(try bench.heard() == [.rpc(session: 1, message: 500)])
        // It was not the app's fault, and it is told.
        #expect(first.isActive)
        let told = bench.switchboard.apps.values.compactMap(\.lastProblem)
        #expect(told == ["20 frames dropped: session 1 ended while they waited for the link"])
    }

    @Test("the number is granted again without an end: what waits of the former session never goes")
    func takenOver() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 0 }
        let first = try bench.app(session: 1)
        let second = try bench.app()
        try second.says(.startService())
        #expect(try bench.heard() == [.startService()])
        bench.setBusy(true)
        let file = Frame.putFile(session: 1, frames: 3)
        for frame in file { try first.says(frame) }
        try bench.link.says(.startServiceACK(session: 1))
        try second.says(.rpc(session: 1, message: 500))
        bench.setBusy(false)
        #expect(try bench.heard() == [.rpc(session: 1, message: 500)])
        #expect(bench.switchboard.sdl.output.waitingBytes == 0)
    }

    @Test(
        "an app crashes with words left to say: no session of the next link is asked for in its name",
        arguments: RelayConfiguration.WhenLinkLost.allCases)
    func lastWordsOfFormerLink(whenLinkLost: RelayConfiguration.WhenLinkLost) throws {
        let bench = try EmbeddedHub {
            $0.framesPerSecond = 10
            $0.whenLinkLost = whenLinkLost
        }
        let app = try bench.app(session: 1)
        try app.says(.startService())
        #expect(try bench.heard() == [.startService()])
        for message in UInt32(1)...25 { try app.says(.rpc(session: 1, message: message)) }
        try app.close().wait()
        try bench.link.close().wait()
        let next = try bench.nextLink()
        // Its last frames were for a session that is over.
        for _ in 0..<40 {
            #expect(try next.hears() == nil)
            bench.loop.advanceTime(by: .milliseconds(100))
        }
        #expect(bench.switchboard.apps.isEmpty)
        #expect(bench.switchboard.sdl.router.waitingStarts == 0)
    }

    @Test("a StartService among the last words of an app is shown, and asks for nothing")
    func asksWithItsLastWord() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 10 }
        let app = try bench.app(session: 1)
        var words = ByteBuffer()
        for message in UInt32(1)...15 {
            words.writeImmutableBuffer(Frame.rpc(session: 1, message: message).wire)
        }
        words.writeImmutableBuffer(Frame.startService().wire)
        try app.writeInbound(words)
        try app.close().wait()
        var heard: [Frame] = []
        for _ in 0..<40 {
            heard += try bench.heard()
            bench.loop.advanceTime(by: .milliseconds(100))
        }
        #expect(heard.count == 16)
        #expect(heard.last?.controlType == .endService)
        bench.switchboard.tap.emit()
        var fates: [FrameFate] = []
        for case .frames(let frames) in bench.tapQueue.takeAll() {
            fates += frames.filter { $0.frame == .startService() }.map(\.fate)
        }
        // The first one was for its session.
        #expect(fates.dropFirst() == [.dropped(.askerGone)])
    }

    @Test("an app sends on after its own EndService: not a byte of it reaches the head unit")
    func sendsAfterItsEnd() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 0 }
        let first = try bench.app(session: 1)
        bench.setBusy(true)
        let before = Frame.data(session: 1, message: 1, bytes: 8000)
        try first.says(before)
        try first.says(end(1))
        for message in UInt32(2)...20 {
            try first.says(.data(session: 1, message: message, bytes: 8000))
        }
        bench.setBusy(false)
        #expect(try bench.heard() == [before, end(1)])
        try bench.link.says(.control(.endServiceACK, session: 1))
        let second = try bench.app(session: 1)
        try first.says(.data(session: 1, message: 21, bytes: 8000))
        #expect(try bench.heard() == [])
        try second.says(.rpc(session: 1))
        #expect(try bench.heard() == [.rpc(session: 1)])
    }

    @Test(
        "what an app said before it left goes out, then its half message is ended, then its session"
    )
    func lastWords() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 0 }
        let app = try bench.app(session: 1)
        let file = Frame.putFile(session: 1, frames: 3)
        try app.says(file[0])
        #expect(try bench.heard() == [file[0]])
        bench.setBusy(true)
        try app.says(file[1])
        try app.says(file[2])
        try app.says(.rpc(session: 1, message: 90))
        try app.close().wait()
        #expect(try bench.heard() == [])
        bench.setBusy(false)
        let heard = try bench.heard()
        #expect(heard.prefix(3) == [.rpc(session: 1, message: 90), file[1], file[2]])
        #expect(heard.count == 4)
        #expect(heard.last?.payloadBytes == 13 && heard.last?.info == 0)
        try bench.link.says(.rpc(session: 1, .response, .putFile, correlation: 7))
        #expect(try bench.heard().map(\.controlType) == [.endService])
    }

    @Test("a rest that is dropped after its message was begun: the message is ended")
    func droppedInTheMiddle() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 0 }
        let app = try bench.app(session: 1)
        let file = Frame.putFile(session: 1, frames: 3)
        try app.says(file[0])
        try app.says(file[1])
        #expect(try bench.heard() == [file[0], file[1]])
        bench.setBusy(true)
        try app.says(file[2])
        try bench.link.says(.control(.endService, session: 1))
        bench.setBusy(false)
        bench.loop.advanceTime(by: .seconds(1))
        let heard = try bench.heard()
        #expect(heard.map(\.payloadBytes) == [13])
        try bench.link.says(.rpc(session: 1, .response, .putFile, correlation: 7))
        #expect(try bench.heard() == [end(1, message: 78)])
    }

    @Test("dropped frames are counted and shown, each once")
    func shown() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 0 }
        let app = try bench.app(session: 1)
        bench.setBusy(true)
        for message in UInt32(1)...5 {
            try app.says(.data(session: 1, message: message, bytes: 100))
        }
        try bench.link.says(.control(.endService, session: 1))
        bench.loop.advanceTime(by: .seconds(1))
        bench.switchboard.tap.emit()
        var dropped = 0
        for case .frames(let frames) in bench.tapQueue.takeAll() {
            dropped += frames.count { $0.fate == .dropped(.sessionOver(1)) }
        }
        #expect(dropped == 5)
    }

    @Test("a stop is over when its last word has been written, whatever frame that was behind")
    func stopEndsWithItsLastWord() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app(session: 1)
        for frame in Frame.putFile(session: 1, frames: 3).prefix(2) { try app.says(frame) }
        try hub.link.says(.control(.endService, service: .rpc, session: 1))
        let hash: BSONDocument = [ControlKey.hashID: .int32(0x1_0005)]
        try app.says(
            .control(.endServiceACK, service: .rpc, session: 1, payload: hash.bytes))
        #expect(try hub.heard().map(\.type) == [.first, .consecutive, .consecutive])
        var isDone = false
        hub.switchboard.shutDown { isDone = true }
        app.close(promise: nil)
        hub.loop.advanceTime(by: .milliseconds(1))
        #expect(!isDone)
        // The refusal of the half message: no control frame.
        try hub.link.says(.rpc(session: 1, .response, .putFile, correlation: 7))
        #expect(try hub.heard().map(\.controlType) == [.endServiceACK])
        #expect(isDone)
    }
}
