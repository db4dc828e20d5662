import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Traces
@testable import relayctl

@Suite("Traces that somebody has made to do harm") struct HostileTraceFileTests {
    /// Runs every command that reads a trace on one file.
    private static func read(_ path: String, _ directory: TemporaryDirectory, _ number: Int) async {
        let commands = [
            ["info", path], ["info", path, "--json"], ["show", path, "-v", "--all"],
            ["show", path, "--pairs", "!ok"], ["stats", path],
            ["export", path, "--format", "csv"], ["diff", path, path],
            ["merge", path, path, "-o", directory.file("m\(number).pcapng")],
            ["anonymise", path, "-o", directory.file("a\(number).pcapng")],
            ["cut", path, "!ok", "--from", "+1s", "-o", directory.file("c\(number).pcapng")],
        ]
        for command in commands {
            let recorder = Recorder()
            let code = await RelayCtl.execute(["trace"] + command, output: recorder.output())
            #expect([0, 1, 3].contains(code), "\(command): \(code) \(recorder.text(.error))")
            if code == 3 { #expect(recorder.text(.error).hasPrefix("relayctl: ")) }
        }
    }

    @Test("bytes that are changed at random are read or refused by every command")
    func mutations() async throws {
        let seed = UInt64(2611)
        let usual = TraceSamples.bytes(TwoApps.usual().items)
        try await TemporaryDirectory.run { directory in
            var generator = SeededGenerator(seed: seed)
            for number in 0..<Effort.rounds(60, orQuickly: 15) {
                var bytes = usual
                for _ in 0..<Int.random(in: 1...6, using: &generator) {
                    let at = Int.random(in: 0..<bytes.writerIndex, using: &generator)
                    bytes.setInteger(UInt8.random(in: .min ... .max, using: &generator), at: at)
                }
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    bytes.moveWriterIndex(
                        to: Int.random(in: 0..<bytes.writerIndex, using: &generator))
                }
                let path = directory.file("\(number).pcapng")
                try Data(bytes.readableBytesView).write(to: URL(fileURLWithPath: path))
                await Self.read(path, directory, number)
            }
        }
    }

    @Test("times, numbers and sizes at their ends are no trap") func extremes() async throws {
        let app = AppID(rawValue: .max)
        let far = WallTime(nanoseconds: Int64.max / 2)
        let near = WallTime(nanoseconds: 0)
        let first = Frame(
            version: 5, type: .first, service: .rpc, sessionID: 255, messageID: .max,
            payload: ByteBuffer(repeating: 0xFF, count: 8))
        let rest = Frame(
            version: 5, type: .consecutive, service: .rpc, info: 1, sessionID: 255,
            messageID: .max, payload: ByteBuffer(repeating: 0xFF, count: 30))
        func frame(_ frame: Frame, _ time: WallTime) -> TapItem {
            .frames([TappedFrame(frame: frame, direction: .fromApp, app: app, time: time)])
        }
        let video = Frame(
            version: 5, type: .single, service: .video, sessionID: 255, messageID: 1,
            payload: ByteBuffer(repeating: 1, count: 3))
        let items: [TapItem] = [
            .linkOpened(number: .max, address: "tcp:", time: far),
            .appConnected(app, peer: "", time: near), frame(first, far), frame(rest, near),
            frame(video, near), frame(video, far), frame(video, near),
            .missed(frames: .max, bytes: .max), .missed(frames: .max, bytes: .max),
            frame(rest, far), .session(.ended(255), app, time: near),
            .appClosed(app, reason: "", time: far), .linkClosed(reason: "", time: near),
        ]
        var encoder = TraceEncoder(TraceSamples.header())
        var bytes = ByteBuffer()
        encoder.begin(started: "", at: near, into: &bytes)
        for item in items {
            // The encoder counts missed frames itself, and never receives numbers this large.
            if case .missed(let frames, let count) = item {
                encoder.append(.gap(frames: frames, bytes: count), at: far, to: &bytes)
            } else {
                encoder.append(item, at: far, into: &bytes)
            }
        }
        try await TemporaryDirectory.run { directory in
            let path = directory.file("x.pcapng")
            try Data(bytes.readableBytesView).write(to: URL(fileURLWithPath: path))
            await Self.read(path, directory, 0)
        }
    }

    @Test("payload that is left out of an RPC, and times beyond 2116, are refused") func refused()
        throws
    {
        let frame = Frame.rpc(
            version: 5, sessionID: 1, messageID: 1, type: .request, functionID: 13,
            correlationID: 1)
        func entry(_ time: Int64, omitted: Int) -> TraceEntry {
            TraceEntry(
                time: WallTime(nanoseconds: time),
                content: .frame(
                    TappedFrame(
                        frame: frame, direction: .fromApp, app: nil,
                        time: WallTime(nanoseconds: time)), omitted: omitted, isMasked: false))
        }
        for (entry, expected) in [
            (entry(1, omitted: 1 << 30), TraceError.noFrame(bytes: frame.wire.readableBytes)),
            (entry(.max, omitted: 0), .timeOutOfRange(UInt64(Int64.max))),
        ] {
            var writer = TraceWriter(TraceSamples.header())
            var bytes = ByteBuffer()
            writer.begin(at: WallTime(nanoseconds: 0), into: &bytes)
            writer.append(entry, into: &bytes)
            var reader = TraceReader()
            reader.append(bytes)
            #expect(throws: expected) {
                while try reader.next() != nil {}
            }
        }
    }
}
