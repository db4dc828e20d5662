// Tells from its first bytes what the bulk data of an RPC is; for people who look at one message.

package import NIOCore

/// A file format that head units or apps send, with the size of an image where it is easy to read.
package struct BulkKind: Hashable, Sendable, CustomStringConvertible {
    /// "PNG 70×70", "JPEG", "WAV", "JSON", …
    package let description: String

    /// Bytes from the start that are enough for all of it: the headers of images.
    package static let bytesNeeded = 64

    /// Nil when the bytes look like nothing known, as PCM does.
    package init?(_ start: ByteBuffer) {
        let bytes = start.readableBytesView.prefix(Self.bytesNeeded)
        guard let match = Self.signatures.first(where: { bytes.starts(with: $0.bytes) }) else {
            guard let found = Self.text(bytes) else { return nil }
            description = found
            return
        }
        let size = match.size?(start)
        description = size.map { "\(match.name) \($0.width)×\($0.height)" } ?? match.name
    }

    private struct Signature: Sendable {
        var name: String
        var bytes: [UInt8]
        var size: (@Sendable (ByteBuffer) -> (width: UInt32, height: UInt32)?)?
    }

    private static let signatures = [
        // PNG specification, "PNG signature" and "IHDR": width and height follow the chunk's name.
        Signature(name: "PNG", bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { buffer in
            buffer.getMultipleIntegers(at: buffer.readerIndex + 16)
        },
        Signature(name: "JPEG", bytes: [0xFF, 0xD8, 0xFF]),
        // GIF89a, "Logical Screen Descriptor".
        Signature(name: "GIF", bytes: Array("GIF8".utf8)) { buffer in
            let size: (UInt16, UInt16)? = buffer.getMultipleIntegers(
                at: buffer.readerIndex + 6, endianness: .little)
            return size.map { (UInt32($0.0), UInt32($0.1)) }
        },
        // BITMAPINFOHEADER behind the 14 bytes of BITMAPFILEHEADER; a negative height is top-down.
        Signature(name: "BMP", bytes: Array("BM".utf8)) { buffer in
            let size: (Int32, Int32)? = buffer.getMultipleIntegers(
                at: buffer.readerIndex + 18, endianness: .little)
            return size.map { ($0.0.magnitude, $0.1.magnitude) }
        },
        Signature(name: "RIFF", bytes: Array("RIFF".utf8)),
        Signature(name: "MP3", bytes: Array("ID3".utf8)),
        Signature(name: "ZIP", bytes: Array("PK\u{3}\u{4}".utf8)),
        Signature(name: "gzip", bytes: [0x1F, 0x8B]),
    ]

    /// JSON or other text, if every byte looked at is printable.
    private static func text(_ bytes: ByteBufferView) -> String? {
        let isText = bytes.allSatisfy {
            (0x20..<0x7F).contains($0) || (0x09...0x0D).contains($0) || $0 >= 0x80
        }
        guard isText, let first = bytes.first(where: { $0 > 0x20 }), first < 0x80 else {
            return nil
        }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[") ? "JSON" : "text"
    }
}
