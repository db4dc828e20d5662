import Foundation
import Media
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing
import Traces

@testable import relayctl

@Suite("relayctl trace extract") struct TraceExtractTests {
    /// SPS, PPS and a key picture; then another picture.
    static let video: [[UInt8]] = [
        [
            0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x0D, 0x9A, 0, 0, 0, 1, 0x68, 0xCE, 0x06, 0, 0, 0, 1,
            0x65,
            0x88, 0x84,
        ], [0, 0, 0, 1, 0x41, 0x9A, 0x02],
    ]

    /// Pictures, sound and files of one app; the radio sends only a file.
    static func items() -> [TapItem] {
        var talk = TwoApps()
        talk.connect(TwoApps.map, "Map", session: 2, at: 1)
        talk.connect(TwoApps.radio, "Radio", session: 1, at: 2)
        talk.send(
            .control(.startServiceACK, service: .video, session: 2), TwoApps.map, .fromAccessory,
            at: 3)
        for (number, picture) in video.enumerated() {
            talk.send(stream(.video, picture), TwoApps.map, .fromApp, at: 4 + Double(number))
        }
        talk.send(
            .control(.startServiceACK, service: .audio, session: 2), TwoApps.map, .fromAccessory,
            at: 6)
        talk.send(stream(.audio, [1, 0, 2, 0]), TwoApps.map, .fromApp, at: 7)
        put(&talk, TwoApps.map, 2, #""a.png","crc":1438416925"#, [1, 2, 3], 2, at: 8)
        put(&talk, TwoApps.radio, 1, #""../../a.png","crc":1"#, [4, 5], 2, at: 9)
        put(&talk, TwoApps.radio, 1, #""../A.png""#, [6], 3, at: 10)
        return talk.items
    }

    private static func stream(_ service: ServiceType, _ bytes: [UInt8]) -> Frame {
        Frame(
            version: 5, type: .single, service: service, sessionID: 2, messageID: 50,
            payload: ByteBuffer(bytes: bytes))
    }

    private static func put(
        _ talk: inout TwoApps, _ app: AppID, _ session: UInt8, _ name: String, _ bytes: [UInt8],
        _ correlation: Int32, at seconds: Double
    ) {
        talk.request(
            app, session, .putFile, correlation,
            #"{"syncFileName":\#(name),"fileType":"GRAPHIC_PNG"}"#, bulk: ByteBuffer(bytes: bytes),
            at: seconds)
        talk.respond(app, session, .putFile, correlation, at: seconds + 0.1)
    }

    private struct Result {
        var code: Int32 = -1
        var out = ""
        var error = ""
        /// The files in the folder, by name.
        var files: [String: [UInt8]] = [:]
        var modes: Set<Int> = []
    }

    private static func extract(
        _ arguments: String..., trace: ByteBuffer? = nil, twice: Bool = false,
        prepare: (String) throws -> Void = { _ in }
    ) async throws -> Result {
        var result = Result()
        let bytes = trace ?? TraceSamples.bytes(items())
        try await TemporaryDirectory.run { directory in
            let folder = directory.file("media")
            try prepare(folder)
            try Data(bytes.readableBytesView).write(
                to: URL(fileURLWithPath: directory.file("a.pcapng")))
            let recorder = Recorder()
            for _ in 0..<(twice ? 2 : 1) {
                result.code = await RelayCtl.execute(
                    ["trace", "extract", directory.file("a.pcapng"), "-o", folder] + arguments,
                    output: recorder.output(isTerminal: false))
            }
            (result.out, result.error) = (recorder.text(), recorder.text(.error))
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            for name in names {
                let path = "\(folder)/\(name)"
                // A dangling link has no content.
                let data = try? Data(contentsOf: URL(fileURLWithPath: path))
                result.files[name] = Array(data ?? Data())
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
                result.modes.insert(mode as? Int ?? 0)
            }
            try? FileManager.default.removeItem(atPath: folder)
            // No file may have been created beside the folder.
            let beside = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(beside == ["a.pcapng"])
        }
        return result
    }

    @Test("writes video, sound and files, and lists what it wrote") func all() async throws {
        let done = try await Self.extract()
        #expect(done.code == 0 && done.error == "")
        #expect(
            Set(done.files.keys) == [
                "Map-video.h264", "Map-audio.wav", "Map-a.png", "Radio-a.png", "Radio-A-2.png",
            ])
        #expect(done.files["Map-video.h264"] == Self.video.flatMap { $0 })
        #expect(done.files["Map-audio.wav"]?.dropFirst(44) == [1, 0, 2, 0])
        #expect(done.files["Map-a.png"] == [1, 2, 3])
        #expect(done.files["Radio-a.png"] == [4, 5] && done.files["Radio-A-2.png"] == [6])
        #expect(done.modes == [0o600])
        #expect(done.out.contains("Map-video.h264  video"))
        #expect(done.out.contains("Radio-a.png: the checksum (crc) of 1 piece is wrong"))
        #expect(done.out.contains("Map-audio.wav: the format is unknown"))
    }

    @Test("prints JSON for programs") func json() async throws {
        let done = try await Self.extract("--files", "--app", "RAD", "--json")
        #expect(Set(done.files.keys) == ["Radio-a.png", "Radio-A-2.png"])
        struct Report: Decodable {
            struct Item: Decodable {
                struct Problem: Decodable { var code: String }
                var file: String
                var kind: String
                var app: String
                var title: String
                var bytes: Int
                var crc: String?
                var problems: [Problem]
            }
            var schema: Int
            var files: [Item]
        }
        let report = try JSONDecoder().decode(Report.self, from: Data(done.out.utf8))
        #expect(report.schema == 1)
        #expect(report.files.map(\.file) == ["Radio-a.png", "Radio-A-2.png"])
        #expect(report.files.map(\.crc) == ["wrong", nil])
        #expect(report.files.map(\.title) == ["../../a.png", "../A.png"])
        #expect(report.files.map { $0.problems.map(\.code) } == [["wrong_checksum"], []])
    }

    @Test("only the kinds that are asked for") func kinds() async throws {
        #expect(try await Self.extract("--video").files.keys.sorted() == ["Map-video.h264"])
        #expect(try await Self.extract("--audio").files.keys.sorted() == ["Map-audio.wav"])
        let none = try await Self.extract("--video", "--app", "nobody")
        #expect(none.code == 0 && none.files.isEmpty)
        #expect(none.out.hasPrefix("Nothing to extract: "))
    }

    @Test("never writes over a file: names that are taken get a number") func twice() async throws {
        let done = try await Self.extract("--video", twice: true) { folder in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder + "/Map-video.h264"))
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/Map-video-2.h264", withDestinationPath: "/nonexistent/relayd")
        }
        #expect(done.code == 0)
        let names = done.files.keys.sorted()
        #expect(
            names == [
                "Map-video-2.h264", "Map-video-3.h264", "Map-video-4.h264", "Map-video.h264",
            ])
        #expect(done.files["Map-video.h264"] == Array("mine".utf8))
        #expect(done.files["Map-video-4.h264"] == done.files["Map-video-3.h264"])
    }

    @Test("says why nothing can be written") func unwritable() async throws {
        let file = try await Self.extract { folder in
            try Data().write(to: URL(fileURLWithPath: folder))
        }
        #expect(file.code == 3)
        #expect(file.error.contains("media cannot be used: Not a directory; -o takes a folder"))
    }

    @Test("a damaged trace gives what was before the damage") func damaged() async throws {
        var trace = TraceSamples.bytes(Self.items(), isClosed: false)
        trace.writeBytes([1, 2, 3, 4, 5, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9])
        let done = try await Self.extract(trace: trace)
        #expect(done.code == 3 && done.error.contains("damaged at byte"))
        #expect(done.files.count == 5)
    }

    @Test("recordings with headers only, and masked ones, say so") func lesser() async throws {
        let headers = TraceSamples.bytes(
            Self.items().map { $0.withoutStreams }, header: TraceSamples.header(streams: .headers))
        let bare = try await Self.extract("--video", trace: headers)
        #expect(bare.files.isEmpty)
        #expect(bare.out.contains("video of Map: of 2 frames only the header was recorded"))
        let masked = try await Self.extract(
            "--files",
            trace: TraceSamples.bytes(Self.items(), header: TraceSamples.header(masked: ["bulk"])))
        #expect(masked.files.isEmpty)
        #expect(masked.out.contains("file of Radio: the binary part of RPCs was masked"))
    }
}

extension TapItem {
    /// The item as received by a sink that gets no payload of audio and video.
    fileprivate var withoutStreams: TapItem {
        guard case .frames(let frames) = self else { return self }
        return .frames(
            frames.map { tapped in
                var tapped = tapped
                if tapped.frame.service.isStream, tapped.frame.type != .control {
                    tapped.frame = tapped.frame.headerOnly
                }
                return tapped
            })
    }
}
