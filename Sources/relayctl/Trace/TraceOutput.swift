import ControlAPI
import NIOCore
import RelayCore
import SDLTraffic
import Traces

/// A trace that relayctl makes from others.
struct TraceOutput: ~Copyable {
    private var file: NewFile
    private var writer: TraceWriter
    private var buffer = ByteBuffer()
    private var last: WallTime

    /// Bytes per write.
    private static let pageBytes = 1 << 20
    /// Maximum length of the program's name, to which each command adds itself.
    private static let longestProgram = 300

    /// - Parameters:
    ///   - deed: What relayctl does: "cut".
    ///   - time: When the trace begins.
    /// - Throws: `TraceFailure` when the file exists, or cannot be created there.
    init(
        _ path: String, _ header: TraceHeader, deed: String, at time: WallTime
    ) throws(TraceFailure) {
        file = try NewFile(path)
        var header = header
        header.program = String(
            "\(header.program), \(deed) by relayctl \(Version.current)".suffix(Self.longestProgram))
        header.started = time.rfc3339
        header.file = 1
        writer = TraceWriter(header)
        last = time
        writer.begin(at: time, into: &buffer)
    }

    mutating func append(_ entry: TraceEntry) throws(TraceFailure) {
        last = max(last, entry.time)
        writer.append(entry, into: &buffer)
        if buffer.readableBytes >= Self.pageBytes { try flush() }
    }

    /// Gives the file its name.
    ///
    /// - Returns: What the file contains.
    mutating func finish(because reason: String) throws(TraceFailure) -> TraceEnd {
        writer.end(because: reason, at: last, into: &buffer)
        try flush()
        try file.keep()
        return writer.sum
    }

    private mutating func flush() throws(TraceFailure) {
        try file.write(buffer)
        buffer.clear()
    }
}
