import Dispatch
import Glibc
import Synchronization

/// Catches signals that would end the process, and calls a function on a thread of libdispatch instead. A
/// second signal with the same number ends the process. Only one object of this type may be in use at a time.
///
/// The signal handler writes to a pipe. A signal source of libdispatch needs the signal to be ignored, so a
/// signal that arrives before the source is registered would be lost.
final class CaughtSignals {
    private let numbers: [Int32]
    private let received: @Sendable (Int32) -> Void
    private var source: (any DispatchSourceRead)?

    /// The end of the pipe that the signal handler writes to. In Swift, a signal handler may read only an
    /// atomic.
    private static let writeEnd = Atomic<Int32>(-1)
    /// The end of the pipe that is read; nil if no descriptor was left. Never closed, because a handler may
    /// still be running.
    private static let readEnd: Int32? = {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // Neither the handler nor the reader may block.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        writeEnd.store(ends[1], ordering: .releasing)
        return ends[0]
    }()

    /// Catches from here on. Without a free descriptor the signals end the process as usual.
    init(_ numbers: [Int32], received: @escaping @Sendable (Int32) -> Void) {
        self.numbers = numbers
        self.received = received
        guard let end = Self.readEnd else { return }
        let source = DispatchSource.makeReadSource(fileDescriptor: end)
        source.setEventHandler { Self.take(from: end, received) }
        source.activate()
        self.source = source
        for number in numbers { signal(number, Self.handler) }
    }

    /// Restores the default behaviour. A signal that came just before is still received, in this call.
    func end() {
        for number in numbers { signal(number, SIG_DFL) }
        source?.cancel()
        if let end = Self.readEnd { Self.take(from: end, received) }
    }

    /// Reads once: a source that is being cancelled must not take what is meant for the next one. Each signal
    /// is received once, also if it came twice in a row, as timeout(1) sends it.
    private static func take(from end: Int32, _ received: (Int32) -> Void) {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(end, &bytes, bytes.count)
        for number in Set(bytes.prefix(max(0, count)).map(Int32.init)) {
            signal(number, SIG_DFL)
            received(number)
        }
    }

    /// Makes only calls that are allowed in a signal handler (signal-safety(7)).
    private static let handler: @convention(c) (Int32) -> Void = { number in
        let error = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(CaughtSignals.writeEnd.load(ordering: .acquiring), &byte, 1)
        errno = error
    }
}
