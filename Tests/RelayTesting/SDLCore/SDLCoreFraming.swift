// How sdl_core cuts frames from a connection; written apart from relayd's decoder, which it tests.

package import NIOCore
package import SDLProtocol

/// Takes bytes; returns frames and malformed ones. Where no header is possible it moves on by a byte,
/// and a run of such bytes counts once; a frame with a possible header that breaks a rule counts by itself.
package struct SDLCoreFraming {
    package enum Piece {
        case frame(Frame)
        case malformed
    }

    private var bytes = ByteBuffer()
    private var isInRun = false

    private let acceptsMessageIDZero: Bool

    /// - Parameter acceptsMessageIDZero: True for app libraries, which get such frames from sdl_core.
    package init(acceptsMessageIDZero: Bool = false) {
        self.acceptsMessageIDZero = acceptsMessageIDZero
    }

    package mutating func append(_ more: ByteBuffer) {
        if bytes.readableBytes == 0 {
            bytes = more
        } else {
            bytes.writeImmutableBuffer(more)
        }
    }

    /// Whether no bytes are left.
    package var isEmpty: Bool { bytes.readableBytes == 0 }

    package mutating func next() -> Piece? {
        while bytes.readableBytes >= 8 {
            switch look() {
            case .incomplete: return nil
            case .frame(let size):
                isInRun = false
                guard let wire = bytes.readSlice(length: size) else { return nil }
                if bytes.readableBytes == 0 { bytes = ByteBuffer() }
                return .frame(Frame(checked: wire))
            case .broken(let size):
                isInRun = false
                bytes.moveReaderIndex(forwardBy: size)
                return .malformed
            case .impossible:
                bytes.moveReaderIndex(forwardBy: 1)
                guard !isInRun else { continue }
                isInRun = true
                return .malformed
            }
        }
        return nil
    }

    private enum Look {
        case incomplete
        case frame(Int)
        /// A whole frame that breaks a rule.
        case broken(Int)
        case impossible
    }

    private func byte(_ offset: Int) -> UInt8 {
        bytes.getInteger(at: bytes.readerIndex + offset) ?? 0
    }

    private func look() -> Look {
        let version = byte(0) >> 4
        let type = byte(0) & 0b111
        let info = byte(2)
        let size = Int(bytes.getInteger(at: bytes.readerIndex + 4, as: UInt32.self) ?? 0)
        guard (1...5).contains(version), type <= 3,
            [0x00, 0x07, 0x0A, 0x0B, 0x0F].contains(byte(1)),
            size <= (version <= 2 ? 1488 : 131_072)
        else { return .impossible }
        if type == 0 {
            guard info <= 0x09 || info >= 0xFD else { return .impossible }
        }
        let header = version == 1 ? 8 : 12
        guard bytes.readableBytes >= header + size else { return .incomplete }
        guard type > 0 else { return .frame(header + size) }
        let messageID = bytes.getInteger(at: bytes.readerIndex + 8, as: UInt32.self) ?? 0
        let isRight = type == 2 ? size == 8 : size > 0
        guard isRight, version == 1 || messageID > 0 || acceptsMessageIDZero else {
            return .broken(header + size)
        }
        return .frame(header + size)
    }
}
