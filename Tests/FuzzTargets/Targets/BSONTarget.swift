// Fuzz target: what control frames carry.

import NIOCore
import SDLProtocol

extension FuzzTarget {
    static let bson = FuzzTarget(
        name: "bson", about: "payloads of control frames as BSON documents",
        promise: "a document that was read is written and read as the same document",
        seeds: FuzzSeeds.documents,
        run: { bytes in
            guard let document = try? BSONDocument(ByteBuffer(bytes: bytes)) else { return }
            let written = document.bytes
            guard let again = try? BSONDocument(written) else {
                throw BrokenPromise("written, \(document) cannot be read")
            }
            // Compared by bytes, because NaN is not equal to itself.
            try ensure(again.bytes == written, "\(document) was read back as \(again)")
        })
}
