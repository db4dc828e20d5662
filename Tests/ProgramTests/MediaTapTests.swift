// The built relayd copies video, sound and files out of passing traffic.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd takes media out of the traffic")
struct MediaTapTests {
    private static let sets: [UInt8] = [
        0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x0D, 0x9A, 0, 0, 0, 1, 0x68, 0xCE, 0x06,
    ]
    private static let key: [UInt8] = [0, 0, 0, 1, 0x65, 0x88, 0x84]
    private static let inter: [UInt8] = [0, 0, 0, 1, 0x41, 0x9A, 0x02]

    private static func config(_ folder: TemporaryDirectory, port: Int = 0) -> String {
        """
        sessions:
          farewell_timeout: 100ms
        media:
          save: [video, audio, speech, file]
          directory: \(folder.path)
          video_port: \(port)

        """
    }

    /// A registered app with a session of its own, and its head unit.
    private static func run(
        _ config: String,
        _ body: (Relayd, _ headUnit: FramePeer, _ app: FramePeer) async throws -> Void
    ) async throws {
        try await FakeAccessory.run { accessory in
            let address = "tcp:127.0.0.1:\(accessory.port)"
            try await Relayd.run(accessory: address, config: config) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.register(app, session: 1, name: "Navigation")
                try await body(relayd, headUnit, app)
            }
        }
    }

    private static func start(
        _ service: ServiceType, _ headUnit: FramePeer, _ app: FramePeer
    ) async throws {
        let start = Frame.control(.startService, service: service, session: 1)
        try await app.send(start)
        #expect(try await headUnit.next() == start)
        let grant = Frame.control(.startServiceACK, service: service, session: 1)
        try await headUnit.send(grant)
        #expect(try await app.next() == grant)
    }

    private static func stream(
        _ bytes: [UInt8], _ headUnit: FramePeer, _ app: FramePeer,
        as service: ServiceType = .video
    ) async throws {
        let frame = Frame(
            version: 5, type: .single, service: service, sessionID: 1, messageID: 9,
            payload: ByteBuffer(bytes: bytes))
        try await app.send(frame)
        #expect(try await headUnit.next() == frame)
    }

    private static func put(
        _ name: String, _ bytes: [UInt8], _ headUnit: FramePeer, _ app: FramePeer
    ) async throws {
        let request = Frame.rpc(
            version: 5, service: .bulk, sessionID: 1, messageID: 20, type: .request,
            functionID: FunctionID.putFile.rawValue, correlationID: 20,
            json: #"{"syncFileName":"\#(name)","fileType":"BINARY","length":\#(bytes.count)}"#,
            bulk: ByteBuffer(bytes: bytes))
        try await headUnit.exchange(
            request,
            .rpc(
                session: 1, message: 20, .response, .putFile, correlation: 20,
                json: #"{"success":true,"resultCode":"SUCCESS"}"#), with: app)
    }

    private static func files(_ folder: TemporaryDirectory) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            // Without the time at the front.
            let short = name.replacing(#/^\d{8}-\d{9}-/#, with: "")
            files[short] = Array(
                try Data(contentsOf: URL(fileURLWithPath: folder.file(name))))
        }
        return files
    }

    @Test("video, sound and files are in the folder when the app has left")
    func folder() async throws {
        try await TemporaryDirectory.run { folder in
            try await Self.run(Self.config(folder)) { relayd, headUnit, app in
                try await Self.start(.video, headUnit, app)
                try await Self.stream(Self.sets + Self.key, headUnit, app)
                try await Self.stream(Self.inter, headUnit, app)
                try await Self.start(.audio, headUnit, app)
                try await Self.stream([1, 2, 3, 4], headUnit, app, as: .audio)
                // A name that would lead out of the folder.
                try await Self.put("../../etc/route.bin", [9, 8, 7], headUnit, app)
                await app.close()
                let status = try await relayd.until("three files are written and closed") {
                    ($0.media?.files, $0.media?.openFiles) == (3, 0)
                }
                #expect(status.media?.directory == folder.path)
                #expect(status.media?.missedFrames == 0)
                #expect(status.media?.problem == nil)
                let files = try Self.files(folder)
                #expect(
                    files["Navigation-video.h264"] == Self.sets + Self.key + Self.inter)
                #expect(files["Navigation-audio.wav"]?.suffix(4) == [1, 2, 3, 4])
                #expect(
                    files.first { $0.key.hasSuffix("route.bin") }?.value == [9, 8, 7],
                    "\(files.keys)")
                let text = try await relayd.relayctl("status")
                #expect(text.output.contains("Media"), "\(text.output)")
                #expect(text.output.contains("3 files"), "\(text.output)")
            }
        }
    }

    @Test("where nothing more fits no empty file is left, and each medium that is missing is named")
    func full() async throws {
        try await TemporaryDirectory.run { folder in
            _ = try folder.write(String(repeating: "x", count: 900_000), to: "old")
            try await Self.run(Self.config(folder) + "  limit: 1MiB\n") { relayd, headUnit, app in
                for name in ["first.bin", "second.bin", "third.bin"] {
                    try await Self.put(name, Array(repeating: 1, count: 100_000), headUnit, app)
                }
                await app.close()
                let status = try await relayd.until("one is there, and why no other") {
                    ($0.media?.files, $0.media?.openFiles) == (1, 0) && $0.media?.problem != nil
                }
                #expect(status.media?.problem?.contains("media.limit") == true)
                let there = try Self.files(folder).mapValues(\.count)
                #expect(there.count == 2 && there.values.contains(100_000), "\(there)")
                for name in ["second.bin", "third.bin"] {
                    _ = try await relayd.process.errors.wait(for: "a word about \(name)") { lines in
                        lines.first { $0.contains(name) && $0.contains("not written") }
                    }
                }
            }
        }
    }

    @Test("a player gets the pictures while they pass, from one on that it can begin with")
    func player() async throws {
        try await TemporaryDirectory.run { folder in
            try await UnusedPort.run { port in
                try await Self.run(Self.config(folder, port: port)) { relayd, headUnit, app in
                    _ = try await relayd.process.errors.first(
                        containing: "ffplay -f h264 tcp://127.0.0.1:\(port)")
                    let early = try await FramePeer.connect(port: port)
                    try await Self.start(.video, headUnit, app)
                    try await Self.stream(Self.sets + Self.key, headUnit, app)
                    // The end of a picture is known when the next but one begins.
                    for picture in [Self.inter, Self.key, Self.inter] {
                        try await Self.stream(picture, headUnit, app)
                    }
                    let beginning = Self.sets + Self.key + Self.inter
                    #expect(
                        Array(buffer: try await early.next(bytes: beginning.count)) == beginning)
                    // It missed the first pictures: begins with the last key picture, with the sets that it lacks.
                    try await Self.stream(Self.inter, headUnit, app)
                    #expect(Array(buffer: try await early.next(bytes: Self.key.count)) == Self.key)
                    let late = try await FramePeer.connect(port: port)
                    let entry = Self.sets + Self.key
                    #expect(Array(buffer: try await late.next(bytes: entry.count)) == entry)
                    try await relayd.until("two players are counted") { $0.media?.players == 2 }
                    // When one player leaves, the other loses nothing.
                    await late.close()
                    try await relayd.until("one player is counted") { $0.media?.players == 1 }
                    // Held-back pictures come when the app has left.
                    await app.close()
                    let rest = Self.inter + Self.inter
                    #expect(Array(buffer: try await early.next(bytes: rest.count)) == rest)
                }
            }
        }
    }

    @Test("a player that never reads holds nobody")
    func stalledPlayer() async throws {
        try await TemporaryDirectory.run { folder in
            try await UnusedPort.run { port in
                try await Self.run(Self.config(folder, port: port)) { relayd, headUnit, app in
                    let stalled = try await ChildProcess.start(
                        "python3",
                        [
                            "-c",
                            "import signal, socket; "
                                + "s = socket.create_connection(('127.0.0.1', \(port))); "
                                + "print('connected', flush=True); signal.pause()",
                        ], environment: Program.environment())
                    _ = try await stalled.output.first(containing: "connected")
                    try await relayd.until("the player is counted") { $0.media?.players == 1 }
                    try await Self.start(.video, headUnit, app)
                    // 24 MB: more than a player may be behind, and more than its socket takes.
                    let picture = Self.key + [UInt8](repeating: 0xAB, count: 100_000)
                    for _ in 1...240 {
                        try await Self.stream(Self.sets + picture, headUnit, app)
                    }
                    try await headUnit.checkBothWays(app, session: 1)
                    // Nor does a stop wait for it.
                    relayd.process.signal(SIGTERM)
                    #expect(try await relayd.process.ended() == .exited(0))
                    stalled.signal(SIGKILL)
                    _ = try await stalled.ended()
                }
            }
        }
    }

    @Test("a port that is taken is told in status, and everything else works")
    func portTaken() async throws {
        try await TemporaryDirectory.run { folder in
            try await FakeAccessory.run { rival in
                try await Self.run(Self.config(folder, port: rival.port)) { relayd, headUnit, app in
                    let status = try await relayd.status()
                    #expect(status.media?.videoAddress == nil)
                    let problem = try #require(status.media?.problem)
                    #expect(problem.contains("media.video_port"), "\(problem)")
                    try await headUnit.checkBothWays(app, session: 1)
                }
            }
        }
    }
}
