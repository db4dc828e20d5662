package import Logging

/// Logs what happens to apps and the link, for every accessory language, and keeps repetitions from filling
/// the log. Everything here is called on the hub's loop.
package final class HubReporter {
    private let tap: FrameTap
    package let logger: Logger
    private(set) var limits: [RelayLimit: LimitHits] = [:]
    /// Called when a limit is hit for the first time and then at every power of two.
    var onLimit: (@Sendable (RelayLimit, LimitHits) -> Void)?

    /// Called when an app leaves as if it had crashed, or the link ends without relayd ending it.
    var onLoss: (@Sendable (RelayLoss) -> Void)?

    init(tap: FrameTap, logger: Logger) {
        self.tap = tap
        self.logger = logger
    }

    /// Counts a hit of a limit, and reports it to `onLimit` while that is news.
    func countHit(of limit: RelayLimit, at time: WallTime) {
        var hits = limits[limit] ?? LimitHits()
        hits.add(at: time)
        limits[limit] = hits
        if Self.isWorthALine(hits.count) { onLimit?(limit, hits) }
    }

    /// True for the first time and then at every power of two: what has happened often will happen again.
    package static func isWorthALine(_ count: UInt64) -> Bool { count & (count - 1) == 0 }

    /// Shows the observers something about an app, or with nil about the accessory.
    package func notice(_ notice: RelayNotice, _ app: AppConnection?, at time: WallTime) {
        tap.record(.noticed(notice, app?.id, time: time))
    }

    /// Shows those who watch the traffic what has become of a session of an app that stays.
    package func tell(_ event: SessionEvent, of app: AppConnection, at time: WallTime) {
        tap.record(.session(event, app.id, time: time))
    }

    /// - Parameter name: What a client of this accessory is called.
    func connected(_ app: AppConnection, called name: String) {
        logger.debug("\(name) connected", metadata: ["app": "\(app.id)", "peer": "\(app.peer)"])
    }

    func linkLost(_ reason: String) { onLoss?(.link(reason: reason)) }

    /// - Parameter name: What a client of this accessory is called.
    func closed(_ app: AppConnection, _ reason: CloseReason, called name: String) {
        if reason.isCrash { onLoss?(.app(app.id, reason: "\(reason)")) }
        logger.log(
            level: reason.isToldElsewhere ? .debug : .warning,
            "\(name) closed: \(reason.words(of: name))\(reason.excerpt)",
            metadata: ["app": "\(app.id)", "peer": "\(app.peer)"])
    }

    /// - Returns: The reason to close the connection: the app reads too slowly.
    package func droppedForSlowness(
        _ app: AppConnection, isBehind: Bool, at time: WallTime
    ) -> CloseReason {
        let queued = app.queuedBytes
        countHit(of: .appQueue, at: time)
        notice(
            isBehind
                ? .fellBehind(queuedBytes: queued)
                : .stoppedReading(queuedBytes: queued, seconds: nil), app, at: time)
        return isBehind ? .fellBehind(queuedBytes: queued) : .tooSlow(queuedBytes: queued)
    }
}
