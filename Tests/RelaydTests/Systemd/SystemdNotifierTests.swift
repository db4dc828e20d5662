import Foundation
import Glibc
import Logging
import ServiceLifecycle
import Testing

@testable import relayd

// The notifications systemd receives from relayd, and those withheld when the relay hangs.

@Suite("SystemdNotifier")
struct SystemdNotifierTests {
    private static let stopping =
        "STOPPING=1\nEXTEND_TIMEOUT_USEC=\(microseconds(StopTime()))\nSTATUS=ending sessions"

    private static func microseconds(_ time: StopTime) -> Int64 {
        time.needed.components.seconds * 1_000_000
    }

    private static let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

    /// An inbox of sent notifications that tests can wait for.
    private static func makeInbox() -> (AsyncStream<String>, @Sendable (String) -> Void) {
        let (stream, continuation) = AsyncStream<String>.makeStream()
        return (stream, { continuation.yield($0) })
    }

    private static func group(_ notifier: SystemdNotifier) -> ServiceGroup {
        ServiceGroup(configuration: .init(services: [notifier], logger: logger))
    }

    @Test("says ready, each new status once, and stopping", .timeLimit(.minutes(15)))
    func lifecycle() async throws {
        let (inbox, send) = Self.makeInbox()
        let notifier = SystemdNotifier(
            watchdog: nil, logger: Self.logger, send: send, isAlive: { true })
        let group = Self.group(notifier)
        async let ended: Void = group.run()
        notifier.ready(status: "waiting for the head unit")
        notifier.update(status: "waiting for the head unit")
        notifier.update(status: "connected")
        notifier.update(status: "connected")
        notifier.update(status: "app \"a\nREADY=0\"")
        var heard = inbox.makeAsyncIterator()
        #expect(await heard.next() == "READY=1\nSTATUS=waiting for the head unit")
        #expect(await heard.next() == "STATUS=connected")
        #expect(await heard.next() == "STATUS=app \"a\\nREADY=0\"")
        await group.triggerGracefulShutdown()
        #expect(await heard.next() == Self.stopping)
        try await ended
    }

    @Test("asks systemd for as much time as the longest farewell_timeout needs")
    func longStop() async throws {
        let (inbox, send) = Self.makeInbox()
        let time = StopTime { .seconds(60) }
        let notifier = SystemdNotifier(
            watchdog: nil, logger: Self.logger, stopTime: time, send: send, isAlive: { true })
        let group = Self.group(notifier)
        async let ended: Void = group.run()
        notifier.ready(status: "well")
        var heard = inbox.makeAsyncIterator()
        _ = await heard.next()
        await group.triggerGracefulShutdown()
        let wanted = Self.microseconds(time)
        #expect(wanted > 60_000_000)
        #expect(await heard.next()?.contains("\nEXTEND_TIMEOUT_USEC=\(wanted)\n") == true)
        try await ended
    }

    @Test("a refused reload stays in front of every status until one succeeds")
    func reload() async throws {
        let (inbox, send) = Self.makeInbox()
        let notifier = SystemdNotifier(
            watchdog: nil, logger: Self.logger, send: send, isAlive: { true })
        notifier.ready(status: "well")
        notifier.reloading()
        notifier.reloaded(note: "refused", status: "well")
        notifier.update(status: "better")
        notifier.reloaded(note: nil, status: "better")
        var heard = inbox.makeAsyncIterator()
        #expect(await heard.next() == "READY=1\nSTATUS=well")
        let reloading = await heard.next()?.split(separator: "\n") ?? []
        #expect(reloading.count == 3 && reloading.first == "RELOADING=1")
        #expect(reloading[1].wholeMatch(of: /MONOTONIC_USEC=\d+/) != nil)
        #expect(await heard.next() == "READY=1\nSTATUS=refused; well")
        #expect(await heard.next() == "STATUS=refused; better")
        #expect(await heard.next() == "READY=1\nSTATUS=better")
    }

