// Random traffic, and sinks of all kinds that come, look and leave at random: each accounts for every frame.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Every frame is seen or counted by every sink that was there")
struct TapAccountTests {
    /// A sink, the traffic that passed while it was there, and how much of it the sink knows.
    private final class Onlooker {
        let queue: TapQueue
        let policy: TapPolicy
        var passed: [Frame] = []
        /// Bytes that passed and belong to no frame.
        var noise = 0
        private var seen: [Frame] = []
        private var seenNoise = 0
        private var missedFrames = 0
        private var missedBytes = 0

        init(_ policy: TapPolicy, maximumBytes: Int) {
            self.policy = policy
            queue = TapQueue(maximumBytes: maximumBytes)
        }

        func look() {
            for item in queue.takeAll() {
                switch item {
                case .frames(let frames): seen += frames.map(\.frame)
                case .bytes(let run): seenNoise += run.bytes.readableBytes
                case .missed(let frames, let bytes):
                    missedFrames += frames
                    missedBytes += bytes
                default: break
                }
            }
        }

        func check(_ location: SourceLocation = #_sourceLocation) {
            // Frames have rising numbers.
            let known = Set(seen.compactMap(\.messageID))
            let told = passed.filter { known.contains($0.messageID ?? 0) }
            #expect(seen == told.map(part), sourceLocation: location)
            let unseen = passed.filter { !known.contains($0.messageID ?? 0) }
            #expect(missedFrames == unseen.count, sourceLocation: location)
            let unseenBytes = unseen.reduce(0) { $0 + $1.wire.readableBytes }
            #expect(
                missedBytes == unseenBytes + noise - seenNoise, sourceLocation: location)
            if policy.overflow == .wait {
                #expect(unseen.isEmpty && seenNoise == noise, sourceLocation: location)
            }
        }

        /// The part of a frame that the sink gets.
        private func part(_ frame: Frame) -> Frame {
            let isStream = frame.service.isStream && frame.type != .control
            return switch policy.payload {
            case .headers: frame.headerOnly
            case .exceptStreams: isStream ? frame.headerOnly : frame
            case .everything: frame
            }
        }
    }

    private static func frame(_ number: UInt32, _ random: inout SeededGenerator) -> Frame {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: .control(.heartbeat, session: 1, messageID: number)
        case 1: data(.audio, number, 0...0, &random)
        case 2...4: data(.video, number, 1...6000, &random)
        case 5: data(.bulk, number, 1...20_000, &random)
        default: data(.bulk, number, 0...300, &random)
        }
    }

    /// A frame with bytes of its own, so that those of another would be noticed.
    private static func data(
        _ service: ServiceType, _ number: UInt32, _ bytes: ClosedRange<Int>,
        _ random: inout SeededGenerator
    ) -> Frame {
        .data(
            session: 1, service: service, message: number,
            bytes: .random(in: bytes, using: &random),
            filledWith: UInt8(truncatingIfNeeded: number))
    }

    private static func onlooker(_ random: inout SeededGenerator) -> Onlooker {
        let payloads = [TapPayload.headers, .exceptStreams, .everything]
        let policy = TapPolicy(
            payload: payloads[.random(in: 0...2, using: &random)],
            delay: .milliseconds(.random(in: 1...30, using: &random)),
            streamDelay: .milliseconds(.random(in: 1...100, using: &random)),
            overflow: Int.random(in: 0..<4, using: &random) == 0 ? .wait : .miss)
        return Onlooker(policy, maximumBytes: .random(in: 2000...200_000, using: &random))
    }

    @Test("whoever comes, is slow, or leaves", arguments: 1...40 as ClosedRange<UInt64>)
    func account(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let loop = EmbeddedEventLoop()
        let observers = Onlooker(
            .observers, maximumBytes: .random(in: 2000...200_000, using: &random))
        let tap = FrameTap(queue: observers.queue, loop: loop)
        var others: [Onlooker] = []
        var number: UInt32 = 0
        for _ in 0..<400 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0 where others.count < 4:
                let comer = Self.onlooker(&random)
                tap.attach(comer.queue, comer.policy, news: [])
                others.append(comer)
            case 1 where !others.isEmpty:
                let leaver = others.remove(at: .random(in: 0..<others.count, using: &random))
                tap.detach(leaver.queue)
                leaver.look()
                leaver.check()
            case 2:
                tap.record(
                    .noticed(.paced(framesPerSecond: 1), nil, time: WallTime(nanoseconds: 1)))
            case 3:
                let bytes = Int.random(in: 1...3000, using: &random)
                tap.record(
                    TappedBytes(
                        bytes: ByteBuffer(repeating: 0xFF, count: bytes), direction: .fromApp,
                        app: nil, offset: 0, time: WallTime(nanoseconds: 1)))
                tap.endRead()
                for onlooker in others where onlooker.policy.payload != .headers {
                    onlooker.noise += bytes
                }
            case 4...5:
                loop.advanceTime(by: .milliseconds(.random(in: 0...30, using: &random)))
            case 6...9:
                ([observers] + others).randomElement(using: &random)?.look()
            default:
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    number += 1
                    let frame = Self.frame(number, &random)
                    tap.record(frame, .fromApp, app: nil, time: WallTime(nanoseconds: 1))
                    for onlooker in [observers] + others { onlooker.passed.append(frame) }
                }
                tap.endRead()
            }
            for onlooker in [observers] + others where onlooker.policy.overflow == .miss {
                #expect(onlooker.queue.occupiedBytes <= onlooker.queue.maximumBytes)
            }
        }
        tap.finish()
        loop.run()
        for onlooker in [observers] + others {
            onlooker.look()
            onlooker.check()
        }
    }
}
