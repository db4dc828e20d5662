package import Logging
package import NIOCore

/// The hub: connects one link with its apps. An accessory language decides what passes between them.
/// Everything here is called on `loop`.
///
/// A read of the link or of an app begins here, goes through the language, which decides and writes, and ends
/// here: `endRead` flushes once per app and hands on the tap's batch. What apps' reads brought for the link
/// is sent once per turn of the loop. All of it runs on the one event loop of the link and its apps.
package final class Switchboard {
    package let loop: any EventLoop
    package private(set) var configuration: RelayConfiguration
    /// The moment of the current read.
    package var now: NIODeadline
    package private(set) var time = WallTime.now()
    package let tap: FrameTap
    package let reporter: HubReporter
    package let logger: Logger
    /// Who may connect.
    private(set) lazy var gate = AppGate(hub: self, configuration: configuration, logger: logger)
    let appOutput = AppOutput()
    private let makeLanguage: (Switchboard) -> any AccessoryLanguage
    private(set) lazy var language = makeLanguage(self)

    package private(set) var accessoryAddress: String
    private var connection: LinkConnection?
    package var link = LinkRecord()
    private(set) var apps: [AppID: AppConnection] = [:]
    private(set) var departures: [RelaySnapshot.Departure] = []
    var wakeUp: (at: NIODeadline, task: Scheduled<Void>)?
    private var whenAllIsSaid: [() -> Void] = []
    /// Keeps this object alive while a flush of the link is due. Not a weak reference, here or elsewhere:
    /// once there is one, every strong reference taken on a frame's way is much slower.
    private var flushing: Switchboard?
    private lazy var linkFlush: () -> Void = { [unowned self] in
        guard let hub = flushing.take() else { return }
        hub.language.flushLink()
    }
    /// The address of the page for browsers, for those who look for it on the apps' port.
    var dashboardURL: String?

    /// Departures remembered for status.
    static let departureCount = 8

    init(
        loop: any EventLoop, configuration: RelayConfiguration, accessoryAddress: String,
        tapQueue: TapQueue, logger: Logger,
        language: @escaping (Switchboard) -> any AccessoryLanguage = { SDLLanguage($0) }
    ) {
        self.loop = loop
        now = loop.now
        self.accessoryAddress = accessoryAddress
        self.configuration = configuration
        self.logger = logger
        makeLanguage = language
        tap = FrameTap(queue: tapQueue, loop: loop)
        reporter = HubReporter(tap: tap, logger: logger)
    }

    /// Applies from here on. What an app or the link got on connecting stays: its frame rate, and the largest
    /// frame.
    func reconfigure(_ configuration: RelayConfiguration, accessoryAddress: String) {
        self.configuration = configuration
        if accessoryAddress != self.accessoryAddress {
            // Another head unit has a name of its own.
            (link.make, link.model) = (nil, nil)
        }
        self.accessoryAddress = accessoryAddress
        gate.reconfigure(configuration)
        language.reconfigure(configuration)
    }

    // MARK: - Reads

    /// Reads the clocks once for all units of a read.
    package func beginRead() {
        now = loop.now
        time = .now()
    }

    /// Ends a read whose results are all written: flushes, then lets the observers see it.
    package func endRead() {
        language.flushLink()
        finishRead()
    }

    /// Ends the read of an app. The few bytes it brought for the link are sent at the end of the loop's turn,
    /// with those of other apps: where many apps share a link, a write for each of them costs more than
    /// everything else on the way.
    func endAppRead() {
        if language.unflushedLinkBytes < Self.mostGatheredBytes {
            flushLinkLater()
        } else {
            language.flushLink()
        }
        finishRead()
    }

    /// Most bytes gathered for the link: beyond this, a write costs little compared with what it carries.
    static let mostGatheredBytes = 16 << 10

    private func flushLinkLater() {
        guard flushing == nil, language.unflushedLinkBytes > 0 else { return }
        flushing = self
        // Runs after the sockets of this turn. Made once: a new closure each time would be an allocation.
        loop.assumeIsolated().execute(linkFlush)
    }

    private func finishRead() {
        appOutput.flush { language.blocked($0) }
        language.readIsOver()
        tap.endRead()
        scheduleWakeUp()
        finishIfAllIsSaid()
    }

    /// Carries out what was decided outside of a read, as a read's end would.
    package func settle() {
        language.flushLink()
        appOutput.flush { language.blocked($0) }
        tap.endRead()
        scheduleWakeUp()
    }

    /// Sends a whole unit to an app; flushed at the end of the read.
    @inline(__always)
    package func send(_ unit: ByteBuffer, to app: AppConnection) {
        appOutput.send(unit, to: app)
    }

    // MARK: - Time

    /// Sets the one timer for everything that has a deadline; no timer when nothing has.
    package func scheduleWakeUp() {
        guard let next = language.nextDeadline else {
            wakeUp?.task.cancel()
            wakeUp = nil
            return
        }
        if let wakeUp, wakeUp.at <= next { return }
        wakeUp?.task.cancel()
        let task = loop.assumeIsolated().scheduleTask(deadline: next) { self.wokenUp() }
        wakeUp = (next, task)
    }

    private func wokenUp() {
        wakeUp = nil
        beginRead()
        language.advance()
        endRead()
    }

    // MARK: - The link comes and goes

    func linkOpened(_ connection: LinkConnection) -> any LinkReader {
        beginRead()
        self.connection = connection
        link.openedCount += 1
        link.openedAt = time
        link.recognised = nil
        tap.record(
            .linkOpened(number: link.openedCount, address: accessoryAddress, time: time))
        let reader = language.linkOpened(connection)
        endRead()
        return reader
    }

    /// - Parameter isLost: Whether the link ended without relayd ending it.
    func linkClosed(_ connection: LinkConnection, reason: String, isLost: Bool) {
        guard self.connection === connection else { return }
        beginRead()
        self.connection = nil
        language.linkClosed(because: reason)
        tap.record(.linkClosed(reason: reason, time: time))
        // What the apps are holding back is for the next link.
        for app in apps.values { app.resume(.link) }
        endRead()
        if isLost { reporter.linkLost(reason) }
        finishIfAllIsSaid()
    }

    func linkTookAll() { language.linkTookAll() }

    var isLinkUp: Bool { connection != nil }
    var isLinkHeld: Bool { language.isLinkHeld || tap.isHolding }

    /// Reads the link again when it need not wait any more, and sets the deadline of what holds it.
    package func linkHoldChanged() {
        if !isLinkHeld { connection?.resumeReading() }
        scheduleWakeUp()
    }

    func reopenLink(reason: String) {
        connection?.willClose(because: reason)
        connection?.close(reason)
    }

    func linkWillClose(because reason: String) {
        connection?.willClose(because: reason)
    }

    // MARK: - Apps come and go

    func connected(_ app: AppConnection) -> any AppReader {
        beginRead()
        apps[app.id] = app
        tap.record(.appConnected(app.id, peer: app.peer, time: time))
        reporter.connected(app, called: language.clientName)
        let reader = language.connected(app)
        if tap.isHolding { app.pause(.tap) }
        endAppRead()
        return reader
    }

    /// - Parameter reason: Nil when the app closed the connection itself.
    func disconnected(_ app: AppConnection, _ reason: CloseReason?) {
        beginRead()
        guard apps.removeValue(forKey: app.id) != nil else { return }
        let leaving = language.disconnected(app)
        let reason = reason ?? .left(leaving)
        endRead()
        tap.record(
            .appClosed(app.id, reason: reason.words(of: language.clientName), time: time))
        departures.append(
            .init(id: app.id, peer: app.peer, closedAt: time, reason: reason))
        if departures.count > Self.departureCount { departures.removeFirst() }
        reporter.closed(app, reason, called: language.clientName)
        finishIfAllIsSaid()
    }

    /// The app's socket takes bytes again, or nothing waits for it any more.
    func tookAll(_ app: AppConnection) { language.tookAll(app) }

    package func close(_ app: AppConnection, _ reason: CloseReason) {
        app.lastProblem = reason.words(of: language.clientName)
        app.close(reason)
    }

    /// Closes an app that has not sent a single unit within `timeout` of connecting.
    func silent(_ app: AppConnection, for timeout: TimeAmount) {
        countHit(of: .silentTimeout, at: .now())
        close(app, .silent(timeout))
    }

    /// Ends the app's sessions on both sides and closes its connection; false when it is not there or is
    /// closing already.
    func disconnect(_ id: AppID, because reason: CloseReason) -> Bool {
        guard let app = apps[id], app.closeReason == nil else { return false }
        beginRead()
        language.leave(app)
        endRead()
        close(app, reason)
        return true
    }

    /// - Parameter moment: When it happened; nil means the time of the current read.
    package func countHit(of limit: RelayLimit, at moment: WallTime? = nil) {
        reporter.countHit(of: limit, at: moment ?? time)
    }

    // MARK: - The end

    /// Ends all sessions and closes the apps; calls `done` when the accessory has confirmed and the apps have
    /// hung up.
    func shutDown(done: @escaping () -> Void) {
        gate.close()
        beginRead()
        language.leaveAll()
        endRead()
        for app in apps.values { close(app, .shutdown) }
        guard !hasSaidAll else { return done() }
        whenAllIsSaid.append(done)
    }

    /// Completes a pending shutdown when all is said; to be called whenever that may have become true.
    package func finishIfAllIsSaid() {
        guard !whenAllIsSaid.isEmpty, hasSaidAll else { return }
        let waiting = whenAllIsSaid
        whenAllIsSaid = []
        for action in waiting { action() }
    }

    /// Whether the accessory has confirmed the end of all sessions and the apps have hung up.
    private var hasSaidAll: Bool { (!isLinkUp || language.isAllSaid) && gate.isEmpty }

    // MARK: - Sinks of the tap

    /// Adds a sink, and first tells it who is connected.
    func attach(_ queue: TapQueue, _ policy: TapPolicy) {
        // Only once there is a sink: see `flushing`.
        tap.holdChanged = { [weak self] in self?.tapHoldChanged() }
        var news: [TapItem] = []
        if isLinkUp {
            news.append(
                .linkOpened(
                    number: link.openedCount, address: accessoryAddress, time: link.openedAt))
        }
        news += apps.values.sorted { $0.id < $1.id }
            .map { .appConnected($0.id, peer: $0.peer, time: $0.connectedAt) }
        tap.attach(queue, policy, news: news)
    }

    /// While a sink that may miss nothing cannot keep up, nobody is read and nothing is streamed.
    private func tapHoldChanged() {
        if tap.isHolding {
            for app in apps.values { app.pause(.tap) }
        } else {
            linkHoldChanged()
            // What one of the apps has held back may fill the queue again.
            for app in apps.values where !tap.isHolding { app.resume(.tap) }
            language.tapHasRoom()
        }
    }
}
