import Logging

/// Reports for `LinkSupervisor`: every reason to the log once, every state to the status page.
struct LinkReport {
    /// Reasons remembered before the list starts afresh; messages can name process numbers and so
    /// differ without end.
    private static let maximumReasons = 16

    private let address: AccessoryAddress
    private let logger: Logger
    private let onStateChange: @Sendable (ConnectionState) -> Void
    /// Logged since the link was last open and stable: neither retries nor flapping fill the log.
    private var logged: Set<String> = []
    private var waitingSince: ContinuousClock.Instant?
    /// What the status page was told last, and when: attempts may follow each other quickly.
    private var told: (reason: LinkProblem, at: ContinuousClock.Instant)?

    /// How often a new number of attempts alone is reported while more follow at the quick pace.
    private static let newsInterval: Duration = .seconds(1)

    init(
        address: AccessoryAddress, logger: Logger,
        onStateChange: @escaping @Sendable (ConnectionState) -> Void
    ) {
        self.address = address
        self.logger = logger
        self.onStateChange = onStateChange
    }

    func opening() {
        onStateChange(.opening)
    }

    mutating func listening(at place: String) {
        waitingSince = nil
        told = nil
        onStateChange(.listening(at: place, since: .now))
        if remember("listening at \(place)") { logger.info("listening: \(address) at \(place)") }
    }

    mutating func opened(at now: ContinuousClock.Instant) {
        waitingSince = nil
        told = nil
        onStateChange(.open(since: now))
        if remember("open") { logger.info("open: \(address)") }
    }

    /// Opening failed.
    mutating func waiting(_ problem: LinkProblem, attempts: Int, isQuick: Bool = false) {
        let since = waitingSince ?? .now
        waitingSince = since
        let now = ContinuousClock.now
        defer { log(problem, "waiting") }
        if isQuick, let told, told.reason == problem, now - told.at < Self.newsInterval { return }
        told = (problem, now)
        onStateChange(.waiting(reason: problem, since: since, attempts: attempts))
    }

    /// The device has just appeared, and udev sets its permissions a moment later: nothing to warn
    /// of yet.
    mutating func settling(_ problem: LinkProblem, attempts: Int) {
        let since = waitingSince ?? .now
        waitingSince = since
        told = nil
        logger.debug("waiting, since the device has just appeared: \(problem)")
        onStateChange(
            .waiting(
                reason: LinkProblem(
                    problem.code, "the device has just appeared, and may not be opened yet",
                    remedy: "relayd waits a moment for udev to set its permissions"),
                since: since, attempts: attempts))
    }

    mutating func ended(_ problem: LinkProblem, attempts: Int, wasStable: Bool) {
        if wasStable { logged.removeAll() }
        let since = ContinuousClock.now
        waitingSince = since
        told = nil
        log(problem, "lost")
        onStateChange(.waiting(reason: problem, since: since, attempts: attempts))
    }

    /// A reopen was requested: reasons that were logged before are logged again.
    mutating func restart() {
        logged.removeAll()
        waitingSince = nil
        told = nil
    }

    mutating func cannotWatch(_ problem: LinkProblem) {
        log(problem, "device changes go unnoticed, trying once per second instead")
    }

    func closed() {
        onStateChange(.closed)
    }

    private mutating func log(_ problem: LinkProblem, _ event: String) {
        guard remember(problem.description) else { return }
        logger.log(
            level: problem.code == .closedHere ? .info : .warning,
            "\(event): \(problem)", metadata: ["reason": "\(problem.code.rawValue)"])
    }

    /// - Returns: Whether the reason had not been logged before.
    private mutating func remember(_ reason: String) -> Bool {
        if logged.count >= Self.maximumReasons { logged.removeAll() }
        return logged.insert(reason).inserted
    }
}
