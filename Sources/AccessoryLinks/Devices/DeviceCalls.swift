import Glibc
import NIOCore
import Synchronization

/// Hands out each device to one use after the other, and knows which devices relayd has open, is opening or is
/// closing.
///
/// open(2), close(2) and most requests to a tty wait for its driver: for output that the device does
/// not take (30 s at a close, the kernel's closing_wait), for a device that does not answer, for a
/// lock that a broken driver never gives back. So they run on a thread of the device's own, and
/// while one of them hangs the device is not touched again.
package final class DeviceCalls: Sendable {
    /// The devices of this process.
    package static let shared = DeviceCalls()

    /// The most devices whose calls may hang; each keeps a thread. At this number, no further device is opened.
    static let maximumHanging = 8

    /// How long a close may take before relayd goes on without it.
    static let closeLimit: TimeAmount = .seconds(1)

    /// A driver that waits for output is interrupted after this time. `TTYLinkHandler` has already waited for the
    /// output that the device would still take.
    static let interruptDelay: TimeAmount = .milliseconds(250)

    /// A system call that has not returned in time.
    package struct Hanging: Hashable, Sendable {
        /// "closing", "opening".
        package let call: String
        package let path: String
        package let since: ContinuousClock.Instant
    }

    /// The system's close(2); tests replace it with one that blocks.
    let close: @Sendable (CInt) -> Void
    private let uses = Mutex<[DeviceUse]>([])

    init(close: @escaping @Sendable (CInt) -> Void = { _ = Glibc.close($0) }) {
        self.close = close
    }

    /// Calls that have taken longer than they should, for the status.
    package var hanging: [Hanging] {
        uses.withLock { $0 }.compactMap { use in
            use.call.flatMap {
                $0.hangs ? Hanging(call: $0.name, path: use.path, since: $0.since) : nil
            }
        }
    }

    /// Reserves the device. Waits a moment for an earlier use that is just ending.
    func begin(_ path: String, on loop: any EventLoop) async throws(LinkProblem) -> DeviceUse {
        let identity = Self.identity(of: path)
        if let earlier = leaving(identity) {
            await Self.wait(for: earlier.ended, atMost: Self.closeLimit, on: loop)
            if Task.isCancelled {
                throw LinkProblem(.closedHere, "relayd stopped opening \(path)")
            }
            if let earlier = leaving(identity) { throw Self.problem(path, earlier.call) }
        }
        let use = try DeviceUse(path: path, identity: identity, on: loop) { [weak self] ended in
            self?.uses.withLock { uses in uses.removeAll { $0 === ended } }
        }
        let isAllowed = uses.withLock { uses in
            guard uses.count(where: \.isLeaving) < Self.maximumHanging else { return false }
            uses.append(use)
            return true
        }
        guard isAllowed else {
            use.end()
            throw LinkProblem(
                .busy,
                "calls to \(Self.maximumHanging) other devices hang in their drivers",
                remedy: "unplug the devices that hang; if that does not help, restart the machine")
        }
        return use
    }

    /// An earlier use that still holds the device although it is no longer wanted.
    private func leaving(_ identity: String) -> DeviceUse? {
        uses.withLock { uses in uses.first { $0.identity == identity && $0.isLeaving } }
    }

    private static func problem(_ path: String, _ call: DeviceUse.Call?) -> LinkProblem {
        if call?.name == DeviceUse.closing {
            return LinkProblem(
                .busy,
                "\(path) is still being closed: its driver waits for output that the device does "
                    + "not take, or hangs",
                remedy: "wait for it, up to 30 s, or unplug the device")
        }
        return LinkProblem(
            .busy, "an earlier attempt to open \(path) has not returned: its driver hangs",
            remedy: "unplug the device; if that does not help, restart the machine")
    }

    /// The node behind symbolic links; the path itself if nothing exists there.
    private static func identity(of path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func wait(
        for future: EventLoopFuture<Void>, atMost limit: TimeAmount, on loop: any EventLoop
    ) async {
        let over = loop.makePromise(of: Void.self)
        future.cascade(to: over)
        let timeout = loop.scheduleTask(in: limit) { over.succeed() }
        await withTaskCancellationHandler {
            _ = await over.futureResult.outcome()
        } onCancel: {
            over.succeed()
        }
        timeout.cancel()
    }
}
