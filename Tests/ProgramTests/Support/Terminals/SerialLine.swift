// The head unit at the far end of a serial line, speaking frames.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

extension PseudoTerminal: HeadUnit {
    /// The accessory's address.
    var accessory: String { "serial:\(path)?baud=115200" }

    func send(_ frames: Frame...) async throws {
        for frame in frames { try await write(Array(frame.wire.readableBytesView)) }
    }

    /// The next whole frame.
    func next() async throws -> Frame {
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        // v1 has the shortest header; the 4 bytes before its end are the payload's size.
        let header = try await read(FrameHeader.minimumBytes)
        let size = header[4..<8].reduce(0) { $0 << 8 | Int($1) }
        let rest = FrameHeader.bytes(version: header[0] >> 4) - header.count + size
        decoder.append(ByteBuffer(bytes: header + (try await read(rest))))
        return try #require(try decoder.next())
    }
}
