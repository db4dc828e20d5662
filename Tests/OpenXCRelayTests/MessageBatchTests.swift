// The messages of one read of the link, on their way to the clients.

import NIOCore
import OpenXCProtocol
import RelayCore
import Testing

@testable import OpenXCRelay

@Suite("The messages of one read")
struct MessageBatchTests {
    private static let speed = VehicleMessage(
        .measurement(Measurement("vehicle_speed", .number(1))))
    private static let version = VehicleMessage(
        .response(CommandResponse(.version, message: "8.2.1", status: true)))

    private static func id(_ number: UInt64) -> AppID { AppID(rawValue: number) }

    @Test("who waits for an answer in it gets it before the others get anything")
    func order() {
        let clients = Dictionary(
            uniqueKeysWithValues: (1...100).map { (Self.id($0), "client \($0)") })
        var batch = MessageBatch()
        batch.add(Self.speed, for: .all)
        #expect(batch.asking.isEmpty)
        for number: UInt64 in [70, 30, 70] {
            batch.add(Self.version, for: .client(Self.id(number)))
        }
        // For a client that has left, or for a request of the control API.
        batch.add(Self.version, for: .client(Self.id(500)))
        batch.add(Self.version, for: .nobody)
        let order = batch.inOrder(clients)
        #expect(order.prefix(2) == ["client 70", "client 30"])
        #expect(order.count == 100 && Set(order) == Set(clients.values))
    }

    @Test("is written once in each form that somebody wants")
    func forms() throws {
        var batch = MessageBatch()
        batch.add(Self.speed, for: .all)
        batch.add(Self.speed, for: .all)
        for framing in MessageFraming.allCases {
            var bytes: [UInt8] = []
            for _ in 0..<2 { try framing.append(Self.speed, to: &bytes) }
            let (first, second) = (batch.all(in: framing), batch.all(in: framing))
            let (all, count) = try #require(first)
            let (again, _) = try #require(second)
            #expect(Array(all.readableBytesView) == bytes && count == 2)
            // The same memory, not a second encoding.
            let address = all.withUnsafeReadableBytes { $0.baseAddress }
            #expect(again.withUnsafeReadableBytes { $0.baseAddress } == address)
        }
    }
}
