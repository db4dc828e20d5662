// Recorded sessions of a real head unit and a real app, replayed through the built relayd between a
// fake head unit and a fake app: every byte must arrive, and the log must tell what happened.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Recorded sessions through the built relayd", .serialized)
struct CaptureReplayTests {
    /// relayd between a fake head unit and a fake app that has just connected.
    private func bench(
        _ arguments: [String] = [],
        _ body: (_ relayd: Relayd, _ headUnit: FramePeer, _ app: FramePeer) async throws -> Void
    ) async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)", arguments) {
                relayd in
                let headUnit = try await accessory.nextLink()
                // So that the log begins with the link.
                try await relayd.until("open") { $0.accessory.state == .open }
                let app = try await relayd.connectApp()
                try await body(relayd, headUnit, app)
            }
        }
    }

    /// The log's lines up to the one that tells of the app's end.
    private func lines(of relayd: Relayd) async throws -> [String] {
        try await relayd.process.output.wait(for: "the end of the app's connection") { lines in
            let end = lines.firstIndex { $0.contains("app closed") || $0.contains("app_left") }
            return end.map { Array(lines[...$0]) }
        }
    }

    private func expectEqual(_ lines: some Collection<String>, _ expected: some Collection<String>)
    {
        for (line, expected) in zip(lines, expected) {
            #expect(LogLines.comparable(line) == LogLines.comparable(expected))
        }
        #expect(lines.count == expected.count)
    }

    @Test("an app's whole life arrives byte for byte and is told in the log")
    func wholeLife() async throws {
        let capture = try Capture("js-full-1")
        try await bench { relayd, headUnit, app in
            try await capture.replay(app: app, headUnit: headUnit)
            await app.close()
            let lines = try await lines(of: relayd)
            expectEqual(lines.dropLast(), try capture.expectedLines("txt").dropLast())
            let last = try #require(lines.last)
            #expect(last.contains("Relay Test        ·  relay     app closed: the app ended its"))
            // The session ended by itself: no goodbye is owed.
            let status = try await relayd.until("no session") { $0.link.sessions == 0 }
            #expect(status.accessory.garbageBytes == 0)
            #expect(status.log.droppedLines + status.log.droppedBatches == 0)
        }
    }

    @Test(
        "the same as JSON, one object per line",
        arguments: ["js-full-1", "js-killed-1", "js-core-stops-1"])
    func jsonLog(name: String) async throws {
        let capture = try Capture(name)
        try await bench(["--log-format", "json"]) { relayd, headUnit, app in
            try await capture.replay(app: app, headUnit: headUnit)
            await app.close()
            let lines = try await lines(of: relayd)
            if name == "js-full-1" {
                let expected = try capture.expectedLines("jsonl")
                for (line, expected) in zip(lines, expected).dropLast() {
                    #expect(
                        try LogLines.comparable(json: line)
                            == LogLines.comparable(json: expected))
                }
                #expect(lines.count == expected.count)
            }
            // relayd's own messages are objects of the same log, and begin with the same keys.
            for line in lines + relayd.process.errors.all {
                let keys = try LogLines.comparable(json: line)
                #expect(keys["level"] is String && keys["message"] is String, "\(line)")
                #expect(keys["kind"] is String && keys["priority"] is String, "\(line)")
            }
        }
    }

    @Test("an app that is killed is said goodbye to, with the hash of its session")
    func killed() async throws {
        let capture = try Capture("js-killed-1")
        try await bench { relayd, headUnit, app in
            try await capture.replay(app: app, headUnit: headUnit)
            await app.close()
            try await headUnit.expectFarewell(session: 1, hashID: 0x0001_0009)
            let lines = try await lines(of: relayd)
            let ours = lines.filter { $0.hasSuffix("by relayd") }
            // No Unregister: the head unit keeps what the app needs to resume.
            #expect(ours.count == 1)
            #expect(ours.last?.contains("EndService rpc") == true)
            #expect(ours.last?.contains("hash 0x00010009") == true)
            let others = lines.filter { !$0.hasSuffix("by relayd") }
            expectEqual(others.dropLast(), try capture.expectedLines("txt").dropLast())
        }
    }

    @Test("a head unit that shuts down takes its app's connection with it")
    func headUnitStops() async throws {
        let capture = try Capture("js-core-stops-1")
        try await bench { relayd, headUnit, app in
            try await capture.replay(app: app, headUnit: headUnit)
            await headUnit.close()
            try await app.closed()
            let lines = try await lines(of: relayd)
            let others = lines.dropLast().filter { !$0.contains("link closed") }
            expectEqual(others, try capture.expectedLines("txt").dropLast())
            #expect(lines.last?.contains("app closed: the head unit is gone") == true)
        }
    }

    @Test("two sessions at once do not touch each other")
    func interleaved() async throws {
        let captures = [try Capture("js-full-1"), try Capture("js-killed-1", session: 2)]
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let apps = [try await relayd.connectApp(), try await relayd.connectApp()]
                // One app at a time asks for a session and is granted it, as the protocol requires.
                for (app, capture) in zip(apps, captures) {
                    for chunk in capture.chunks.prefix(2) {
                        try await play([(app, chunk)], headUnit)
                    }
                }
                for round in 2..<max(captures[0].chunks.count, captures[1].chunks.count) {
                    let turn = captures.indices.filter { round < captures[$0].chunks.count }
                    try await play(
                        turn.map { (apps[$0], captures[$0].chunks[round]) }, headUnit)
                }
                // Nothing else came: the next frame that each app hears is the one sent now.
                for (app, session) in zip(apps, [1, 2] as [UInt8]) {
                    let farewell = Frame.rpc(
                        session: session, .notification, .onAppInterfaceUnregistered)
                    try await headUnit.send(farewell)
                    #expect(try await app.next() == farewell)
                }
            }
        }
    }

    /// Sends one chunk per app, from its side, and then checks what came out where.
    private func play(
        _ turn: [(app: FramePeer, chunk: Capture.Chunk)], _ headUnit: FramePeer
    ) async throws {
        for (app, chunk) in turn {
            try await (chunk.isFromApp ? app : headUnit).send(bytes: chunk.bytes)
        }
        for (app, chunk) in turn where !chunk.isFromApp {
            let received = try await app.next(bytes: chunk.completed.readableBytes)
            try requireEqual(received, chunk.completed, "to an app")
        }
        // At the head unit the frames of different apps come in any order, those of one app in theirs.
        let expected = turn.filter(\.chunk.isFromApp).map(\.chunk.completed)
        var received = expected.map { _ in ByteBuffer() }
        while received != expected {
            let frame = try await headUnit.next()
            let owner = expected.indices.first { index in
                let next = expected[index].getSlice(
                    at: received[index].readableBytes, length: frame.wire.readableBytes)
                return next == frame.wire
            }
            received[try #require(owner, "nobody said \(frame)")].writeImmutableBuffer(frame.wire)
        }
    }
}
