// Recorded sessions of Tests/Fixtures/captures, replayed in recorded order through a relay.

import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

/// One recorded session as chunks, and the whole frames each of them completes.
struct Capture {
    struct Chunk {
        let isFromApp: Bool
        /// The bytes as one side wrote them; a chunk may end in the middle of a frame.
        let bytes: ByteBuffer
        /// The frames that end in this chunk, which the relay passes on once it has the chunk.
        let completed: ByteBuffer
    }

    let name: String
    let chunks: [Chunk]

    private struct Index: Decodable {
        struct Chunk: Decodable {
            var dir: String
            var off: Int
            var len: Int
        }

        var chunks: [Chunk]
    }

    static let folder = Checkout.captures

    /// - Parameter session: replaces the recorded session ID.
    init(_ name: String, session: UInt8? = nil) throws {
        self.name = name
        let index = try JSONDecoder().decode(
            Index.self, from: Data(contentsOf: Self.folder.appending(path: "\(name).json")))
        let up = try Self.stream("\(name).up.bin", .fromApp(), session)
        let down = try Self.stream("\(name).down.bin", .fromAccessory(), session)
        var decoders = [
            FrameDecoder(rules: .fromAccessory(), recovery: .fail),
            FrameDecoder(rules: .fromApp(), recovery: .fail),
        ]
        chunks = try index.chunks.map { chunk in
            let isFromApp = chunk.dir == "up"
            let bytes = try #require(
                (isFromApp ? up : down).getSlice(at: chunk.off, length: chunk.len))
            var completed = ByteBuffer()
            decoders[isFromApp ? 1 : 0].append(bytes)
            while let frame = try decoders[isFromApp ? 1 : 0].next() {
                completed.writeImmutableBuffer(frame.wire)
            }
            return Chunk(isFromApp: isFromApp, bytes: bytes, completed: completed)
        }
    }

    private static func stream(
        _ file: String, _ rules: FrameRules, _ session: UInt8?
    ) throws -> ByteBuffer {
        let data = try Data(contentsOf: folder.appending(path: file))
        guard let session else { return ByteBuffer(bytes: data) }
        var decoder = FrameDecoder(rules: rules, recovery: .fail)
        decoder.append(ByteBuffer(bytes: data))
        var stream = ByteBuffer()
        while let frame = try decoder.next() {
            var wire = frame.wire
            // Session 0 stands for "none yet".
            if frame.sessionID != 0 { wire.setInteger(session, at: wire.readerIndex + 3) }
            stream.writeImmutableBuffer(wire)
        }
        #expect(stream.readableBytes == data.count)
        return stream
    }

    /// Plays both sides; every chunk has to come out at the other end, byte for byte, before the
    /// next one is sent.
    func replay(app: FramePeer, headUnit: FramePeer) async throws {
        for (number, chunk) in chunks.enumerated() {
            let (sender, receiver) = chunk.isFromApp ? (app, headUnit) : (headUnit, app)
            try await sender.send(bytes: chunk.bytes)
            let received = try await receiver.next(bytes: chunk.completed.readableBytes)
            try requireEqual(received, chunk.completed, "\(name), chunk \(number)")
        }
    }

    /// The lines relayd's log is to have for this session.
    func expectedLines(_ ending: String) throws -> [String] {
        let file = Self.folder.appending(path: "\(name).expected.\(ending)")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .map(String.init)
    }
}

/// Says where bytes differ instead of showing all of them.
func requireEqual(
    _ found: ByteBuffer, _ expected: ByteBuffer, _ what: String,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    guard found != expected else { return }
    let offset = zip(found.readableBytesView, expected.readableBytesView)
        .enumerated().first { $0.element.0 != $0.element.1 }?.offset
    try #require(
        Bool(false),
        """
        \(what): \(found.readableBytes) bytes instead of \(expected.readableBytes), \
        first difference at \(offset ?? min(found.readableBytes, expected.readableBytes))
        """, sourceLocation: sourceLocation)
}
