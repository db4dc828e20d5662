import NIOCore
import RelayCore

/// The events to be returned, in order; each new item gets a number.
struct MediaOutput: Sendable {
    var events: [MediaEvent] = []
    private var last: UInt64 = 0

    mutating func nextID() -> MediaID {
        last &+= 1
        return MediaID(rawValue: last)
    }
}

/// A file that is created with its first byte; without data, no file is created.
struct OpenMedia: Sendable {
    var item: MediaItem
    private(set) var id: MediaID?
    /// The end of the file.
    private(set) var bytes = 0
    private var first: WallTime?
    private var last: WallTime?

    init(_ item: MediaItem) {
        self.item = item
    }

    /// - Parameters:
    ///   - place: The offset in the file.
    ///   - entry: The same data for a decoder that begins here; nil where none can begin.
    mutating func write(
        _ data: ByteBuffer, at place: Int, entry: ByteBuffer? = nil, time: WallTime,
        _ output: inout MediaOutput
    ) {
        let id = self.id ?? output.nextID()
        if self.id == nil {
            self.id = id
            output.events.append(.began(id, item))
        }
        first = first ?? time
        last = max(last ?? time, time)
        bytes = max(bytes, place.addingReportingOverflow(data.readableBytes).partialValue)
        if let entry { output.events.append(.entry(id, entry)) }
        output.events.append(.bytes(id, data, at: place))
    }

    /// Nanoseconds from the first to the last piece.
    var duration: Int64 {
        guard let first, let last else { return 0 }
        return max(0, last.nanoseconds.subtractingReportingOverflow(first.nanoseconds).partialValue)
    }

    /// Reports the end only if there is a file or a problem.
    func end(_ summary: MediaSummary, _ output: inout MediaOutput) {
        guard id != nil || !summary.problems.isEmpty else { return }
        var summary = summary
        summary.bytes = bytes
        output.events.append(.ended(id, item, summary))
    }
}
