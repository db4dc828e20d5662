// Fuzz targets: the simulated head unit, and the sample app in front of it.

import NIOCore
import NIOEmbedded
import SDLProtocol

@testable import SampleApp
@testable import SimulatedAccessory

extension FuzzTarget {
    static let headUnit = FuzzTarget(
        name: "head-unit", about: "the simulated head unit, as apps and the relay meet it",
        promise: "it answers in whole frames", isScript: true, words: { TrafficWords.all },
        seeds: { FuzzSeeds.dialogues(headUnit: nil, app: 0) },
        run: { bytes in
            let loop = EmbeddedEventLoop()
            let handler = SimulatedAccessoryHandler(
                SimulatedAccessory(generator: FuzzGenerator()))
            let channel = EmbeddedChannel(handler: handler, loop: loop)
            defer { channel.end() }
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            var checked = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
            for step in FuzzScript(bytes) where channel.isActive {
                var bytes = FuzzBytes(step.bytes)
                switch step.kind {
                case 0: channel.feed(ByteBuffer(bytes: step.bytes))
                case 1:
                    loop.advanceTime(by: .milliseconds(Int64(bytes.byte()) << Int64(step.whom % 8)))
                case 2:
                    channel.isWritable = step.whom & 1 == 0
                    channel.pipeline.fireChannelWritabilityChanged()
                    channel.read()
                case 3:
                    let start = Frame(
                        version: 1 + bytes.byte() % 5, type: .control,
                        service: bytes.one(of: ServiceType.allCases),
                        info: ControlFrameType.startService.rawValue, sessionID: bytes.byte() % 5)
                    channel.feed(start.wire)
                default: for frame in Frame.made(of: &bytes) { channel.feed(frame.wire) }
                }
                try channel.hear(&checked)
            }
        })

    static let sampleApp = FuzzTarget(
        name: "sample-app", about: "the sample app, whose head unit says what it likes in between",
        promise: "it speaks in whole frames, and its lines have no control characters",
        isScript: true, words: { TrafficWords.all },
        seeds: { FuzzSeeds.dialogues(headUnit: 0, app: nil) },
        run: { bytes in
            let loop = EmbeddedEventLoop()
            let outcome = loop.makePromise(of: SampleApp.Outcome.self)
            var broken: String?
            let handler = SampleAppHandler(SampleApp(), outcome: outcome) { line in
                if line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { broken = line }
            }
            let channel = EmbeddedChannel(handler: handler, loop: loop)
            defer { channel.end() }
            defer { outcome.succeed(.finished) }
            var headUnit = SimulatedAccessory(generator: FuzzGenerator())
            var said = FrameDecoder(rules: .fromApp(), recovery: .fail)
            var waiting: [Frame] = []
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            for step in FuzzScript(bytes) where channel.isActive {
                var bytes = FuzzBytes(step.bytes)
                for frame in try channel.said(&said) {
                    waiting += headUnit.receive(frame, at: loop.now)
                }
                switch step.kind {
                case 0: channel.feed(ByteBuffer(bytes: step.bytes))
                case 1:
                    loop.advanceTime(by: .milliseconds(Int64(bytes.byte()) << Int64(step.whom % 8)))
                    waiting += headUnit.advance(to: loop.now)
                case 2: if !waiting.isEmpty { waiting.removeFirst() }
                case 3: handler.leave()
                case 4, 5: for frame in Frame.made(of: &bytes) { channel.feed(frame.wire) }
                case 6:
                    // The head unit's own answer, with a byte changed.
                    guard var wire = waiting.first?.wire else { break }
                    waiting.removeFirst()
                    let index = wire.readerIndex + Int(bytes.byte()) % wire.readableBytes
                    wire.setInteger(bytes.byte(), at: index)
                    channel.feed(wire)
                default:
                    for frame in waiting { channel.feed(frame.wire) }
                    waiting = []
                }
                if let broken { throw BrokenPromise("a line is \(broken.debugDescription)") }
            }
        })
}

/// Produces the same numbers each time; otherwise an input would not behave the same twice.
private struct FuzzGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64 = 1

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1
        return state
    }
}

extension EmbeddedChannel {
    /// Shuts the loop down; otherwise timers keep the handlers alive.
    fileprivate func end() {
        _ = try? finish(acceptAlreadyClosed: true)
        try? embeddedEventLoop.syncShutdownGracefully()
    }

    /// An error thrown by a handler closes the connection, as it would close a real one.
    fileprivate func feed(_ bytes: ByteBuffer) {
        do { _ = try writeInbound(bytes) } catch { close(promise: nil) }
    }

    fileprivate func hear(_ decoder: inout FrameDecoder) throws {
        _ = try said(&decoder)
    }

    fileprivate func said(_ decoder: inout FrameDecoder) throws -> [Frame] {
        var frames: [Frame] = []
        while let bytes = try readOutbound(as: ByteBuffer.self) {
            decoder.append(bytes)
            do {
                while let frame = try decoder.next() { frames.append(frame) }
            } catch {
                throw BrokenPromise("what it says is no frame: \(error)")
            }
            try ensure(!decoder.isInsideFrame, "it says half a frame")
        }
        return frames
    }
}
