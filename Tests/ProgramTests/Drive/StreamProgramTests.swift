// The built programs stream video and audio in an app's place: what is in the file is what the head unit gets.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("relayctl stream, and the built relayd", .serialized)
struct StreamProgramTests {
    private static let sets: [UInt8] = [
        0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x0D, 0x9A, 0, 0, 0, 1, 0x68, 0xCE, 0x06,
    ]

    /// Some pictures; the first one is larger than a frame may be.
    private static func film(pictures: Int) -> [UInt8] {
        sets + [0, 0, 0, 1, 0x65, 0x88] + [UInt8](repeating: 0x55, count: 300_000)
            + (1..<pictures).flatMap { number in
                [0, 0, 0, 1, 0x41, 0x9A, UInt8(truncatingIfNeeded: number) | 1]
            }
    }

    private static func media(_ folder: TemporaryDirectory) -> String {
        Relayd.driving + "media:\n  save: [video, audio]\n  directory: \(folder.path)\n"
    }

    private static func saved(_ folder: TemporaryDirectory, _ ending: String) throws -> [UInt8] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let name = try #require(names.first { $0.hasSuffix(ending) }, "\(names)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: folder.file(name))))
    }

    private static func stream(
        _ arguments: [String], _ relayd: Relayd
    ) async throws -> ChildProcess.Finished {
        try await Program.relayctl.run(
            ["stream"] + arguments,
            environment: [ControlSocket.environmentVariable: relayd.controlSocket])
    }

    @Test(
        "video from a file, as an app of relayd's own: what the tap saves is the file, byte for byte"
    )
    func video() async throws {
        try await TemporaryDirectory.run { folder in
            try await Relayd.run(accessory: "sim:", config: Self.media(folder)) { relayd in
                let film = Self.film(pictures: 20)
                let path = relayd.directory.file("film.h264")
                try Data(film).write(to: URL(fileURLWithPath: path))
                let done = try await Self.stream(["--as", "Map", "--fps", "100", path], relayd)
                #expect(done.ending == .exited(0), "\(done.output)\(done.errors)")
                #expect(done.output.contains("20 pictures, \(film.count) bytes"), "\(done.output)")
                try await relayd.until("the file is closed") {
                    ($0.media?.files, $0.media?.openFiles) == (1, 0)
                }
                #expect(try Self.saved(folder, ".h264") == film)
                // The log lags behind.
                try await relayd.until(
                    "in the log: who sent it, and who got the answer",
                    ask: {
                        try await relayd.relayctl("tail", "--once", "-n", "50", "service:video")
                    },
                    { $0.output.contains("by relayd") && $0.output.contains("to relayd") })
                try relayd.expectNoThreadPool()
            }
        }
    }

    @Test("sound from standard input and from a WAV file, with its own format, at its own pace")
    func audio() async throws {
        try await TemporaryDirectory.run { folder in
            try await Relayd.run(accessory: "sim:", config: Self.media(folder)) { relayd in
                let sound = (0..<6400).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                let header: [UInt8] =
                    Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WAVEfmt ".utf8)
                    + [16, 0, 0, 0, 1, 0, 1, 0, 0x80, 0x3E, 0, 0, 0, 0x7D, 0, 0, 2, 0, 16, 0]
                    + Array("data".utf8) + [0, 0x19, 0, 0]
                let path = relayd.directory.file("prompt.wav")
                // The data after the sound is not sound.
                try Data(header + sound + Array("LIST".utf8)).write(
                    to: URL(fileURLWithPath: path))
                let start = ContinuousClock.now
                let done = try await Self.stream(["--as", "Map", "--json", path], relayd)
                #expect(done.ending == .exited(0), "\(done.output)\(done.errors)")
                // 0.2 s of sound in four pieces, the last of which begins after 0.15 s.
                #expect(start.duration(to: .now) >= .milliseconds(150))
                let report = try APICoding.decode(StreamReport.self, from: Array(done.output.utf8))
                #expect(report.bytes == 6400 && report.pieces == 4 && report.confirmed)
                #expect(report.seconds >= 0.15)
                try await relayd.until("the file is closed") {
                    ($0.media?.files, $0.media?.openFiles) == (1, 0)
                }
                #expect(try Self.saved(folder, ".wav").suffix(6400) == sound[...])
            }
        }
    }

    @Test("the app goes on beside it and hears nothing of it; the head unit hears both")
    func beside() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", config: Relayd.driving
            ) {
                relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.registered("Nav", with: headUnit)
                let path = relayd.directory.file("film.h264")
                let picture: [UInt8] = [0, 0, 0, 1, 0x65, 0x88, 0x84]
                try Data(Self.sets + picture).write(to: URL(fileURLWithPath: path))
                async let done = Self.stream(["--app", "nav", path, "--width", "640"], relayd)
                let start = try await headUnit.next()
                #expect(start.controlType == .startService && start.service == .video)
                #expect(ControlPayload(start).document?.int32(ControlKey.width) == 640)
                #expect(
                    ControlPayload(start).document?.string(ControlKey.videoCodec) == "H264")
                try await headUnit.checkBothWays(app, session: 1)
                try await headUnit.send(
                    .control(.startServiceACK, service: .video, session: 1))
                let data = try await headUnit.next()
                #expect(data.service == .video && data.type == .single)
                #expect(Array(data.payload.readableBytesView) == Self.sets + picture)
                let end = try await headUnit.next()
                #expect(end.controlType == .endService && end.service == .video)
                try await headUnit.send(.control(.endServiceACK, service: .video, session: 1))
                #expect(try await done.ending == .exited(0))
                // The next thing that the app hears is the answer to its own request.
                try await headUnit.checkBothWays(app, session: 1)
                await app.close()
            }
        }
    }

    @Test("what the head unit refuses is said in words, with what helps")
    func refusals() async throws {
        try await Relayd.run(accessory: "sim:?activate=off", config: Relayd.driving) { relayd in
            let path = relayd.directory.file("film.h264")
            try Data(Self.film(pictures: 2)).write(to: URL(fileURLWithPath: path))
            let (app, _) = try await relayd.registered("Radio")
            let wrongType = try await Self.stream(["--app", "radio", path], relayd)
            #expect(wrongType.ending == .exited(3))
            #expect(
                wrongType.errors.contains("only apps of the AppHMIType NAVIGATION or PROJECTION"),
                "\(wrongType.errors)")
            // The app never comes to the screen, and the head unit has as long to answer.
            let early = try await Self.stream(["--as", "Map", path, "--timeout", "3s"], relayd)
            #expect(early.ending == .exited(3))
            #expect(early.errors.contains("this is NONE"), "\(early.errors)")
            try await relayd.until("its level is known") {
                $0.apps.contains { $0.appName == "Map" && $0.hmiLevel != nil }
            }
            let unseen = try await Self.stream(["--app", "Map", path, "--timeout", "3s"], relayd)
            #expect(unseen.ending == .exited(3))
            #expect(unseen.errors.contains("bring it to the screen first"), "\(unseen.errors)")
            let film = relayd.directory.file("film.mp4")
            try Data([0, 0, 0, 0x20] + Array("ftypisom".utf8)).write(
                to: URL(fileURLWithPath: film))
            let wrongFile = try await Self.stream(["--app", "radio", film], relayd)
            #expect(wrongFile.ending == .exited(3))
            #expect(wrongFile.errors.contains("no H.264 stream with start codes"))
            await app.close()
        }
        try await Relayd.run(accessory: "sim:") { relayd in
            let path = relayd.directory.file("sound.pcm")
            try Data([1, 2]).write(to: URL(fileURLWithPath: path))
            let off = try await Self.stream(["--as", "Map", path], relayd)
            #expect(off.ending == .exited(3) && off.errors.contains("drive.enabled: true"))
        }
    }

    @Test("^C ends a stream without end: the service is ended, and what was streamed is told")
    func interrupted() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", config: Relayd.driving
            ) {
                relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.registered("Nav", with: headUnit)
                let path = relayd.directory.file("sound.pcm")
                try Data([UInt8](repeating: 1, count: 3200)).write(
                    to: URL(fileURLWithPath: path))
                let process = try await Program.relayctl.start(
                    ["stream", "--app", "nav", "--loop", path],
                    environment: [ControlSocket.environmentVariable: relayd.controlSocket])
                #expect(try await headUnit.next().controlType == .startService)
                try await headUnit.send(
                    .control(.startServiceACK, service: .audio, session: 1))
                for _ in 0..<3 { #expect(try await headUnit.next().service == .audio) }
                process.signal(SIGINT)
                while true {
                    let frame = try await headUnit.next()
                    if frame.controlType == .endService { break }
                    #expect(frame.service == .audio)
                }
                try await headUnit.send(.control(.endServiceACK, service: .audio, session: 1))
                #expect(try await process.ended() == .exited(0))
                let output = try await process.output.untilEnd().joined(separator: "\n")
                #expect(output.contains("until it was stopped"), "\(output)")
                await app.close()
            }
        }
    }

    @Test(
        "a client that is gone in the middle is no error of relayd's: the service is ended, and the log says why"
    )
    func gone() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", config: Relayd.driving
            ) {
                relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.registered("Nav", with: headUnit)
                let path = relayd.directory.file("sound.pcm")
                try Data([UInt8](repeating: 1, count: 3200)).write(
                    to: URL(fileURLWithPath: path))
                let process = try await Program.relayctl.start(
                    ["stream", "--app", "nav", "--loop", path],
                    environment: [ControlSocket.environmentVariable: relayd.controlSocket])
                #expect(try await headUnit.next().controlType == .startService)
                try await headUnit.send(
                    .control(.startServiceACK, service: .audio, session: 1))
                #expect(try await headUnit.next().service == .audio)
                process.signal(SIGKILL)
                while true {
                    let frame = try await headUnit.next()
                    if frame.controlType == .endService { break }
                    #expect(frame.service == .audio)
                }
                try await headUnit.send(.control(.endServiceACK, service: .audio, session: 1))
                try await relayd.process.errors.first(containing: "the client has left")
                try await headUnit.checkBothWays(app, session: 1)
                await app.close()
                relayd.process.signal(SIGTERM)
                let log = try await relayd.process.errors.untilEnd()
                #expect(!log.contains { $0.contains("control request failed") })
            }
        }
    }

    @Test("driving is turned off while the head unit is asked: the stream ends before it begins")
    func turnedOff() async throws {
        try await FakeAccessory.run { accessory in
            let address = "tcp:127.0.0.1:\(accessory.port)"
            try await Relayd.run(accessory: address, config: Relayd.driving) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.registered("Nav", with: headUnit)
                let path = relayd.directory.file("sound.pcm")
                try Data([UInt8](repeating: 1, count: 3200)).write(
                    to: URL(fileURLWithPath: path))
                async let done = Self.stream(["--app", "nav", path], relayd)
                #expect(try await headUnit.next().controlType == .startService)
                _ = try relayd.directory.write(Relayd.quickGoodbyes, to: "relayd.yaml")
                let reload = try await relayd.relayctl("reload")
                #expect(reload.ending == .exited(0), "\(reload.errors)")
                try await headUnit.send(
                    .control(.startServiceACK, service: .audio, session: 1))
                let end = try await headUnit.next()
                #expect(end.controlType == .endService && end.service == .audio)
                try await headUnit.send(.control(.endServiceACK, service: .audio, session: 1))
                let output = try await done.output
                #expect(output.contains("until it was stopped: 0 pieces"), "\(output)")
                await app.close()
            }
        }
    }

    @Test("the head unit ends it, or the app goes: the command ends at once and says so")
    func ended() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", config: Relayd.driving
            ) {
                relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.registered("Nav", with: headUnit)
                let path = relayd.directory.file("sound.pcm")
                try Data([UInt8](repeating: 1, count: 3200)).write(
                    to: URL(fileURLWithPath: path))
                let loop = ["--app", "nav", "--loop", path]
                async let refused = Self.stream(loop, relayd)
                #expect(try await headUnit.next().controlType == .startService)
                try await headUnit.send(
                    .control(.startServiceACK, service: .audio, session: 1))
                #expect(try await headUnit.next().service == .audio)
                try await headUnit.send(.control(.endService, service: .audio, session: 1))
                let done = try await refused
                #expect(done.ending == .exited(3))
                #expect(
                    done.errors.contains("the head unit has ended the audio service"),
                    "\(done.errors)")
                while true {
                    let frame = try await headUnit.next()
                    if frame.controlType == .endServiceACK { break }
                    #expect(frame.service == .audio)
                }
                async let left = Self.stream(loop, relayd)
                #expect(try await headUnit.next().controlType == .startService)
                try await headUnit.send(
                    .control(.startServiceACK, service: .audio, session: 1))
                #expect(try await headUnit.next().service == .audio)
                await app.close()
                let gone = try await left
                #expect(gone.ending == .exited(3))
                #expect(
                    gone.errors.contains("the session of app #1 (Nav) or the link ended"),
                    "\(gone.errors)")
            }
        }
    }
}
