import ControlAPI
import SDLProtocol
import SDLTraffic
import ServiceLifecycle

/// Keeps the status line of `systemctl status relayd` up to date, without a timer: sends the
/// summary to systemd whenever it may have changed.
///
/// Woken by the link supervisor and, as a consumer of decoded traffic, by apps that connect, leave
/// and register; asleep otherwise.
struct StatusLine: Service, TrafficConsumer {
    private let reporter: StatusReporter
    private let systemd: SystemdNotifier
    private let changes: AsyncStream<Void>
    private let changed: AsyncStream<Void>.Continuation

    init(reporter: StatusReporter, systemd: SystemdNotifier) {
        self.reporter = reporter
        self.systemd = systemd
        // One pending change is enough: the summary is read when it is handled.
        (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func refresh() {
        changed.yield()
    }

    func consume(_ entries: [TrafficEntry]) {
        if entries.contains(where: \.mayChangeSummary) { refresh() }
    }

    func run() async throws {
        // Not `cancelOnGracefulShutdown()`, whose unstructured tasks leave `LoopExecutor`.
        await withGracefulShutdownHandler {
            for await _ in changes {
                guard let snapshot = try? await reporter.snapshot() else { return }
                systemd.update(status: snapshot.summary)
            }
        } onGracefulShutdown: {
            changed.finish()
        }
    }
}

extension TrafficEntry {
    fileprivate var mayChangeSummary: Bool {
        switch content {
        case .event, .control: true
        case .rpc(let rpc):
            switch rpc.message.functionID {
            case .registerAppInterface, .unregisterAppInterface, .onAppInterfaceUnregistered: true
            default: false
            }
        default: false
        }
    }
}
