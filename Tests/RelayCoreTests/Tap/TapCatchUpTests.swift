// A caller that asks what has passed waits until the reader of the queue has seen it.

import NIOCore
import RelayTesting
import SDLProtocol
import Synchronization
import Testing

@testable import RelayCore

@Suite("Waiting for the reader of the tap's queue")
struct TapCatchUpTests {
    private let queue = TapQueue(maximumBytes: 1 << 20)
    private let calls = Calls()

    private final class Calls: Sendable {
        private let names = Mutex([String]())
        var all: [String] { names.withLock { $0 } }
        func add(_ name: String) { names.withLock { $0.append(name) } }
    }

    private func pass() {
        queue.push(.noticed(.fellBehind(queuedBytes: 1), nil, time: WallTime(nanoseconds: 1)))
    }

    private func wait(_ name: String) {
        let calls = calls
        queue.whenSeen { calls.add(name) }
    }

    @Test("it is over when the reader comes back for more, not when it takes the items")
    func comesBack() {
        pass()
        wait("first")
        #expect(queue.takeAll().count == 1)
        #expect(calls.all.isEmpty, "the reader is still looking at it")
        pass()
        #expect(queue.takeAll().count == 1)
        #expect(calls.all == ["first"], "what came later is not waited for")
        _ = queue.takeAll()
        #expect(calls.all == ["first"], "it is told once")
    }

    @Test("what the reader has taken already counts as well")
    func taken() {
        pass()
        #expect(queue.takeAll().count == 1)
        wait("first")
        #expect(calls.all.isEmpty)
        _ = queue.takeAll()
        #expect(calls.all == ["first"])
    }

    @Test("a reader that takes a few at a time has seen all when it has taken the last of them")
    func pieces() async {
        for _ in 1...3 { pass() }
        wait("first")
        for _ in 1...3 {
            #expect(await queue.nextBatch(atMost: 1)?.count == 1)
            #expect(calls.all.isEmpty)
        }
        _ = queue.takeAll()
        #expect(calls.all == ["first"])
    }

    @Test("a reader that waits for more has seen everything; nobody waits for one that has left")
    func idle() async {
        let queue = queue
        async let next = queue.nextBatch()
        while !queue.isAwaited { await Task.yield() }
        wait("idle")
        #expect(calls.all == ["idle"])
        pass()
        #expect(await next?.count == 1)
        pass()
        wait("behind")
        #expect(queue.abandon() == 0)
        #expect(calls.all == ["idle", "behind"])
        wait("over")
        #expect(calls.all == ["idle", "behind", "over"])
    }

    @Test(
        "the relay hands over what it has collected, and waits for the observers, but not for ever")
    func relay() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            _ = try await bench.openSession(1, on: headUnit)
            // Nobody reads: the patience ends at some point.
            await bench.relay.observersCatchUp(within: .milliseconds(20))
            let sessions = Mutex([UInt8]())
            let observers = Task {
                while let items = await bench.relay.tapQueue.nextBatch() {
                    for case .frames(let frames) in items {
                        sessions.withLock { $0 += frames.map(\.frame.sessionID) }
                    }
                }
            }
            _ = try await bench.openSession(2, on: headUnit)
            await bench.relay.observersCatchUp(within: .seconds(60))
            #expect(sessions.withLock { $0.contains(2) })
            bench.relay.tapQueue.finish()
            await observers.value
        }
    }
}
