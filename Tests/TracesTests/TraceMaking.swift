// Traces for tests, and their contents.

import NIOCore
import RelayCore
import SDLProtocol

@testable import Traces

enum Made {
    static let start = WallTime(nanoseconds: 1_795_257_067_000_000_000)
    static let started = "2026-11-21T10:31:07.000Z"

    static func header(_ change: (inout TraceHeader) -> Void = { _ in }) -> TraceHeader {
        var header = TraceHeader(
            program: "relayd 0.0.0", accessory: "tcp:127.0.0.1:12345", started: started)
        change(&header)
        return header
    }

    /// A whole file with these items.
    static func trace(
        _ items: [TapItem], _ change: (inout TraceHeader) -> Void = { _ in }
    ) -> ByteBuffer {
        var encoder = TraceEncoder(header(change), operatingSystem: "Linux")
        var buffer = ByteBuffer()
        encoder.begin(started: started, at: start, into: &buffer)
        for item in items { encoder.append(item, at: start, into: &buffer) }
        encoder.end(because: "stopped", at: start, into: &buffer)
        return buffer
    }

    /// The entries of a file that arrives in pieces of this many bytes.
    static func entries(
        _ bytes: ByteBuffer, pieces: Int = 1 << 20
    ) throws(TraceError) -> [TraceEntry] {
        var reader = TraceReader()
        var rest = bytes
        var entries: [TraceEntry] = []
        while let piece = rest.readSlice(length: min(pieces, rest.readableBytes)),
            piece.readableBytes > 0
        {
            reader.append(ByteBuffer(bytes: piece.readableBytesView))
            while let entry = try reader.next() { entries.append(entry) }
        }
        return entries
    }
}

extension TraceEntry {
    /// The whole entry as text, for comparison.
    var summary: String {
        let what =
            switch content {
            case .frame(let frame, let omitted, let isMasked):
                "\(frame.direction) \(frame.app?.description ?? "-") \(frame.fate) "
                    + "\(frame.grant.map { "\($0)" } ?? "-") \(frame.frame.wire.hexText)"
                    + (omitted > 0 ? " without \(omitted)" : "") + (isMasked ? " masked" : "")
                    + (frame.isEarlier ? " earlier" : "")
            case .bytes(let run):
                "\(run.direction) \(run.app?.description ?? "-") at \(run.offset) \(run.bytes.hexText)"
            case .record(let record): "\(record)"
            }
        return "\(time.nanoseconds) \(what)" + comments.map { " // \($0)" }.joined()
    }
}

extension TapItem {
    /// The summaries that reading the item back has to give.
    var summaries: [String] {
        switch self {
        case .frames(let frames):
            frames.map {
                TraceEntry(
                    time: $0.time, content: .frame($0, omitted: 0, isMasked: false)
                ).summary
            }
        case .bytes(let run): [TraceEntry(time: run.time, content: .bytes(run)).summary]
        default: ["\(self)"]
        }
    }
}

extension ByteBuffer {
    var hexText: String { readableBytesView.map { String($0, radix: 16) }.joined(separator: " ") }
}
