// Many frames with one write, so that relayd is the busy one.

import Foundation
import Synchronization

/// Everyday RPCs sent again and again over a lane, and what relayd's threads used for them.
struct FrameFlood {
    let lane: Lane
    let direction: StreamDirection
    private let wire: [UInt8]

    /// The number of frames of the wire, each with a correlation ID of its own.
    static let frames = 16_384
    /// The subject of the measurement, as findings name it.
    var subject: String { "\(EverydayTraffic.frameBytes) B RPCs \(direction.rawValue)" }

    struct Result {
        var framesPerSecond: Double
        /// Processor time of the relay's event loop per frame.
        var loopNanoseconds: Double
        /// Processor time of all other threads of relayd, including their work after the flood.
        var otherNanoseconds: Double
    }

    private static let writeBytes = 64 << 10
    private static let readBytes = 256 << 10

    init(_ lane: Lane, _ direction: StreamDirection) {
        self.lane = lane
        self.direction = direction
        wire = EverydayTraffic.wire(
            direction == .fromApp ? .app : .headUnit, session: lane.session, count: Self.frames)
    }

    /// Sends the wire `repetitions` times and waits until all of it has arrived and relayd is done with it.
    func run(repetitions: Int) throws -> Result {
        let (source, sink) =
            direction == .fromApp ? (lane.app, lane.headUnit) : (lane.headUnit, lane.app)
        _ = lane.child.settledProcessorTime()
        let before = try times()
        let failure = Mutex<(any Error)?>(nil)
        let wire = wire
        let start = Clock.now()
        let writer = Thread {
            do {
                try wire.withUnsafeBytes { bytes in
                    for _ in 0..<repetitions {
                        for offset in stride(from: 0, to: bytes.count, by: Self.writeBytes) {
                            let end = min(offset + Self.writeBytes, bytes.count)
                            try source.write(
                                UnsafeRawBufferPointer(rebasing: bytes[offset..<end]))
                        }
                    }
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        writer.start()
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.readBytes, alignment: 64)
        defer { buffer.deallocate() }
        do {
            try sink.discard(wire.count * repetitions, buffer: buffer)
        } catch {
            throw failure.withLock { $0 } ?? error
        }
        let seconds = Clock.now() - start
        _ = lane.child.settledProcessorTime()
        let after = try times()
        let count = Double(Self.frames * repetitions)
        return Result(
            framesPerSecond: count / seconds,
            loopNanoseconds: Double(after.loop - before.loop) / count,
            otherNanoseconds: Double(after.others - before.others) / count)
    }

    private func times() throws -> (loop: Int, others: Int) {
        let facts = ProcessFacts(processID: lane.child.processID)
        let threads = try facts.threads()
        let all = threads.values.reduce(0) { $0 + $1.processorNanoseconds }
        let own = threads[try facts.relayLoop()]?.processorNanoseconds ?? 0
        return (own, all - own)
    }
}

extension Findings {
    /// Adds the results of one contestant's rounds.
    mutating func add(_ subject: String, _ contestant: String, _ rounds: [FrameFlood.Result]) {
        add(subject, contestant, "rate", rounds.map(\.framesPerSecond), "frames/s")
        add(subject, contestant, "loop", rounds.map(\.loopNanoseconds), "ns/frame")
        add(subject, contestant, "other threads", rounds.map(\.otherNanoseconds), "ns/frame")
    }
}
