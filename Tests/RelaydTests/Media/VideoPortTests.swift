import NIOCore
import NIOEmbedded
import Testing

@testable import relayd

@Suite("The port for players") struct VideoPortTests {
    @Test("a player that is accepted while the port is being closed has no part in it")
    func late() {
        let port = VideoPort(on: EmbeddedEventLoop())
        #expect(port.joined(EmbeddedChannel()) != nil)
        port.close()
        #expect(port.joined(EmbeddedChannel()) == nil)
        #expect(port.playerCount == 1)
    }
}
