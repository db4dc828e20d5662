// Which app is on the screen: activation in place of a user, HMI levels, OnHMIStatus.

package import NIOCore
package import SDLProtocol

/// The contents of an OnHMIStatus for an app.
struct HMIStatus: Hashable, Sendable {
    var level: HMILevel
    /// AUDIBLE, ATTENUATED or NOT_AUDIBLE.
    var sound: String
    var isStreamable: Bool
    /// MAIN, or the kind of overlay in front of the app.
    var context: String
}

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
        guard let front = sessions[id]?.app else { return }
        // An alert stays in front of the app that the user picks; any other overlay belongs to its app's screen.
        if let overlay, overlay.owner != id, !overlay.kind.isAlert {
            abortOverlay("the user left the app")
        }
        sessions[id]?.app?.activationDue = nil
        sessions[id]?.app?.state = HMIState(.full, of: front.kind)
        for other in sessionIDs where other != id {
            guard let app = sessions[other]?.app else { continue }
            sessions[other]?.app?.state = app.state.makingRoom(
                for: front.kind, kind: app.kind)
        }
        tellStatuses(first: id)
    }

    /// Handles an app that closes itself.
    mutating func closeApplication(_ request: Request) {
        let id = request.sessionID
        guard let app = sessions[id]?.app, app.hmiLevel != .none else {
            respond(to: request, .ignored, info: "the app is already closed")
            return
        }
        if overlay?.owner == id { abortOverlay("the app was closed") }
        respond(to: request, .success)
        sessions[id]?.app?.state = HMIState(.none, of: app.kind)
        tellStatuses(first: id)
    }

    // MARK: OnHMIStatus

    /// Tells every app whose status has changed, starting with the app that caused the change.
    mutating func tellStatuses(first: UInt8) {
        for id in [first] + sessionIDs.filter({ $0 != first }) {
            guard let app = sessions[id]?.app else { continue }
            let status = status(of: app, in: id)
            guard status != app.toldStatus else { continue }
            sessions[id]?.app?.toldStatus = status
            tell(status, to: id, version: app.rpcVersion)
        }
    }

    private func status(of app: RegisteredApp, in id: UInt8) -> HMIStatus {
        let sound = speeches.isEmpty ? "AUDIBLE" : "ATTENUATED"
        return HMIStatus(
            level: app.state.level, sound: app.state.isAudible ? sound : "NOT_AUDIBLE",
            isStreamable: app.state.isStreamable, context: context(of: app, in: id))
    }

    /// An overlay is in front of its own app and of the one on the screen.
    private func context(of app: RegisteredApp, in id: UInt8) -> String {
        guard let overlay, overlay.owner == id || app.state.level == .full else { return "MAIN" }
        return overlay.kind.isAlert && overlay.owner == id ? "ALERT" : "HMI_OBSCURED"
    }

    private mutating func tell(_ status: HMIStatus, to id: UInt8, version: SDLVersion) {
        var parameters: JSON = [
            "hmiLevel": .string(status.level.rawValue),
            "audioStreamingState": .string(status.sound),
            "systemContext": .string(status.context),
        ]
        if version.major >= 5 {
            let video = status.isStreamable ? "STREAMABLE" : "NOT_STREAMABLE"
            parameters = parameters.merging(["videoStreamingState": .string(video)])
        }
        if version.major >= 6 { parameters = parameters.merging(["windowID": 0]) }
        notify(.onHMIStatus, parameters, to: id)
    }
}
