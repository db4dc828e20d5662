// Finds frames in a stream without keeping them: for peers that must cost next to nothing.

/// Walks over the headers of v2…v5 frames, and trusts their sizes.
struct FrameScanner {
    /// What a benchmark's peer needs to know about a frame that has arrived whole.
    struct Seen {
        var session: UInt8
        var service: UInt8
        /// Type and function of an RPC, and its correlation ID; meaningless for other payloads.
        var rpcTypeAndFunction: UInt32
        var correlation: UInt32
    }

    private static let headerBytes = 12
    /// The size of the frame header and of the part of the RPC header that is read.
    private static let prefixBytes = headerBytes + 8

    private var prefix = [UInt8](repeating: 0, count: prefixBytes)
    private var have = 0
    /// Bytes of the frame that are still to come after those in `prefix`; nil before its size is
    /// known.
    private var rest: Int?

    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ found: (Seen) throws -> Void) rethrows {
        var offset = 0
        while offset < bytes.count {
            if let rest, have >= wanted {
                let skipped = min(rest, bytes.count - offset)
                offset += skipped
                self.rest = rest - skipped
            } else {
                prefix[have] = bytes[offset]
                have += 1
                offset += 1
                if have == Self.headerBytes { rest = Int(number(at: 4)) }
                if have > Self.headerBytes, let rest { self.rest = rest - 1 }
            }
            if let rest, rest == 0 {
                let seen = Seen(
                    session: prefix[3], service: prefix[1],
                    rpcTypeAndFunction: number(at: Self.headerBytes),
                    correlation: number(at: Self.headerBytes + 4))
                have = 0
                self.rest = nil
                try found(seen)
            }
        }
    }

    /// How many bytes of this frame belong in `prefix`.
    private var wanted: Int {
        guard have >= Self.headerBytes else { return Self.headerBytes }
        return min(Self.prefixBytes, Self.headerBytes + Int(number(at: 4)))
    }

    private func number(at offset: Int) -> UInt32 {
        prefix[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
