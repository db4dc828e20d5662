import CZlib

/// Unpacks gzip piece by piece, never more at once than requested, so that memory does not grow with the
/// unpacked file. A file may consist of several members (RFC 1952).
struct Inflater: ~Copyable {
    /// What is wrong with the file.
    enum Problem: Error, Hashable {
        case damaged
        case truncated
        case noMemory
    }

    private let stream: UnsafeMutablePointer<z_stream>
    private var input: [UInt8] = []
    private var head = 0
    private var isBetweenMembers = false
    private var hasBegun = false
    /// Set when damage was found behind the output returned last.
    private var isDamaged = false

    /// 32 KiB of window, in a gzip wrapper.
    private static let windowBits: Int32 = 15 + 16

    init() throws(Problem) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let code = inflateInit2_(
            stream, Self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else {
            stream.deallocate()
            throw .noMemory
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    var wantsInput: Bool { head == input.count }

    /// - Parameter more: Replaces the input: to be read only when `wantsInput`; empty at the end of the file.
    mutating func append(_ more: [UInt8]) {
        input = more
        head = 0
    }

    /// Unpacks the available input.
    ///
    /// - Parameter most: Maximum bytes at once.
    /// - Returns: Empty when more input is needed, at the end of an empty member, or when the rest is not a
    ///   member.
    /// - Throws: `damaged` once everything before the damage has been returned; `noMemory`.
    mutating func inflate(atMost most: Int) throws(Problem) -> [UInt8] {
        if isDamaged { throw .damaged }
        if isBetweenMembers {
            // Zeros pad the block of a tape, and anything else found there is not a member either.
            guard head < input.count, input[head] == 0x1F else {
                head = input.count
                return []
            }
            isBetweenMembers = false
            inflateReset(stream)
        }
        guard head < input.count else { return [] }
        hasBegun = true
        var used = 0
        var code = Z_OK
        let start = head
        let output = [UInt8](unsafeUninitializedCapacity: most) { room, count in
            input.withUnsafeMutableBufferPointer { all in
                guard let base = all.baseAddress, let out = room.baseAddress else { return }
                stream.pointee.next_in = base + start
                stream.pointee.avail_in = UInt32(clamping: all.count - start)
                stream.pointee.next_out = out
                stream.pointee.avail_out = UInt32(clamping: most)
                code = CZlib.inflate(stream, Z_NO_FLUSH)
                used = all.count - start - Int(stream.pointee.avail_in)
                count = most - Int(stream.pointee.avail_out)
            }
        }
        head += used
        switch code {
        case Z_OK: break
        case Z_STREAM_END: isBetweenMembers = true
        // No progress: the input has been used up.
        case Z_BUF_ERROR where !output.isEmpty || head == input.count: break
        case Z_MEM_ERROR: throw .noMemory
        case Z_DATA_ERROR where !output.isEmpty: isDamaged = true
        default: throw .damaged
        }
        return output
    }

    /// - Throws: `truncated` when the file ends inside a member.
    func finish() throws(Problem) {
        if isDamaged { throw .damaged }
        if hasBegun, !isBetweenMembers { throw .truncated }
    }
}
