// The tap and its readers, each on a thread of its own: as in a relayd that records while observers look.

import NIOCore
import NIOPosix
import RelayTesting
import SDLProtocol
import Synchronization
import Testing

@testable import RelayCore

@Suite("Readers of the tap on threads of their own", .serialized)
struct TapThreadsTests {
    /// Reads a queue, and knows each frame by its number.
    private final class Reader: Sendable {
        private struct State {
            var seen: [UInt32] = []
            var wrong = 0
            var missedFrames = 0
            var missedBytes = 0
            var bytes = 0
            /// Frames kept to the end: nothing may overwrite them.
            var kept: [TappedFrame] = []
        }

        let queue: TapQueue
        let policy: TapPolicy
        private let keeps: Bool
        private let atOnce: Int
        private let state = Mutex(State())

        init(
            _ payload: TapPayload, maximumBytes: Int, atOnce: Int = .max, keeps: Bool = false,
            overflow: TapOverflow = .miss
        ) {
            policy = TapPolicy(
                payload: payload, delay: .milliseconds(1), streamDelay: .milliseconds(3),
                overflow: overflow)
            queue = TapQueue(maximumBytes: maximumBytes)
            (self.keeps, self.atOnce) = (keeps, atOnce)
        }

        /// Reads until the queue ends, or until `limit` frames were seen: then it ends the queue itself.
        func run(upTo limit: Int = .max) async {
            while let items = await queue.nextBatch(atMost: atOnce) {
                let isEnough = state.withLock { state in
                    for item in items { take(item, &state) }
                    return state.seen.count >= limit
                }
                if isEnough { queue.finish() }
            }
        }

        private func take(_ item: TapItem, _ state: inout State) {
            switch item {
            case .frames(let frames):
                for tapped in frames {
                    state.seen.append(tapped.frame.messageID ?? 0)
                    state.bytes += tapped.frame.headerBytes + tapped.frame.payloadBytes
                    if !isRight(tapped.frame) { state.wrong += 1 }
                    if keeps, state.seen.count % 97 == 0 { state.kept.append(tapped) }
                }
            case .missed(let frames, let bytes):
                state.missedFrames += frames
                state.missedBytes += bytes
            default: break
            }
        }

        private func isRight(_ frame: Frame) -> Bool {
            let number = frame.messageID ?? 0
            let isStream = frame.service.isStream && frame.type != .control
            let isWhole =
                switch policy.payload {
                case .headers: false
                case .exceptStreams: !isStream
                case .everything: true
                }
            guard isWhole else { return frame.wire.readableBytes == frame.headerBytes }
            return frame == TapThreadsTests.frame(number)
        }

        /// - Parameter sent: The number of frames that passed, numbered from 1.
        func check(_ sent: UInt32, _ location: SourceLocation = #_sourceLocation) {
            state.withLock { state in
                #expect(state.wrong == 0, sourceLocation: location)
                #expect(state.kept.allSatisfy { isRight($0.frame) }, sourceLocation: location)
                #expect(
                    zip(state.seen, state.seen.dropFirst()).allSatisfy { $0 < $1 },
                    sourceLocation: location)
                #expect(
                    state.seen.count + state.missedFrames == Int(sent), sourceLocation: location)
                let all = (1...sent).reduce(0) { $0 + TapThreadsTests.size($1) + 12 }
                #expect(state.bytes + state.missedBytes == all, sourceLocation: location)
                if policy.overflow == .wait {
                    #expect(state.missedFrames == 0, sourceLocation: location)
                }
            }
        }

        /// Checks that all frames it has seen came in order, without a gap from its first on.
        func checkBeginning(_ location: SourceLocation = #_sourceLocation) {
            state.withLock { state in
                #expect(state.wrong == 0 && state.missedFrames == 0, sourceLocation: location)
                let first = state.seen.first ?? 1
                #expect(
                    state.seen == Array(first..<first + UInt32(state.seen.count)),
                    sourceLocation: location)
            }
        }
    }

    /// Payloads: none, tiny, one that fills its storage with its header, and larger than any storage yet.
    private static func size(_ number: UInt32) -> Int {
        switch number % 1000 {
        case 0: 600_000
        case 500: 1 << 18 - 12
        case let rest where rest % 50 == 7: 20_000
        case let rest where rest % 3 == 0: 0
        default: Int(number % 90)
        }
    }

    private static func frame(_ number: UInt32) -> Frame {
        .data(
            session: 1, service: number % 4 == 0 ? .video : .bulk, message: number,
            bytes: size(number), filledWith: UInt8(truncatingIfNeeded: number &* 7))
    }

    @Test("each sees its part of every frame or counts it, whoever leaves, keeps or is slow")
    func readers() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let observers = Reader(.exceptStreams, maximumBytes: 8 << 20)
        let recorder = Reader(.everything, maximumBytes: 2 << 20, atOnce: 1 << 20, overflow: .wait)
        let keeper = Reader(.everything, maximumBytes: 4 << 20, keeps: true)
        let small = Reader(.everything, maximumBytes: 100_000, atOnce: 1000)
        let counter = Reader(.headers, maximumBytes: 1 << 20)
        let leaver = Reader(.everything, maximumBytes: 64 << 20)
        let late = Reader(.everything, maximumBytes: 64 << 20)
        let count: UInt32 = 12_000
        let tap = try await loop.submit {
            let tap = FrameTap(queue: observers.queue, observers.policy, loop: loop)
            for reader in [recorder, keeper, small, counter, leaver] {
                tap.attach(reader.queue, reader.policy, news: [])
            }
            return NIOLoopBound(tap, eventLoop: loop)
        }.get()
        await withTaskGroup(of: Void.self) { tasks in
            for reader in [observers, recorder, keeper, small, counter, late] {
                tasks.addTask { await reader.run() }
            }
            tasks.addTask { await leaver.run(upTo: 3000) }
            tasks.addTask {
                var number: UInt32 = 0
                while number < count {
                    let next = number + 1...min(number + 40, count)
                    let passed = try? await loop.submit { () -> Bool in
                        let tap = tap.value
                        guard !tap.isHolding else { return false }
                        if next.contains(5001) {
                            tap.attach(late.queue, late.policy, news: [])
                        }
                        for number in next {
                            tap.record(
                                Self.frame(number), .fromApp, app: nil,
                                time: WallTime(nanoseconds: 1))
                        }
                        tap.endRead()
                        if next.contains(7001) { tap.detach(leaver.queue) }
                        return true
                    }.get()
                    if passed == true { number = next.upperBound }
                    await Task.yield()
                }
                try? await loop.submit { tap.value.finish() }.get()
            }
        }
        for reader in [observers, recorder, keeper, small, counter] { reader.check(count) }
        leaver.checkBeginning()
        late.checkBeginning()
        try await group.shutdownGracefully()
    }
}
