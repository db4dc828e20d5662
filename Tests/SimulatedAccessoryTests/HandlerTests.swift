import NIOCore
import NIOEmbedded
import SDLProtocol
import SampleApp
import SimulatedAccessory
import Testing

@Suite struct HandlerTests {
    private func channel(_ handler: SimulatedAccessoryHandler) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: handler)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "sim")).wait()
        return channel
    }

    private func heard(_ channel: EmbeddedChannel) throws -> [Frame] {
        var bytes = ByteBuffer()
        while let more = try channel.readOutbound(as: ByteBuffer.self) {
            bytes.writeImmutableBuffer(more)
        }
        return try frames(bytes)
    }

    @Test("bytes come in pieces, answers go out, and timed frames come on their own")
    func talks() throws {
        let channel = try channel(SimulatedAccessoryHandler(configuration: .init()))
        for byte in bytes(hex: Hex.startServiceV1WithBSON) {
            try channel.writeInbound(ByteBuffer(bytes: [byte]))
        }
        #expect(try heard(channel).map(\.controlType) == [.startServiceACK])
        let register = Frame.rpc(
            version: 5, sessionID: 1, messageID: 1, type: .request,
            functionID: FunctionID.registerAppInterface.rawValue, correlationID: 1,
            json: registration("A", appID: "1"))
        try channel.writeInbound(register.wire)
        #expect(answers(try heard(channel)).count == 5)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
        #expect(answers(try heard(channel)).map(\.function) == [.onHMIStatus])
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(try heard(channel).isEmpty)
        _ = try channel.finish()
    }

    @Test("garbage is skipped and counted, and too much of it closes the link")
    func garbage() throws {
        let handler = SimulatedAccessoryHandler(configuration: .init())
        let channel = try channel(handler)
        try channel.writeInbound(ByteBuffer(bytes: bytes(hex: Hex.startServiceV1WithBSON)))
        let occurrence = ByteBuffer(bytes: bytes(hex: "ff" + "50000001 00000000 00000007"))
        for _ in 1...10 { try channel.writeInbound(occurrence) }
        #expect(handler.garbageOccurrences == 10)
        #expect(try heard(channel).count { $0.controlType == .heartbeatACK } == 10)
        #expect(channel.isActive)
        _ = try? channel.writeInbound(occurrence)
        #expect(!channel.isActive)
    }

    @Test("a closed link ends the sessions and stops the timer")
    func closes() throws {
        let handler = SimulatedAccessoryHandler(configuration: .init())
        let channel = try channel(handler)
        try channel.writeInbound(ByteBuffer(bytes: bytes(hex: Hex.startServiceV1WithBSON)))
        #expect(handler.accessory.sessionIDs == [1])
        _ = try channel.finish()
        #expect(handler.accessory.sessionIDs.isEmpty)
    }
}
