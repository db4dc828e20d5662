import ControlAPI
import DecodedTraces
import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@testable import relayctl

@Suite("relayctl trace info") struct TraceInfoTests {
    private func report(_ bytes: ByteBuffer) async throws -> TraceReport {
        var report: TraceReport?
        try await TraceSamples.run(
            ["trace", "info", "a.pcapng", "--json"], on: ["a.pcapng": bytes]
        ) { code, out, error, _ in
            #expect(code == 0 && error.isEmpty, "\(error)")
            report = try APICoding.decode(TraceReport.self, from: Array(out.utf8))
        }
        return try #require(report)
    }

    @Test("a recorded session: who, when, how much, and that it was closed") func session()
        async throws
    {
        let items = try Capture.items("js-full-1")
        let report = try await report(TraceSamples.bytes(items))
        #expect(report.files.count == 1 && report.files[0].closed == "stopped by hand")
        #expect(report.files[0].program == "relayd 0.9.0" && report.files[0].number == 1)
        #expect(report.accessory == "tcp:192.168.1.20:12345")
        #expect(report.links.map(\.address) == ["tcp:127.0.0.1:12345"])
        let app = try #require(report.apps.first)
        #expect(report.apps.count == 1 && app.app == 1 && app.peer == "127.0.0.1:40000")
        #expect(app.name == "Relay Test" && app.reason == "the app closed the connection")
        #expect(app.sessions == [1])
        var frames: [Direction: Int] = [:]
        var bytes: [Direction: Int] = [:]
        for case .frames(let tapped) in items {
            for frame in tapped {
                frames[frame.direction, default: 0] += 1
                bytes[frame.direction, default: 0] += frame.frame.wire.readableBytes
            }
        }
        #expect(
            report.fromApps == .init(frames: frames[.fromApp] ?? 0, bytes: bytes[.fromApp] ?? 0))
        #expect(report.fromHeadUnit.frames == frames[.fromAccessory])
        #expect(app.sent == report.fromApps && app.received == report.fromHeadUnit)
        #expect(report.services.map(\.frames).reduce(0, +) == frames.values.reduce(0, +))
        #expect(report.dropped.isEmpty && report.gaps == 0 && report.notes.isEmpty)
    }

    @Test("what was dropped, missed, noticed, marked and masked is told") func troubles()
        async throws
    {
        let time = WallTime(nanoseconds: 1_700_000_000_000_000_000)
        let app = AppID(rawValue: 3)
        let frame = Frame.rpc(
            version: 5, sessionID: 1, messageID: 1, type: .notification, functionID: 32776,
            correlationID: 0, json: #"{"vin":"WVWZZZ"}"#)
        let items: [TapItem] = [
            .appConnected(app, peer: "10.0.0.9:4", time: time),
            .frames([
                TappedFrame(frame: frame, direction: .fromApp, app: app, time: time),
                TappedFrame(
                    frame: frame, direction: .fromApp, app: app, time: time,
                    fate: .dropped(.noSuchSession(1))),
            ]),
            .missed(frames: 7, bytes: 700),
            .bytes(
                TappedBytes(
                    bytes: ByteBuffer(string: "GET /"), direction: .fromApp, app: app, offset: 0,
                    time: time)),
            .noticed(.paced(framesPerSecond: 900), app, time: time),
        ]
        let report = try await report(
            TraceSamples.bytes(
                items, header: TraceSamples.header(masked: ["vin"]), isClosed: false,
                notes: [
                    (.advice(code: "request_in_none", text: "do not", app: app), time),
                    (.mark(text: "here"), time),
                ]))
        #expect(report.files[0].closed == nil)
        #expect(report.dropped == ["no_such_session": 1])
        #expect(report.gaps == 1 && report.missed == .init(frames: 7, bytes: 700))
        #expect(report.garbageBytes == 5)
        #expect(report.masked == ["vin"] && report.maskedFrames == 2)
        #expect(Set(report.notes.map(\.kind)) == ["notice", "advice", "mark"])
        #expect(report.notes.contains { $0.code == "paced" && $0.app == 3 })
    }

    @Test("a file that ends in the middle of a packet is told, and all before it counts")
    func unfinished() async throws {
        var bytes = try TraceSamples.bytes("js-full-1")
        let whole = try await report(bytes)
        bytes.moveWriterIndex(to: bytes.writerIndex - 150)
        let report = try await report(bytes)
        #expect(report.files[0].closed == nil && report.files[0].unfinishedBytes > 0)
        #expect(report.fromApps == whole.fromApps)
        try await TraceSamples.run(["trace", "info", "a.pcapng"], on: ["a.pcapng": bytes]) {
            code, out, _, _ in
            #expect(code == 0 && out.contains("not closed: ends in the middle of a packet"))
        }
    }

    @Test("as text it fits the terminal, whatever the peers call themselves") func text()
        async throws
    {
        try await TraceSamples.run(
            ["trace", "info", "a.pcapng"], on: ["a.pcapng": try TraceSamples.bytes("js-full-1")],
            isTerminal: true
        ) { code, out, error, _ in
            #expect(code == 0 && error.isEmpty)
            for words in ["head unit", "Relay Test", "closed: stopped by hand", "Service"] {
                #expect(out.contains(words), "\(words): \(out)")
            }
            #expect(!out.contains("\u{1B}]"))
        }
    }

    @Test("a file that is none, is not there, or is damaged, is an error that names it")
    func errors() async throws {
        func check(
            _ bytes: ByteBuffer?, _ words: String, line: Int = #line
        ) async throws {
            var files: [String: ByteBuffer] = [:]
            files["a.pcapng"] = bytes
            try await TraceSamples.run(["trace", "info", "@a.pcapng"], on: files) {
                code, _, error, _ in
                #expect(code == 3, "\(line)")
                #expect(error.contains("a.pcapng: ") && error.contains(words), "\(line): \(error)")
            }
        }
        try await check(nil, "cannot be opened: No such file or directory")
        try await check(ByteBuffer(), "empty, 0 bytes; expected a trace")
        try await check(ByteBuffer(bytes: [0x0A, 0x0D]), "too short to be a trace: 2 bytes")
        try await check(ByteBuffer(string: "hello"), "not a pcapng file")
        let good = try TraceSamples.bytes("js-full-1")
        for count in [4, 20, 60, 200] {
            let short = try #require(good.getSlice(at: 0, length: count))
            try await check(short, "too short to be a trace: \(count) bytes without a whole packet")
        }
        // The second block claims to be 4 GiB long.
        var huge = good
        let second = Int(good.getInteger(at: 4, endianness: .little, as: UInt32.self) ?? 0)
        huge.setInteger(UInt32.max & ~3, at: second + 4, endianness: .little)
        try await check(huge, "a block of 4294967292 bytes, at most 16777216")
        var endless = good
        endless.setInteger(UInt32(0), at: second + 4, endianness: .little)
        try await check(endless, "a block of 0 bytes")
        var unlike = good
        unlike.setInteger(UInt32(24), at: second + 4, endianness: .little)
        try await check(unlike, "bytes in front and")
    }

    @Test("damage in the middle: what was before is shown, and then the error") func damaged()
        async throws
    {
        var bytes = try TraceSamples.bytes("js-full-1")
        var at = 0
        for _ in 0..<30 {
            at += Int(bytes.getInteger(at: at + 4, endianness: .little, as: UInt32.self) ?? 0)
        }
        bytes.setInteger(UInt32(4), at: at + 4, endianness: .little)
        for command in ["info", "show"] {
            try await TraceSamples.run(["trace", command, "a.pcapng"], on: ["a.pcapng": bytes]) {
                code, out, error, _ in
                #expect(code == 3 && out.contains("Relay Test"))
                #expect(error.contains("damaged at byte \(at)"))
            }
        }
    }
}
