// The frame decoder alone.

import NIOCore
import SDLProtocol

/// Cuts a prepared stream, given in reads of the size a busy socket brings.
enum DecoderBenchmark: Benchmark {
    static let name = "decoder"
    static let summary = "FrameDecoder: a stream of 64 B to 128 KB frames cut into frames"

    /// NIO's receive buffer grows to this.
    private static let readBytes = 64 << 10
    private static let streamBytes = 8 << 20

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: ["reads of 64 KB; frames straddle them as they happen to"])
        for frameBytes in [64, 1 << 10, 16 << 10, 128 << 10] {
            let frames = streamBytes / frameBytes
            let reads = reads(frames: frames, frameBytes: frameBytes)
            let micro = try Micro(setting, operations: frames) {
                var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
                var bytes = 0
                for read in reads {
                    decoder.append(read)
                    while let frame = try decoder.next() { bytes += frame.payloadBytes }
                }
                guard bytes == frames * (frameBytes - 12) else {
                    throw BenchmarkError("the decoder lost frames")
                }
            }
            findings.add("\(Report.size(frameBytes)) frames", "FrameDecoder", micro, per: "frame")
        }
        return findings
    }

    /// The reads, each in storage of its own, as from a socket.
    private static func reads(frames: Int, frameBytes: Int) -> [ByteBuffer] {
        let wire = Traffic.wire([
            Traffic.upload(session: 1, bytes: frameBytes, message: 1, correlation: 1)
        ])
        var stream = ByteBuffer()
        stream.reserveCapacity(frames * frameBytes)
        for _ in 0..<frames { stream.writeBytes(wire) }
        var reads: [ByteBuffer] = []
        while stream.readableBytes > 0 {
            let view = stream.readableBytesView.prefix(readBytes)
            reads.append(ByteBuffer(bytes: view))
            stream.moveReaderIndex(forwardBy: view.count)
        }
        return reads
    }
}

extension Report {
    static func size(_ bytes: Int) -> String {
        bytes < 1024 ? "\(bytes) B" : "\(bytes >> 10) KB"
    }
}
