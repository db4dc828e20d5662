import Glibc

/// Pieces of memory that are written one behind the other, as many at once as the kernel takes (writev).
struct GatheredBytes {
    private var pieces: [iovec]
    /// The first that is not written.
    private var next = 0

    /// More than these the kernel does not take at once (writev(2), IOV_MAX).
    static let maximumPieces = 1024

    /// - Parameter pieces: Are there for as long as this is used.
    init(_ pieces: [UnsafeRawBufferPointer]) {
        self.pieces = pieces.lazy.filter { !$0.isEmpty }.map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
    }

    /// What is to be written at once: of what is left, at most so many bytes.
    func first(_ limit: Int) -> (vector: [iovec], bytes: Int) {
        var vector: [iovec] = []
        var bytes = 0
        for piece in pieces[next...].prefix(Self.maximumPieces) where bytes < limit {
            let count = min(piece.iov_len, limit - bytes)
            vector.append(iovec(iov_base: piece.iov_base, iov_len: count))
            bytes += count
        }
        return (vector, bytes)
    }

    /// - Parameter count: Bytes that are written.
    mutating func removeFirst(_ count: Int) {
        var count = count
        while count > 0, next < pieces.count {
            let length = pieces[next].iov_len
            guard count < length else {
                count -= length
                next += 1
                continue
            }
            pieces[next].iov_base += count
            pieces[next].iov_len -= count
            return
        }
    }
}
