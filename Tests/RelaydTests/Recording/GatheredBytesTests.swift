// Separate pieces of memory that are written at once.

import Glibc
import Testing

@testable import relayd

@Suite("Bytes that are gathered from pieces")
struct GatheredBytesTests {
    /// Writes like a file that accepts at most this many bytes at a time.
    private static func write(
        _ pieces: [UnsafeRawBufferPointer], limit: Int, taking most: Int
    ) -> (bytes: [UInt8], largest: Int, pieces: Int) {
        var rest = GatheredBytes(pieces)
        var written: [UInt8] = []
        var (largest, count) = (0, 0)
        while true {
            let (vector, bytes) = rest.first(limit)
            guard bytes > 0 else { return (written, largest, count) }
            largest = max(largest, bytes)
            count = max(count, vector.count)
            let all = vector.flatMap {
                Array(UnsafeRawBufferPointer(start: $0.iov_base, count: $0.iov_len))
            }
            #expect(all.count == bytes)
            written += all.prefix(most)
            rest.removeFirst(min(bytes, most))
        }
    }

    @Test(
        "are written in their order, however few are taken",
        arguments: [1, 2, 7, 100], [1, 3, 64, 1000])
    func order(limit: Int, most: Int) {
        let all = (0..<200).map { UInt8($0) }
        all.withUnsafeBytes { all in
            let ends = [0, 0, 1, 2, 60, 60, 61, 199, 200, 200]
            let pieces = zip(ends, ends.dropFirst()).map {
                UnsafeRawBufferPointer(rebasing: all[$0..<$1])
            }
            let (written, largest, _) = Self.write(pieces, limit: limit, taking: most)
            #expect(written == Array(all))
            #expect(largest == min(limit, 200))
        }
    }

    @Test("are no more pieces at once than the kernel takes")
    func many() {
        let all = (0..<5000).map { UInt8($0 % 251) }
        all.withUnsafeBytes { all in
            let pieces = all.indices.map { UnsafeRawBufferPointer(rebasing: all[$0..<$0 + 1]) }
            let (written, _, count) = Self.write(pieces, limit: .max, taking: .max)
            #expect(written == Array(all))
            #expect(count == GatheredBytes.maximumPieces)
        }
    }
}
