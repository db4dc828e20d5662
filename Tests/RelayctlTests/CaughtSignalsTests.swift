import Glibc
import Testing

@testable import relayctl

@Suite("Caught signals", .serialized)
struct CaughtSignalsTests {
    // The process under test is this one, so the signal is one that nobody else here uses.
    @Test(
        "a signal that comes at once is received, and so is that of the next user",
        arguments: 1...20)
    func atOnce(time: Int) async {
        let (signals, signal) = AsyncStream<Int32>.makeStream()
        let caught = CaughtSignals([SIGUSR2]) { signal.yield($0) }
        kill(getpid(), SIGUSR2)
        #expect(await signals.first { _ in true } == SIGUSR2)
        caught.end()
    }

    @Test("the second signal has its usual effect, and so has one after the end")
    func once() async {
        #expect(Self.isDefault(SIGUSR2))
        let (signals, signal) = AsyncStream<Int32>.makeStream()
        let caught = CaughtSignals([SIGUSR2]) { signal.yield($0) }
        #expect(!Self.isDefault(SIGUSR2))
        kill(getpid(), SIGUSR2)
        _ = await signals.first { _ in true }
        #expect(Self.isDefault(SIGUSR2))
        caught.end()
        let again = CaughtSignals([SIGUSR2]) { _ in }
        #expect(!Self.isDefault(SIGUSR2))
        again.end()
        #expect(Self.isDefault(SIGUSR2))
    }

    private static func isDefault(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return action.__sigaction_handler.sa_handler == nil
    }
}
