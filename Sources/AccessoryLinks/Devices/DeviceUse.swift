import Glibc
import Logging
import NIOCore
import Synchronization

/// One use of a device, from before it is opened until its close has returned, call by call, with the thread that
/// runs the calls. `DeviceCalls` hands it out; `TTY` ends it.
///
/// The thread exists before the device is open, so that a close always has one.
final class DeviceUse: Sendable {
    /// A call that has not returned yet.
    struct Call: Hashable, Sendable {
        /// "opening", "closing".
        let name: String
        let since: ContinuousClock.Instant
        /// The call takes longer than it should.
        var hangs = false
    }

    let path: String
    /// The same for all names of a device.
    let identity: String
    /// Succeeds when the device has been released.
    let ended: EventLoopFuture<Void>
    /// Succeeds when the device has been released, or when releasing it takes too long.
    let freed: EventLoopFuture<Void>
    private let ending: EventLoopPromise<Void>
    private let freeing: EventLoopPromise<Void>
    private let thread: DeviceThread
    private let loop: any EventLoop
    private let current = Mutex<Call?>(nil)
    private let abandoned = Atomic(false)
    private let over = Atomic(false)
    private let onEnd: @Sendable (DeviceUse) -> Void

    private static let logger = Logger(label: "link")

    init(
        path: String, identity: String, on loop: any EventLoop,
        onEnd: @escaping @Sendable (DeviceUse) -> Void
    ) throws(LinkProblem) {
        thread = try DeviceThread()
        self.path = path
        self.identity = identity
        self.loop = loop
        self.onEnd = onEnd
        ending = loop.makePromise()
        ended = ending.futureResult
        freeing = loop.makePromise()
        freed = freeing.futureResult
    }

    var call: Call? { current.withLock { $0 } }

    /// Whether the device is no longer wanted but not free yet.
    var isLeaving: Bool {
        guard let call else { return false }
        return call.hangs || isAbandoned || call.name == Self.closing
    }

    static let closing = "closing"

    /// The device is no longer waited for: an attempt to open it may stop.
    var isAbandoned: Bool { abandoned.load(ordering: .acquiring) }

    /// Runs a call that may block on the device's thread.
    ///
    /// - Parameter limit: How long it may take before it counts as hanging.
    /// - Returns: The call's result; nil when it hangs, or when the task was cancelled. Then the call goes on by
    ///   itself, with `isAbandoned` set, and its result is dropped.
    func perform<Value: Sendable>(
        _ name: String, within limit: TimeAmount, _ body: @escaping @Sendable () -> Value
    ) async -> Value? {
        let result = loop.makePromise(of: Value?.self)
        run(name, within: limit) { returned in
            let value = body()
            returned()
            result.succeed(value)
        } onHang: {
            self.abandoned.store(true, ordering: .releasing)
            result.succeed(nil)
        }
        return await withTaskCancellationHandler {
            (try? await result.futureResult.get()).flatMap { $0 }
        } onCancel: {
            self.abandoned.store(true, ordering: .releasing)
            result.succeed(nil)
        }
    }

    /// The same without waiting for the call.
    ///
    /// - Parameters:
    ///   - body: calls `returned` before it passes its result on.
    ///   - onHang: called on the loop.
    func run(
        _ name: String, within limit: TimeAmount,
        _ body: @escaping @Sendable (_ returned: () -> Void) -> Void,
        onHang: @escaping @Sendable () -> Void = {}
    ) {
        let call = Call(name: name, since: .now)
        current.withLock { $0 = call }
        let alarm = loop.scheduleTask(in: limit) {
            guard self.startHanging(call) else { return }
            Self.logger.warning(
                """
                \(name) \(self.path) has taken \(limit.nanoseconds / 1_000_000_000) s: its driver \
                waits for the device, or hangs; everything else goes on
                """)
            onHang()
        }
        thread.run {
            body {
                // Before the result is passed on: the loop may end with the last device.
                alarm.cancel()
                self.returned(call)
            }
        }
    }

    /// Releases the device. A driver that waits meanwhile is interrupted until it returns.
    func close(_ body: @escaping @Sendable () -> Void) {
        run(Self.closing, within: DeviceCalls.closeLimit) { returned in
            body()
            returned()
            self.end()
        } onHang: { [freeing] in
            freeing.succeed()
        }
        interrupt()
    }

    private func interrupt() {
        loop.scheduleTask(in: DeviceCalls.interruptDelay) { [weak self] in
            guard let self, !self.over.load(ordering: .acquiring) else { return }
            self.thread.interrupt()
            self.interrupt()
        }
    }

    /// The device is free: released, or never opened.
    func end() {
        guard !over.exchange(true, ordering: .acquiringAndReleasing) else { return }
        thread.finish()
        onEnd(self)
        ending.succeed()
        freeing.succeed()
    }

    private func startHanging(_ call: Call) -> Bool {
        current.withLock { current in
            guard current == call else { return false }
            current?.hangs = true
            return true
        }
    }

    private func returned(_ call: Call) {
        let hung = current.withLock { current in
            // The body may have begun another one.
            guard let running = current, running.since == call.since, running.name == call.name
            else { return false }
            current = nil
            return running.hangs
        }
        guard hung else { return }
        let seconds = (ContinuousClock.now - call.since).components.seconds
        Self.logger.info("\(call.name) \(path) has returned after \(seconds) s")
    }
}
