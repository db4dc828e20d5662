// One frame in flight: app → relay → head unit → relay → app.

import NIOCore
import SDLProtocol

/// Sends requests, answers them, and measures the time of each round trip.
///
/// One thread plays both ends. That costs nothing, because only one frame is on its way, and leaves
/// the processors to the program in the middle.
struct RoundTrips {
    private let lane: Lane
    private let requests: [[UInt8]]
    private let responses: [[UInt8]]
    private var buffer: [UInt8]

    /// The number of different messages, sent in turn; real ones differ, too.
    private static let variety = 64

    init(_ lane: Lane, bytes: Int) {
        self.lane = lane
        requests = (1...Self.variety).map { number in
            Traffic.wire([
                Traffic.request(
                    session: lane.session, bytes: bytes, message: UInt32(number),
                    correlation: Int32(number))
            ])
        }
        responses = (1...Self.variety).map { number in
            Traffic.wire([
                Traffic.response(
                    session: lane.session, bytes: bytes, message: UInt32(number),
                    correlation: Int32(number))
            ])
        }
        buffer = [UInt8](repeating: 0, count: bytes)
    }

    /// Nanoseconds of each of `count` round trips.
    mutating func run(_ count: Int) throws -> [Int64] {
        var times: [Int64] = []
        times.reserveCapacity(count)
        for index in 0..<count {
            let (request, response) = (
                requests[index % Self.variety], responses[index % Self.variety]
            )
            let start = Clock.nanoseconds()
            try lane.app.write(request)
            try buffer.withUnsafeMutableBytes { try lane.headUnit.readExactly(into: $0) }
            try lane.headUnit.write(response)
            try buffer.withUnsafeMutableBytes { try lane.app.readExactly(into: $0) }
            times.append(Clock.nanoseconds() - start)
            guard buffer == response else {
                throw BenchmarkError("\(lane.name) changed the bytes of a frame")
            }
        }
        return times
    }
}
