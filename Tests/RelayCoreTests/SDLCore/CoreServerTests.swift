// The stand-in for sdl_core over TCP, as the built programs meet it.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The stand-in for sdl_core: over TCP")
struct CoreServerTests {
    @Test("an app starts, registers, shows something and ends")
    func everyday() async throws {
        try await SDLCoreServer.run { server in
            let peer = try await FramePeer.connect(port: server.port)
            try await peer.send(.startService())
            let session = try await peer.next().sessionID
            try await peer.send(.register(session, "app"))
            #expect(try await peer.next().resultCode == "SUCCESS")
            #expect(try await server.look { core, _ in core.running.first?.app?.appID } == "app")
            await peer.close()
            while try await server.look({ core, _ in !core.running.isEmpty }) {
                await Task.yield()
            }
            #expect(try await server.look { core, _ in core.ends.first?.isUnexpected } == true)
        }
    }

    @Test("a connection it has enough of is closed")
    func closes() async throws {
        try await SDLCoreServer.run { server in
            let peer = try await FramePeer.connect(port: server.port)
            let bad = Frame(
                version: 5, type: .single, service: .rpc, sessionID: 1, messageID: 0,
                payload: ByteBuffer(repeating: 1, count: 14))
            // In one write: the eleventh within a second is one too many.
            var bytes = ByteBuffer()
            for _ in 0..<11 { bytes.writeImmutableBuffer(bad.wire) }
            try await peer.send(bytes: bytes)
            try await peer.closed()
        }
    }
}
