// Reading a trace, without processing it.

import Foundation
import NIOCore
import RelayCore
import SDLProtocol
import Traces

/// Reads the frames of a trace in a file.
enum TraceReadingBenchmark: Benchmark {
    static let name = "trace-reading"
    static let summary = "TraceFile: frames out of a recording"

    /// Pairs of RPCs, in turn.
    private static let pairs = 50_000
    private static let payloadBytes = 256

    /// - Returns: Findings, with the bound that Documentation/performance.md promises.
    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "requests and responses of \(payloadBytes) B in turn; the file lies in the system's cache;",
            "processor time of the thread that reads",
        ])
        let directory = try setting.newDirectory()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/trace.pcapng"
        try Data(trace().readableBytesView).write(to: URL(filePath: path))
        let frames = pairs * 2
        let micro = try Micro(setting, operations: frames) {
            var file = try TraceFile(path)
            var count = 0
            while let entry = try file.next() {
                if case .frame = entry.content { count += 1 }
            }
            guard count == frames else { throw BenchmarkError("\(count) frames, not \(frames)") }
        }
        findings.add("a trace of RPCs", "read", micro, per: "frame")
        let rates = micro.nanoseconds.map { 1000 / $0 }
        findings.add("a trace of RPCs", "read", "frames/s", rates, "M/s")
        findings.bound("frames read from a trace", rates.median, .atLeast, 1, "M/s")
        return findings
    }

    private static func trace() -> ByteBuffer {
        let app = AppID(rawValue: 1)
        let time = WallTime.now()
        var encoder = TraceEncoder(
            TraceHeader(program: "relayd 0", accessory: "sim:", started: ""))
        var bytes = ByteBuffer()
        encoder.begin(started: "", at: time, into: &bytes)
        encoder.append(
            .appConnected(app, peer: "127.0.0.1:1", time: time), at: time, into: &bytes)
        for number in 1...pairs {
            let (message, correlation) = (UInt32(number), Int32(number))
            let request = Traffic.request(
                session: 1, bytes: payloadBytes, message: message, correlation: correlation)
            let response = Traffic.response(
                session: 1, bytes: payloadBytes, message: message, correlation: correlation)
            let frames = [
                TappedFrame(frame: request, direction: .fromApp, app: app, time: time),
                TappedFrame(frame: response, direction: .fromAccessory, app: app, time: time),
            ]
            encoder.append(.frames(frames), at: time, into: &bytes)
        }
        encoder.end(because: "stopped", at: time, into: &bytes)
        return bytes
    }
}