    @Test("why relayd ends by itself is one line, with a count of the others")
    func failure() {
        var sent: [String] = []
        SystemdNotifier.failed("a: wrong\nb: wrong, too\n") { sent.append($0) }
        #expect(sent == ["STATUS=a: wrong (and 1 more, see the log)"])
    }

    @Test("feeds the watchdog only while the relay answers", .timeLimit(.minutes(15)))
    func watchdog() async throws {
        let (inbox, send) = Self.makeInbox()
        let asked = Collected<Int>()
        let notifier = SystemdNotifier(
            watchdog: .milliseconds(2), logger: Self.logger, send: send,
            isAlive: {
                let before = asked.values.count
                asked.add(before)
                // The relay does not answer the first three times.
                return before >= 3
            })
        let group = Self.group(notifier)
        async let ended: Void = group.run()
        var heard = inbox.makeAsyncIterator()
        #expect(await heard.next() == "WATCHDOG=1")
        #expect(asked.values.count >= 4)
        #expect(await heard.next() == "WATCHDOG=1")
        await group.triggerGracefulShutdown()
        var last = await heard.next()
        while last == "WATCHDOG=1" { last = await heard.next() }
        #expect(last == Self.stopping)
        try await ended
    }

    @Test("says stopping even while the relay hangs", .timeLimit(.minutes(15)))
    func hangingRelay() async throws {
        let (inbox, send) = Self.makeInbox()
        let (release, releaser) = AsyncStream<Void>.makeStream()
        let (asked, asker) = AsyncStream<Void>.makeStream()
        let notifier = SystemdNotifier(
            watchdog: .milliseconds(2), logger: Self.logger, send: send,
            isAlive: {
                asker.yield()
                for await _ in release {}
                return false
            })
        let group = Self.group(notifier)
        async let ended: Void = group.run()
        for await _ in asked { break }
        await group.triggerGracefulShutdown()
        var heard = inbox.makeAsyncIterator()
        #expect(await heard.next() == Self.stopping)
        releaser.finish()
        try await ended
    }

    @Test("libsystemd carries the words to NOTIFY_SOCKET, and knows the watchdog's interval")
    func realSocket() async {
        // In a process of its own: all tests of this process share the environment.
        await #expect(processExitsWith: .success) {
            try await ScratchDirectory.useAsync { directory in
                let path = directory + "/notify"
                let descriptor = try bindDatagramSocket(path)
                defer { close(descriptor) }
                setenv("NOTIFY_SOCKET", path, 1)
                setenv("WATCHDOG_USEC", "30000000", 1)
                setenv("WATCHDOG_PID", "\(getpid())", 1)
                #expect(SystemdNotifier.watchdogInterval() == .seconds(30))
                let notifier = SystemdNotifier(
                    logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
                    isAlive: { true })
                notifier.ready(status: "listening")
                #expect(await receive(descriptor) == "READY=1\nSTATUS=listening")
                let group = ServiceGroup(
                    configuration: .init(services: [notifier], logger: Logger(label: "test")))
                async let ended: Void = group.run()
                #expect(await receive(descriptor) == "WATCHDOG=1")
                await group.triggerGracefulShutdown()
                #expect(await receive(descriptor) == Self.stopping)
                try await ended

                setenv("WATCHDOG_PID", "1", 1)
                #expect(SystemdNotifier.watchdogInterval() == nil)
            }
        }
    }
}

/// A datagram socket at a path, as systemd has one.
private func bindDatagramSocket(_ path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    try #require(descriptor >= 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    try #require(result == 0)
    return descriptor
}

/// The next datagram as text. Waits on a thread of its own, because tests share few threads.
private func receive(_ descriptor: Int32) async -> String {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            continuation.resume(
                returning: String(decoding: buffer[..<max(0, count)], as: UTF8.self))
        }
    }
}
