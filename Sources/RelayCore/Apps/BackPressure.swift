import NIOCore

/// Handles apps that read too slowly: carries out what `SlowAppPolicy` decides about them, and tells whether
/// the link has to wait. Everything here is called on the hub's loop.
final class BackPressure {
    private unowned let hub: Switchboard
    private var flow: SlowAppPolicy<AppConnection>

    init(hub: Switchboard) {
        self.hub = hub
        let configuration = hub.configuration
        flow = SlowAppPolicy(
            grace: configuration.stallGrace, queueLimit: configuration.appQueueBytes,
            whenSlow: configuration.whenSlow)
    }

    func reconfigure(_ configuration: RelayConfiguration) {
        flow.reconfigure(
            grace: configuration.stallGrace, queueLimit: configuration.appQueueBytes,
            whenSlow: configuration.whenSlow)
    }

    var isLinkHeld: Bool { flow.isLinkHeld }

    /// When to call `advance`; nil while the link is not held.
    var nextDeadline: NIODeadline? { flow.nextDeadline }

    /// The app's socket takes no more although everything has been flushed.
    func blocked(_ app: AppConnection) {
        let wasHeld = flow.isLinkHeld
        let verdict = change {
            $0.blocked(app, app.readingProgress, isAlone: isOneApp, at: hub.now)
        }
        switch verdict {
        case .go: break
        case .hold: if !wasHeld { hub.countHit(of: .stallGrace) }
        case .dropStuck, .dropBehind: drop(app, verdict)
        }
    }

    /// The app's socket takes bytes again, or the app is gone.
    func drained(_ app: AppConnection, at now: NIODeadline) {
        change { $0.drained(app, isAlone: isOneApp, at: now) }
    }

    /// Polls the apps that the link is held for.
    func advance(to now: NIODeadline) {
        let late = change {
            $0.isLinkHeld
                ? $0.advance(to: now, isAlone: isOneApp, progress: { $0.readingProgress }) : []
        }
        for (app, verdict) in late { drop(app, verdict) }
    }

    /// Whether there is only one app, so that nobody else has to wait because of it.
    private var isOneApp: Bool { hub.apps.count == 1 }

    private func change<Result>(_ change: (inout SlowAppPolicy<AppConnection>) -> Result) -> Result
    {
        let result = change(&flow)
        hub.linkHoldChanged()
        return result
    }

    private func drop(_ app: AppConnection, _ verdict: SlowAppPolicy<AppConnection>.Verdict) {
        let isBehind = verdict == .dropBehind
        hub.close(app, hub.reporter.droppedForSlowness(app, isBehind: isBehind, at: hub.time))
    }
}
