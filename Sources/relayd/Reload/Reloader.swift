import ControlAPI
import Logging
import ServiceLifecycle

/// Keeps the running configuration, and rereads it on SIGHUP and POST /v1/reload; one reload at a
/// time.
///
/// A configuration that cannot be read, or cannot be applied, is refused as a whole: the old one
/// stays, and the reason is shown in the log and in systemd's status line until one is accepted.
actor Reloader: Service {
    typealias Load = @Sendable () throws -> EffectiveConfig
    /// Carries out a plan; an error refuses the configuration.
    typealias Apply = @Sendable (ReloadPlan) async throws -> Void

    private var running: EffectiveConfig
    private let load: Load
    private let apply: Apply
    private let systemd: SystemdNotifier
    private let status: @Sendable () async -> String?
    private let refused: @Sendable (String?) -> Void
    private let logger: Logger
    private let requests: AsyncStream<Void>
    private let requested: AsyncStream<Void>.Continuation
    private var isReloading = false
    /// A signal came during a reload, which may have read the file before its last change.
    private var isWantedAgain = false

    /// - Parameters:
    ///   - status: the status line once the reload is over.
    ///   - refused: called with the reason if a configuration is refused, and with nil if one is
    ///     accepted.
    init(
        running: EffectiveConfig, load: @escaping Load, systemd: SystemdNotifier, logger: Logger,
        status: @escaping @Sendable () async -> String?,
        refused: @escaping @Sendable (String?) -> Void, apply: @escaping Apply
    ) {
        self.running = running
        self.load = load
        self.apply = apply
        self.systemd = systemd
        self.status = status
        self.refused = refused
        self.logger = logger
        // Requests during a reload lead to one more reload.
        (requests, requested) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    nonisolated func request() {
        requested.yield()
    }

    nonisolated func run() async {
        // Not `cancelOnGracefulShutdown()`, whose unstructured tasks leave `LoopExecutor`.
        await withGracefulShutdownHandler {
            for await _ in requests { await serveRequest() }
        } onGracefulShutdown: {
            self.requested.finish()
        }
    }

    private func serveRequest() async {
        if isReloading {
            isWantedAgain = true
        } else {
            // Errors are in the log, the only possible answer to a signal.
            _ = try? await reload()
        }
    }

    /// Reads the configuration and applies it.
    ///
    /// - Throws: `APIError` with all problems of the configuration.
    func reload() async throws -> ReloadReport {
        guard !isReloading else {
            throw APIError(.conflict, "the configuration is being read already; try again")
        }
        isReloading = true
        defer {
            isReloading = false
            if isWantedAgain { requested.yield() }
            isWantedAgain = false
        }
        systemd.reloading()
        do {
            let plan = ReloadPlan(from: running, to: try load())
            try await apply(plan)
            running = plan.effective
            refused(nil)
            if plan.needingRestart.isEmpty {
                logger.notice("configuration reloaded: \(plan.summary())")
            } else {
                logger.warning("configuration reloaded: \(plan.summary())")
            }
            systemd.reloaded(note: nil, status: await status())
            return plan.report
        } catch {
            logger.error("configuration refused, the old one stays: \(error)")
            let first = "\(error)".split(separator: "\n").first.map(String.init) ?? "\(error)"
            refused(first)
            systemd.reloaded(
                note: "configuration refused, the old one stays: \(first)", status: await status())
            throw APIError(
                error is ConfigErrors ? .badRequest : .conflict,
                "configuration refused, the old one stays: \(error)")
        }
    }
}
