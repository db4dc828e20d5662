import Foundation
import Glibc
import NIOPosix
import Synchronization
import Testing

@testable import relayd

// The thread for work that may block.

@Suite("SerialThread")
struct SerialThreadTests {
    @Test("jobs run one after the other, in order, on a thread of their own")
    func inOrder() async {
        let thread = SerialThread(named: "test")
        let done = Mutex([Int]())
        let threads = Mutex(Set<pthread_t>())
        for number in 0..<1_000 {
            thread.async {
                done.withLock { $0.append(number) }
                _ = threads.withLock { $0.insert(pthread_self()) }
            }
        }
        await withCheckedContinuation { continuation in thread.async { continuation.resume() } }
        #expect(done.withLock { $0 } == Array(0..<1_000))
        #expect(threads.withLock { $0.count } == 1)
    }

    @Test("it sleeps and wakes again for each job", .timeLimit(.minutes(15)))
    func wakes() async {
        let thread = SerialThread(named: "test")
        for _ in 0..<200 {
            await withCheckedContinuation { continuation in thread.async { continuation.resume() } }
        }
    }

    @Test(
        "what is left when its owner goes is done, then the thread ends", .timeLimit(.minutes(15)))
    func owner() async {
        final class Witness: Sendable {
            let gone: @Sendable () -> Void
            init(gone: @escaping @Sendable () -> Void) { self.gone = gone }
            deinit { gone() }
        }
        let (ended, end) = AsyncStream<Void>.makeStream()
        let (ran, run) = AsyncStream<Int>.makeStream()
        do {
            let thread = SerialThread(named: "test")
            let witness = Witness { end.finish() }
            thread.async { usleep(1_000) }
            for number in 0..<3 {
                thread.async { withExtendedLifetime(witness) { _ = run.yield(number) } }
            }
        }
        var numbers: [Int] = []
        for await number in ran.prefix(3) { numbers.append(number) }
        #expect(numbers == [0, 1, 2])
        for await _ in ended {}
    }
}
