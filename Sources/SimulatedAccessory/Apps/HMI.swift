// Who is on the screen: HMI levels, activation in place of a user, OnHMIStatus.

package import NIOCore
package import SDLProtocol

extension SimulatedAccessory {
    /// Puts the app of a session on the screen, as a user who picks it would.
    package mutating func activate(session id: UInt8, at now: NIODeadline) -> [Frame] {
        self.now = now
        bringToFront(id)
        return advance(to: now)
    }

    mutating func activateDueApps() {
        let due = sessions.values.compactMap { session in
            session.app?.activationDue.map { (due: $0, id: session.id) }
        }
        for (_, id) in due.filter({ $0.due <= now }).sorted(by: { $0 < $1 }) { bringToFront(id) }
    }

    private mutating func bringToFront(_ id: UInt8) {
        guard sessions[id]?.app != nil else { return }
        sessions[id]?.app?.activationDue = nil
        for other in sessionIDs where other != id && sessions[other]?.app?.hmiLevel == .full {
            setHMILevel(.background, of: other)
        }
        setHMILevel(.full, of: id)
    }

    mutating func setHMILevel(_ level: HMILevel, of id: UInt8) {
        guard let app = sessions[id]?.app, app.hmiLevel != level else { return }
        sessions[id]?.app?.hmiLevel = level
        notifyHMIStatus(of: id)
    }

    /// - Parameter systemContext: ALERT while an alert covers the app, else MAIN.
    mutating func notifyHMIStatus(of id: UInt8, systemContext: String = "MAIN") {
        guard let app = sessions[id]?.app else { return }
        let isVisible = app.hmiLevel == .full || app.hmiLevel == .limited
        var status: JSON = [
            "hmiLevel": .string(app.hmiLevel.rawValue),
            "audioStreamingState": isVisible && app.isAudible ? "AUDIBLE" : "NOT_AUDIBLE",
            "systemContext": .string(systemContext),
        ]
        if app.rpcVersion.major >= 5 {
            let isStreamable = isVisible && app.isStreamable
            status = status.merging([
                "videoStreamingState": isStreamable ? "STREAMABLE" : "NOT_STREAMABLE"
            ])
        }
        if app.rpcVersion.major >= 6 { status = status.merging(["windowID": 0]) }
        notify(.onHMIStatus, status, to: id)
    }
}
