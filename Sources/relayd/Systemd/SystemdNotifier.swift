internal import CSystemd
internal import Glibc
package import Logging
internal import NIOCore
internal import NIOPosix
internal import SDLTraffic
internal import ServiceLifecycle
internal import Synchronization

/// relayd's notifications to systemd: ready, status, stopping, alive (sd_notify(3)). `Daemon`
/// creates one and puts it last in its `ServiceGroup`, so that it learns of a shutdown first. Does
/// nothing if there is no service manager.
package final class SystemdNotifier: Service {
    /// How long systemd waits for a sign of life; `nil` when it does not.
    private let watchdog: Duration?
    private let isAlive: @Sendable () async -> Bool
    private let send: @Sendable (String) -> Void
    private let stopTime: StopTime
    private let logger: Logger
    /// Sends datagrams in order: sending may block while systemd is busy, and the event loop must
    /// not.
    private let thread = SerialThread(named: "systemd")
    private let lastStatus = Mutex("")
    /// Precedes every status until a reload succeeds.
    private let note = Mutex<String?>(nil)

    /// - Parameters:
    ///   - watchdog: how long systemd waits for a sign of life; `nil` when it does not.
    ///   - isAlive: checks everything that must work for relayd to be of use, above all its event
    ///     loop. Until it returns `true`, systemd gets no sign of life.
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

    /// How long systemd waits for a sign of life from this process; `nil` when it does not.
    package static func watchdogInterval() -> Duration? {
        var microseconds: UInt64 = 0
        let isEnabled = sd_watchdog_enabled(0, &microseconds) > 0
        return isEnabled && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Says that relayd is ready; call this once everything listens.
    package func ready(status: String) {
        notify("READY=1\nSTATUS=\(remember(status))")
    }

    /// Changes the line that `systemctl status` shows. Cheap if unchanged.
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
    ///   - note: text to show before the status from now on; nil if all is well.
    ///   - status: nil keeps the previous one.
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
                // Throws only when cancelled, which also ends this service.
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

    /// Waits until all notifications so far have left the process.
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

    /// A notification consists of `NAME=value` lines; a status may contain an app's name, which may
    /// contain anything.
    private static func oneLine(_ status: String) -> String {
        LogText.oneLine(status)
    }
}
