import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reads a trace from a file or from standard input, entry by entry. Memory does not grow with the trace.
package struct TraceFile: ~Copyable {
    /// The path as the user gave it; "-" is standard input.
    package let path: String
    private let descriptor: Int32
    private var reader = TraceReader()
    private var chunk = ByteBuffer()
    private var isAtEnd = false
    /// Bytes of a packet that the file's writer did not finish.
    package var unfinishedBytes: Int { isAtEnd ? reader.unfinishedBytes : 0 }
    /// The header of the first file, once an entry has been read.
    package var header: TraceHeader? { reader.header }

    private static let chunkBytes = 1 << 20

    /// - Throws: `TraceFileError` when the file cannot be opened.
    package init(_ path: String) throws(TraceFileError) {
        self.path = path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw TraceFileError(path, "cannot be opened: \(Self.reason)") }
    }

    /// Reads from the current position of an open file.
    ///
    /// - Parameter path: The name of the file in messages.
    /// - Throws: `TraceFileError` when there are no descriptors left.
    package init(copying open: Int32, as path: String) throws(TraceFileError) {
        self.path = path
        descriptor = fcntl(open, F_DUPFD_CLOEXEC, 3)
        if descriptor < 0 { throw TraceFileError(path, "cannot be opened: \(Self.reason)") }
    }

    deinit {
        if descriptor > STDIN_FILENO { close(descriptor) }
    }

    /// The next entry; nil at the end. A packet that its writer did not finish is not an error.
    ///
    /// - Throws: `TraceFileError` when the file cannot be read or is not a trace.
    package mutating func next() throws(TraceFileError) -> TraceEntry? {
        while true {
            do throws(TraceError) {
                if let entry = try reader.next() { return entry }
                if isAtEnd {
                    try reader.finish()
                    return nil
                }
            } catch {
                throw TraceFileError(path, error, at: reader.offset)
            }
            try fill()
        }
    }

    /// Tells that the file may have grown since its end was reached: the next call of `next` looks for more.
    package mutating func expectMore() { isAtEnd = false }

    private mutating func fill() throws(TraceFileError) {
        var chunk = ByteBuffer()
        chunk.reserveCapacity(Self.chunkBytes)
        var count = 0
        chunk.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.chunkBytes) { bytes in
            repeat {
                count = read(descriptor, bytes.baseAddress, Self.chunkBytes)
            } while count < 0 && errno == EINTR
            return max(0, count)
        }
        if count < 0 { throw TraceFileError(path, "cannot be read: \(Self.reason)") }
        if count == 0 { isAtEnd = true } else { reader.append(chunk) }
    }

    private static var reason: String { String(cString: strerror(errno)) }
}

/// Why a trace cannot be read, in words that name the file.
package struct TraceFileError: Error, CustomStringConvertible {
    package let description: String
    /// Whether the file does not begin like a trace of relayd: it is empty, or of another kind.
    package private(set) var isNoTrace = false

    /// - Parameter offset: The end of the packet that the error may concern.
    init(_ path: String, _ error: TraceError, at offset: UInt64) {
        let place = error.isOfPacket ? ", in the packet that ends at byte \(offset)" : ""
        self.init(path, "\(error)\(place)")
        switch error {
        case .empty: isNoTrace = true
        case .pcapng(let error): if case .notPcapng = error.reason { isNoTrace = true }
        default: break
        }
    }

    init(_ path: String, _ words: String) {
        description = "\(path == "-" ? "standard input" : path): \(words)"
    }
}
