import Dispatch
import Glibc
import NIOCore
import NIOPosix
import RelayTesting
import Synchronization
import Testing

@testable import AccessoryLinks

/// A close(2) that blocks, as a driver's does, until it is released.
private final class BlockingClose: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    let waiting = Watched(0)

    var close: @Sendable (CInt) -> Void {
        { [self] descriptor in
            waiting.update { $0 += 1 }
            gate.wait()
            // Stays open for the next call, too.
            gate.signal()
            _ = Glibc.close(descriptor)
            waiting.update { $0 -= 1 }
        }
    }

    func letGo() { gate.signal() }
}

@Suite("Calls that hang in a driver")
struct DeviceCallsTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    private func open(_ path: String, _ calls: DeviceCalls) async throws -> any Channel {
        var transport = try SerialTransport(AccessoryAddress("serial:\(path)"))
        transport.calls = calls
        return try await transport.open(on: loop, configure: LinkProbe().setup)
    }

    @Test("a close that hangs is told within its limit, and the device waited for")
    func closeHangs() async throws {
        let tty = try PseudoTerminal()
        let blocking = BlockingClose()
        let calls = DeviceCalls(close: blocking.close)
        let channel = try await open(tty.path, calls)
        try await withDeadline("the close") { try await channel.close() }
        // The caller continues; the call does not.
        try await blocking.waiting.wait(for: "a close in the driver") { $0 == 1 }
        let hanging = try #require(calls.hanging.first)
        #expect(hanging.call == "closing" && hanging.path == tty.path)
        let problem = try await #require(throws: LinkProblem.self) {
            try await open(tty.path, calls)
        }
        #expect(problem.code == .busy)
        #expect(problem.message.hasPrefix("\(tty.path) is still being closed"))

        blocking.letGo()
        try await blocking.waiting.wait(for: "the close") { $0 == 0 }
        let again = try await open(tty.path, calls)
        try await again.close()
        #expect(calls.hanging.isEmpty)
    }

    @Test("another device is opened meanwhile, and the loop turns")
    func othersGoOn() async throws {
        let (first, second) = (try PseudoTerminal(), try PseudoTerminal())
        let blocking = BlockingClose()
        let calls = DeviceCalls(close: blocking.close)
        let channel = try await open(first.path, calls)
        channel.close(promise: nil)
        try await blocking.waiting.wait(for: "a close in the driver") { $0 == 1 }
        let other = try await open(second.path, calls)
        try await other.send([1, 2, 3])
        #expect(try await second.read(3) == [1, 2, 3])
        other.close(promise: nil)
        try await blocking.waiting.wait(for: "two closes in the driver") { $0 == 2 }
        blocking.letGo()
        try await blocking.waiting.wait(for: "both closes") { $0 == 0 }
    }

    @Test("devices that hang are bounded in number, and the bound is told")
    func isBounded() async throws {
        let blocking = BlockingClose()
        let calls = DeviceCalls(close: blocking.close)
        for _ in 0..<DeviceCalls.maximumHanging {
            let tty = try PseudoTerminal()
            let channel = try await open(tty.path, calls)
            channel.close(promise: nil)
        }
        try await blocking.waiting.wait(for: "closes in the driver") {
            $0 == DeviceCalls.maximumHanging
        }
        let tty = try PseudoTerminal()
        let problem = try await #require(throws: LinkProblem.self) {
            try await open(tty.path, calls)
        }
        #expect(problem.message == "calls to 8 other devices hang in their drivers")
        blocking.letGo()
        try await blocking.waiting.wait(for: "all closes") { $0 == 0 }
        let channel = try await withDeadline("a place") {
            while true {
                do { return try await open(tty.path, calls) } catch is LinkProblem {
                    await Task.yield()
                }
            }
        }
        try await channel.close()
    }

    @Test("a call that waits in the kernel is interrupted by its device's thread alone")
    func interrupts() async throws {
        let thread = try DeviceThread()
        let returned = Watched<CInt?>(nil)
        thread.run {
            // Nothing is written to this socket.
            var ends: [CInt] = [-1, -1]
            _ = socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
            var byte: UInt8 = 0
            let result = read(ends[0], &byte, 1)
            let error = result < 0 ? errno : 0
            for end in ends { _ = close(end) }
            returned.update { $0 = error }
        }
        // An interrupt that comes before the call waits is missed.
        try await withDeadline("the call to return") {
            while returned.value == nil {
                thread.interrupt()
                await Task.yield()
            }
        }
        #expect(returned.value == EINTR)
        thread.finish()
        // Nothing is running, so there is nothing to interrupt.
        thread.interrupt()
    }

    @Test("an attempt that nobody waits for gives the device back")
    func abandoned() async throws {
        let tty = try PseudoTerminal()
        let calls = DeviceCalls()
        let reached = Watched(false)
        let goOn = DispatchSemaphore(value: 0)
        let task = Task { () -> Bool in
            do {
                _ = try await TTY.open(tty.path, calls, on: loop) { _ in
                    reached.update { $0 = true }
                    goOn.wait()
                }
                return true
            } catch { return false }
        }
        try await reached.wait(for: "the open") { $0 }
        task.cancel()
        let opened = try await withDeadline("the cancelled attempt") { await task.value }
        #expect(!opened)
        goOn.signal()
        let channel = try await withDeadline("the device") {
            while true {
                do { return try await open(tty.path, calls) } catch let problem as LinkProblem
                    where problem.code == .busy
                { await Task.yield() }
            }
        }
        try await channel.close()
    }
}
