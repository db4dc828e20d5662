import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Synchronization
import Testing

@testable import SDLTraffic

// A bench whose clock is set while apps wait for answers: that lengthens no wait.

@Suite("A clock that is set")
struct ClockStepTests {
    private static let second: Int64 = 1_000_000_000
    /// Summer of 2026.
    private static let start: Int64 = 1_780_000_000 * second

    /// Two clocks that tests advance: the wall clock, which can be set, and the steady clock, which cannot.
    private final class Clocks: Sendable {
        private let state = Mutex((wall: ClockStepTests.start, steady: UInt64(5_000_000_000)))

        var wall: WallTime { WallTime(nanoseconds: state.withLock { $0.wall }) }
        var steady: NIODeadline { .uptimeNanoseconds(state.withLock { $0.steady }) }

        func pass(_ milliseconds: Int64) {
            state.withLock {
                $0.wall += milliseconds * 1_000_000
                $0.steady += UInt64(milliseconds) * 1_000_000
            }
        }

        func set(forwardBy seconds: Int64) {
            state.withLock { $0.wall += seconds * ClockStepTests.second }
        }
    }

    private actor Collector: TrafficConsumer {
        var entries: [TrafficEntry] = []
        func consume(_ new: [TrafficEntry]) { entries += new }

        var latencies: [Int64?] {
            entries.compactMap { entry -> RPCEntry? in
                if case .rpc(let rpc) = entry.content, rpc.message.type == .response {
                    rpc
                } else {
                    nil
                }
            }.map(\.latency)
        }

        var unanswered: Int {
            entries.count { entry in
                if case .event(.unanswered) = entry.content { true } else { false }
            }
        }
    }

    private let clocks = Clocks()
    private let collector = Collector()
    private let observer: TrafficObserver

    init() {
        observer = TrafficObserver(
            consumers: [collector], clock: { [clocks] in clocks.wall },
            steadyClock: { [clocks] in clocks.steady })
    }

    private func request(_ correlationID: Int32) -> TappedFrame {
        TappedFrame(
            frame: .rpc(session: 1, .request, .listFiles, correlation: correlationID),
            direction: .fromApp, app: AppID(rawValue: 1), time: clocks.wall)
    }

    private func response(_ correlationID: Int32) -> TappedFrame {
        TappedFrame(
            frame: .rpc(session: 1, .response, .listFiles, correlation: correlationID),
            direction: .fromAccessory, app: AppID(rawValue: 1), time: clocks.wall)
    }

    @Test(
        "the latency of a request that is waiting is what it was",
        arguments: [86_400, -86_400, 20 * 31_536_000, -20 * 31_536_000])
    func latency(_ seconds: Int64) async {
        await observer.observe([.frames([request(1)])])
        clocks.pass(40)
        clocks.set(forwardBy: seconds)
        clocks.pass(2)
        await observer.observe([.frames([response(1)])])
        #expect(await collector.latencies == [42_000_000])
        #expect(await collector.unanswered == 0)
    }

    @Test("frames stamped before and after it, in one batch", arguments: [3_600, -3_600])
    func oneBatch(_ seconds: Int64) async {
        let first = request(1)
        clocks.pass(3)
        clocks.set(forwardBy: seconds)
        clocks.pass(4)
        await observer.observe([.frames([first, response(1)])])
        #expect(await collector.latencies == [7_000_000])
    }

    @Test("an answer that does not come is told when it is late, not earlier and not years later")
    func patience() async throws {
        let before = try #require(await observer.observe([.frames([request(1)])]))
        clocks.set(forwardBy: -86_400)
        #expect(await observer.observe([]) == before)
        clocks.set(forwardBy: 2 * 86_400)
        clocks.pass(100)
        #expect(await observer.observe([]) == before - .milliseconds(100))
        #expect(await collector.unanswered == 0)
        clocks.pass(Int64(before.components.seconds) * 1000)
        #expect(await observer.observe([]) == nil)
        #expect(await collector.unanswered == 1)
    }

    @Test("a message of several frames does not expire, a stream's line comes after its second")
    func unfinished() async throws {
        var first = request(1)
        first.frame = Frame(
            version: 5, type: .first, service: .rpc, info: 0, sessionID: 1, messageID: 1,
            payload: ByteBuffer(bytes: [0, 0, 0x40, 0, 0, 0, 0, 2]))
        var video = request(2)
        video.frame = Frame(
            version: 5, type: .single, service: .video, info: 0, sessionID: 1, messageID: 2,
            payload: ByteBuffer(repeating: 1, count: 100))
        let patience = try #require(await observer.observe([.frames([first, video])]))
        #expect(patience == .seconds(1))
        clocks.set(forwardBy: 3_600)
        clocks.pass(400)
        #expect(await observer.observe([]) == .milliseconds(600))
        #expect(await collector.entries.isEmpty)
        clocks.pass(600)
        await observer.observe([])
        #expect(await collector.entries.count == 1)
    }

    @Test("a clock that is slewed was not set")
    func slewed() {
        var step = ClockStep()
        #expect(step.take(wall: clocks.wall, steady: clocks.steady) == nil)
        clocks.pass(10_000)
        let slewed = WallTime(nanoseconds: clocks.wall.nanoseconds + 5_000_000)
        #expect(step.take(wall: slewed, steady: clocks.steady) == nil)
        clocks.set(forwardBy: 3)
        #expect(step.take(wall: clocks.wall, steady: clocks.steady) == 3 * Self.second)
        #expect(step.take(wall: clocks.wall, steady: clocks.steady) == nil)
    }
}
