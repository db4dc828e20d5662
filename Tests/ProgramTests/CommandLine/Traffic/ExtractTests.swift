// relayctl trace extract, checked with other readers: sound by Python's wave, video byte for byte.

import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@Suite("relayctl trace extract, as other programs read it") struct ExtractTests {
    private static let app = AppID(rawValue: 1)
    private static let video: [UInt8] = [
        0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x0D, 0x9A, 0, 0, 0, 1, 0x68, 0xCE, 0x06, 0, 0, 0, 1, 0x65,
        0x88,
        0x84,
    ]

    private static func trace() -> ByteBuffer {
        let time = WallTime(nanoseconds: 1_795_428_000_000_000_000)
        var encoder = TraceEncoder(
            TraceHeader(program: "relayd", accessory: "sim:", started: "2026-11-23T10:00:00Z"))
        var bytes = ByteBuffer()
        encoder.begin(started: "2026-11-23T10:00:00Z", at: time, into: &bytes)
        let perform = Frame.rpc(
            version: 5, sessionID: 1, messageID: 2, type: .request,
            functionID: FunctionID.performAudioPassThru.rawValue, correlationID: 2,
            json: #"{"samplingRate":"44KHZ","bitsPerSample":"16_BIT","audioType":"PCM"}"#)
        let heard = Frame.rpc(
            version: 5, service: .bulk, sessionID: 1, messageID: 3, type: .notification,
            functionID: FunctionID.onAudioPassThru.rawValue, correlationID: 0,
            bulk: ByteBuffer(repeating: 7, count: 8820))
        let picture = Frame(
            version: 5, type: .single, service: .video, sessionID: 1, messageID: 4,
            payload: ByteBuffer(bytes: video))
        let frames: [(Frame, Direction)] = [
            (perform, .fromApp), (heard, .fromAccessory), (heard, .fromAccessory),
            (picture, .fromApp),
        ]
        encoder.append(
            .appConnected(app, peer: "127.0.0.1:4000", time: time), at: time, into: &bytes)
        encoder.append(
            .frames(
                frames.map {
                    TappedFrame(frame: $0.0, direction: $0.1, app: app, time: time)
                }), at: time, into: &bytes)
        encoder.end(because: "stopped", at: time, into: &bytes)
        return bytes
    }

    @Test("a WAV file is one to Python's wave module, and video is what was sent")
    func wave() async throws {
        try await TemporaryDirectory.run { directory in
            try Data(Self.trace().readableBytesView).write(
                to: URL(fileURLWithPath: directory.file("a.pcapng")))
            // Into an existing folder, so that the test can remove its files.
            let done = try await Program.relayctl.run([
                "trace", "extract", directory.file("a.pcapng"), "-o", directory.path,
            ])
            #expect(done.ending == .exited(0), "\(done.errors)")
            let video = try Data(contentsOf: URL(fileURLWithPath: directory.file("app-video.h264")))
            #expect(Array(video) == Self.video)
            let script =
                "import sys, wave; f = wave.open(sys.argv[1]); "
                + "print(f.getnchannels(), f.getsampwidth(), f.getframerate(), f.getnframes(), "
                + "set(f.readframes(100000)))"
            let read = try await ChildProcess.run(
                "python3", ["-c", script, directory.file("app-speech.wav")],
                environment: Program.environment())
            #expect(read.output == "1 2 44100 8820 {7}", "\(read.errors)")
        }
    }
}
