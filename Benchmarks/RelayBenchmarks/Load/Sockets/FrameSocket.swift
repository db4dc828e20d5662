// Speaks SDL frames over a blocking socket, for the few frames of a registration.

import NIOCore
import SDLProtocol

/// A socket read frame by frame. Not for measuring: it allocates.
struct FrameSocket {
    let socket: Socket
    private var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)

    init(_ socket: Socket) {
        self.socket = socket
    }

    func send(_ frame: Frame) throws {
        try frame.wire.withUnsafeReadableBytes { try socket.write($0) }
    }

    mutating func next() throws -> Frame {
        while true {
            if let frame = try decoder.next() { return frame }
            var buffer = ByteBuffer()
            let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 65536) {
                try socket.read(into: $0)
            }
            guard count > 0 else { throw BenchmarkError("the connection was closed") }
            decoder.append(buffer)
        }
    }

    /// Skips frames until one matches.
    mutating func next(where fits: (Frame) -> Bool) throws -> Frame {
        while true {
            let frame = try next()
            if fits(frame) { return frame }
        }
    }
}
