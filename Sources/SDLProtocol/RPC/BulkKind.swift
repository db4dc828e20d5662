public import NIOCore

/// A file format that head units or apps send, with the size of an image where its header gives it.
/// Recognised from the first bytes, once per message, when it is decoded.
public struct BulkKind: Hashable, Sendable {
    public enum Format: String, Hashable, Sendable {
        case png = "PNG"
        case jpeg = "JPEG"
        case gif = "GIF"
        case bmp = "BMP"
        case webp = "WebP"
        case wave = "WAV"
        case mp3 = "MP3"
        case aac = "AAC"
        case zip = "ZIP"
        case gzip
        case json = "JSON"
        case text
    }

    /// The size of an image, in pixels.
    public struct Size: Hashable, Sendable {
        public var width: UInt32
        public var height: UInt32
    }

    public let format: Format
    public let size: Size?

    /// Bytes looked at to tell text from other data.
    private static let textBytes = 64

    /// - Parameter data: All of the bulk data, or its beginning. Nothing is copied, and little is
    ///   read: the first bytes, and the headers of a JPEG's segments.
    /// - Returns: Nil when it looks like nothing known, as PCM does.
    public init?(_ data: ByteBuffer) {
        guard let format = Self.format(data.readableBytesView) else { return nil }
        self.format = format
        switch format {
        case .png: size = Self.png(data)
        case .jpeg: size = Self.jpeg(data)
        case .gif: size = Self.gif(data)
        case .bmp: size = Self.bmp(data)
        default: size = nil
        }
    }

    private static let signatures: [(bytes: [UInt8], format: Format)] = [
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .png),
        ([0xFF, 0xD8, 0xFF], .jpeg),
        (Array("GIF8".utf8), .gif),
        (Array("BM".utf8), .bmp),
        (Array("ID3".utf8), .mp3),
        // Frames without a tag in front: MPEG 1 and 2 layer 3; ADTS of MPEG 4 and 2.
        ([0xFF, 0xFB], .mp3),
        ([0xFF, 0xF3], .mp3),
        ([0xFF, 0xF1], .aac),
        ([0xFF, 0xF9], .aac),
        (Array("PK\u{3}\u{4}".utf8), .zip),
        ([0x1F, 0x8B], .gzip),
    ]

    private static func format(_ bytes: ByteBufferView) -> Format? {
        if let match = signatures.first(where: { bytes.starts(with: $0.bytes) }) {
            return match.format
        }
        // RIFF: the length is between the container's name and that of its content.
        if bytes.starts(with: "RIFF".utf8) {
            if bytes.dropFirst(8).starts(with: "WAVE".utf8) { return .wave }
            return bytes.dropFirst(8).starts(with: "WEBP".utf8) ? .webp : nil
        }
        return text(bytes.prefix(textBytes))
    }

    /// JSON or other text, if every byte looked at is printable.
    private static func text(_ bytes: ByteBufferView) -> Format? {
        let isText = bytes.allSatisfy {
            (0x20..<0x7F).contains($0) || (0x09...0x0D).contains($0) || $0 >= 0x80
        }
        guard isText, let first = bytes.first(where: { $0 > 0x20 }), first < 0x80 else {
            return nil
        }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[") ? .json : .text
    }
}

// MARK: Images

extension BulkKind {
    /// PNG specification, "IHDR": the first chunk, width and height behind its name.
    private static func png(_ data: ByteBuffer) -> Size? {
        guard data.readableBytesView.dropFirst(12).starts(with: "IHDR".utf8) else { return nil }
        let size: (UInt32, UInt32)? = data.getMultipleIntegers(at: data.readerIndex + 16)
        return size.map { Size(width: $0.0, height: $0.1) }
    }

    /// Segments of a JPEG before its frame header: an icon has four, a camera writes a dozen.
    private static let maximumSegments = 64

    /// ITU-T T.81, "Frame header syntax": height and width stand in the first SOF segment.
    private static func jpeg(_ data: ByteBuffer) -> Size? {
        var index = data.readerIndex + 2
        for _ in 0..<maximumSegments {
            let segment: (UInt8, UInt8, UInt16)? = data.getMultipleIntegers(at: index)
            guard let (start, marker, length) = segment, start == 0xFF else { return nil }
            switch marker {
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                let size: (UInt16, UInt16)? = data.getMultipleIntegers(at: index + 5)
                return size.map { Size(width: UInt32($0.1), height: UInt32($0.0)) }
            // Padding in front of a marker.
            case 0xFF: index += 1
            // Markers without a segment, and the beginning of the picture itself.
            case 0x00...0xBF, 0xD0...0xDA: return nil
            default: index += 2 + Int(length)
            }
        }
        return nil
    }

    /// GIF89a, "Logical Screen Descriptor".
    private static func gif(_ data: ByteBuffer) -> Size? {
        let size: (UInt16, UInt16)? = data.getMultipleIntegers(
            at: data.readerIndex + 6, endianness: .little)
        return size.map { Size(width: UInt32($0.0), height: UInt32($0.1)) }
    }

    /// BITMAPINFOHEADER behind the 14 bytes of BITMAPFILEHEADER; a negative height is top-down.
    private static func bmp(_ data: ByteBuffer) -> Size? {
        let size: (Int32, Int32)? = data.getMultipleIntegers(
            at: data.readerIndex + 18, endianness: .little)
        return size.map { Size(width: $0.0.magnitude, height: $0.1.magnitude) }
    }
}

extension BulkKind: CustomStringConvertible {
    /// "PNG 70×70", "WAV", "JSON", …
    public var description: String {
        size.map { "\(format.rawValue) \($0.width)×\($0.height)" } ?? format.rawValue
    }
}
