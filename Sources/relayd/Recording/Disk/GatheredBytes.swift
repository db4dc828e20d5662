import Glibc

/// Pieces of memory that are written one after another, as many at once as the kernel accepts (writev).
struct GatheredBytes {
    private var pieces: [iovec]
    /// The first piece that is not written.
    private var next = 0

    /// The most pieces the kernel accepts at once (writev(2), IOV_MAX).
    static let maximumPieces = 1024

    /// - Parameter pieces: Must stay valid as long as this is used.
    init(_ pieces: [UnsafeRawBufferPointer]) {
        self.pieces = pieces.lazy.filter { !$0.isEmpty }.map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
    }

    /// The pieces to write next: at most `limit` bytes of the rest.
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

    /// - Parameter count: Bytes that were written.
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
