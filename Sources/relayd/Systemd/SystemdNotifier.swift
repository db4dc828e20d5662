internal import CSystemd
internal import Glibc
package import Logging
internal import NIOCore
internal import NIOPosix
internal import SDLTraffic
internal import ServiceLifecycle
internal import Synchronization

/// relayd's word to systemd: ready, what it is doing, stopping, alive (sd_notify(3)). `Daemon`
/// makes one and puts it last in its `ServiceGroup`, so that it is the first to hear of a shutdown.
/// Does nothing when no service manager asks.
package final class SystemdNotifier: Service {
    /// How long systemd waits for a sign of life; `nil` when it does not.
    private let watchdog: Duration?
    private let isAlive: @Sendable () async -> Bool
    private let send: @Sendable (String) -> Void
    private let stopTime: StopTime
    private let logger: Logger
    /// Datagrams leave from here, in order: sending may block while systemd is busy, and the
    /// event loop must not.
    private let thread = SerialThread(named: "systemd")
    private let lastStatus = Mutex("")
    /// Stands before every status until a reload succeeds.
    private let note = Mutex<String?>(nil)

    /// - Parameters:
    ///   - watchdog: how long systemd waits for a sign of life; `nil` when it does not.
    ///   - isAlive: goes through whatever must work for relayd to be of use, its event loop
    ///     before all. Until it returns `true`, systemd hears nothing.
    ///   - stopTime: how long a stop may take.
    ///   - send: delivers one notification.
    package init(
        watchdog: Duration? = SystemdNotifier.watchdogInterval(),
        logger: Logger,
        stopTime: StopTime = StopTime(),
        send: @escaping @Sendable (String) -> Void = { sd_notify(0, $0) },
        isAlive: @escaping @Sendable () async -> Bool
    ) {
        self.watchdog = watchdog
        self.isAlive = isAlive
        self.stopTime = stopTime
        self.send = send
        self.logger = logger
    }

    /// How long systemd waits for a sign of life from this very process; `nil` when it does not.
    package static func watchdogInterval() -> Duration? {
        var microseconds: UInt64 = 0
        let isEnabled = sd_watchdog_enabled(0, &microseconds) > 0
        return isEnabled && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Says that relayd serves; to be called once everything listens.
    package func ready(status: String) {
        notify("READY=1\nSTATUS=\(remember(status))")
    }

    /// Changes the line that `systemctl status` shows. Cheap when it is the same as before.
    package func update(status: String) {
        let line = line(status)
        let isNew = lastStatus.withLock { last in
            defer { last = line }
            return last != line
        }
        if isNew { notify("STATUS=\(line)") }
    }

    /// Says that the configuration is being read again (sd_notify(3), "RELOADING=1").
    package func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000
        notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)\nSTATUS=reading the configuration")
    }

    /// Says that the reload is over.
    ///
    /// - Parameters:
    ///   - note: what stays to be said in front of the status; nil when all is well.
    ///   - status: nil leaves the one before.
    package func reloaded(note: String?, status: String?) {
        self.note.withLock { $0 = note }
        let status = status.map { remember($0) } ?? lastStatus.withLock { $0 }
        notify("READY=1\nSTATUS=\(status)")
    }

    /// Says why relayd ends by itself, before it does: systemctl status shows it afterwards.
    package static func failed(
        _ reason: String, send: (String) -> Void = { sd_notify(0, $0) }
    ) {
        let lines = reason.split(separator: "\n")
        let more = lines.count > 1 ? " (and \(lines.count - 1) more, see the log)" : ""
        send("STATUS=\(oneLine(lines.first.map(String.init) ?? reason))\(more)")
    }

    /// Feeds the watchdog until shutdown, and says that relayd is stopping as soon as that begins.
    package func run() async throws {
        await withGracefulShutdownHandler {
            if let watchdog {
                await feed(every: watchdog / 2)
            } else {
                // Throws only when cancelled, which ends us as well.
                try? await gracefulShutdown()
            }
        } onGracefulShutdown: {
            let time = self.stopTime.needed.components.seconds
            self.notify(
                "STOPPING=1\nEXTEND_TIMEOUT_USEC=\(time * 1_000_000)\n"
                    + "STATUS=\(self.remember("ending sessions"))")
        }
        await sent()
    }

    private func feed(every interval: Duration) async {
        let timers = MultiThreadedEventLoopGroup.singleton.next()
        let pause = Waiter()
        await withGracefulShutdownHandler {
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                if await isAlive() {
                    notify("WATCHDOG=1")
                } else {
                    logger.error("no watchdog signal for systemd: the relay does not answer")
                }
                // Not `Task.sleep`: it would start the system's thread pool (see `LoopExecutor`).
                let timer = timers.scheduleTask(in: TimeAmount(interval)) { pause.wake() }
                await pause.wait()
                timer.cancel()
            }
        } onGracefulShutdown: {
            pause.wake()
        }
    }

    /// Waits until everything said so far has left the process.
    private func sent() async {
        await withCheckedContinuation { continuation in
            thread.async { continuation.resume() }
        }
    }

    private func notify(_ text: String) {
        thread.async { [send] in send(text) }
    }

    private func remember(_ status: String) -> String {
        let line = line(status)
        lastStatus.withLock { $0 = line }
        return line
    }

    private func line(_ status: String) -> String {
        Self.oneLine(note.withLock { $0 }.map { "\($0); \(status)" } ?? status)
    }

    /// A notification is lines of `NAME=value`; a status may hold an app's name, and that anything.
    private static func oneLine(_ status: String) -> String {
        LogText.oneLine(status)
    }
}
