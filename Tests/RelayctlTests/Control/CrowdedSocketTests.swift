import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import Testing

@testable import relayctl

@Suite("relayctl stands in line where others wait for relayd")
struct CrowdedSocketTests {
    private func client(_ path: String, timeout: TimeAmount) throws -> ControlClient {
        ControlClient(sockets: try ControlSocket.forTool(given: path), timeout: timeout)
    }

    @Test("a line that stays full is told as such: relayd runs")
    func full() async throws {
        let socket = try ListeningSocket()
        let others = try socket.fill()
        defer {
            for other in others { close(other) }
            socket.remove()
        }
        let client = try client(socket.path, timeout: .milliseconds(20))
        await #expect(throws: ControlClientError.crowded(socket.path)) {
            _ = try await client.status()
        }
        await #expect(throws: ControlClientError.crowded(socket.path)) {
            try await client.lines(of: Routes.messageStream) { _ in true }
        }
        let text = ControlClientError.crowded(socket.path).description
        #expect(text.contains("more clients wait for it than the system holds"))
        #expect(!text.contains("not running"))
    }

    @Test("when there is room, it is asked") func waits() async throws {
        let socket = try ListeningSocket()
        let others = try socket.fill()
        async let answer = client(socket.path, timeout: FramePeer.patience).status()
        let server = try await StubServer(StubServer.relayd(Samples.busy), listening: socket)
        #expect(try await answer.value == Samples.busy)
        for other in others { close(other) }
        try await server.stop()
    }
}
