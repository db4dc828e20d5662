// The stream of a vehicle's messages, to a client that takes nothing for a while.

import ControlAPI
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic
import RelayCore
import Testing

@testable import relayd

@Suite("The stream of a vehicle's messages")
struct VehicleStreamTests {
    private static func heard(_ json: String) throws -> VehicleItem {
        let bytes = Array(json.utf8)
        let message = try VehicleMessage(json: bytes.span)
        return VehicleItem(
            .heard([(message: message, destination: .all, wire: bytes[...])]), at: .now(),
            steady: .now())
    }

    @Test("what comes while the first line waits for the client follows that line")
    func beginning() async throws {
        let traffic = VehicleTraffic(instance: "v")
        await traffic.take([try Self.heard(#"{"name":"odometer","value":7}"#)])
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var request = try VehicleStreamRequest(try RequestQuery("/"))
        request.follows = false
        let stream = VehicleStream(
            traffic: traffic, request: request, framing: .lines,
            pause: StreamPause(heartbeat: .seconds(15), timers: loop))
        let channel = NIOAsyncTestingChannel()
        let connection = try await channel.testingEventLoop.executeInContext {
            try NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>(
                wrappingChannelSynchronously: channel)
        }
        try await channel.connect(to: SocketAddress(unixDomainSocketPath: "client"))
        func clientTakes(_ takes: Bool) async throws {
            channel.isWritable = takes
            try await channel.testingEventLoop.executeInContext {
                channel.pipeline.fireChannelWritabilityChanged()
            }
        }

        try await clientTakes(false)
        let answer = Task(executorPreference: LoopExecutor(loop)) {
            try await connection.executeThenClose { _, outbound in
                try await stream.run(ResponseWriter(outbound))
            }
        }
        // The first line has been written, and the stream waits until the client takes it.
        for _ in 0..<20 { try await loop.submit {}.get() }
        await traffic.take([try Self.heard(#"{"name":"odometer","value":8}"#)])
        try await clientTakes(true)
        try await answer.value

        var lines: [String] = []
        while let part = try await channel.readOutbound(as: HTTPServerResponsePart.self) {
            guard case .body(.byteBuffer(let bytes)) = part else { continue }
            lines += String(buffer: bytes).split(separator: "\n").map(String.init)
        }
        try #require(lines.count == 2, "\(lines)")
        #expect(lines[0] == #"{"first":1,"instance":"v","latest":1}"#)
        #expect(lines[1].contains(#""n":2"#) && lines[1].contains(#""value":8"#))
    }
}
