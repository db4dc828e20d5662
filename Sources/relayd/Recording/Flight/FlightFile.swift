import RelayCore
import Traces

/// Writes the traffic kept by the flight recorder as a trace.
struct FlightFile: ~Copyable {
    private var file: RecordingFile
    private var encoder: TraceEncoder
    private var blocks = TraceBlocks()

    private static let bytesPerWrite = 256 << 10

    init(_ file: RecordingFolder.NewFile, _ header: TraceHeader) {
        self.file = RecordingFile(file)
        encoder = TraceEncoder(header, operatingSystem: SystemName.current)
    }

    /// Writes the contents, and yields the thread between pieces: a recording may be running on it
    /// too.
    ///
    /// - Parameters:
    ///   - started: The time of the oldest kept item, in RFC 3339.
    ///   - reason: Why the file is written.
    /// - Throws: `RecordingFailure` if the file cannot be written; what was written stays readable.
    mutating func write(
        _ contents: FlightRing.Contents, started: String, because reason: String
    ) async throws(RecordingFailure) -> (frames: Int, bytes: Int, missedFrames: Int) {
        var contents = contents
        var time = contents.began
        encoder.begin(started: started, at: time, into: &blocks)
        for item in contents.prologue { encoder.append(item, at: time, into: &blocks) }
        // Written items need not stay in memory for this file.
        while let item = contents.items.popFirst() {
            time = item.latestTime ?? time
            encoder.append(item, at: time, into: &blocks)
            if blocks.count >= Self.bytesPerWrite {
                try flush()
                await Task.yield()
            }
        }
        encoder.end(because: reason, at: .now(), into: &blocks)
        try flush()
        if file.isRemoved { throw .removed(file.path) }
        return (encoder.sum.frames, file.bytes, encoder.sum.missedFrames)
    }

    private mutating func flush() throws(RecordingFailure) {
        try file.append(blocks)
        blocks.clear()
    }
}
