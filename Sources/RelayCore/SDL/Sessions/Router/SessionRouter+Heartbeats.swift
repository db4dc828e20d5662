// Heartbeats of the head unit that an app does not answer, because the app is at a breakpoint or has
// left: the router answers them in its place.

import NIOCore
import SDLProtocol

/// A heartbeat of the head unit that an app has not answered.
struct Heartbeat: Hashable {
    /// The answer, if relayd gives it.
    var answer: Frame
    /// When relayd gives it.
    var deadline: NIODeadline
}

extension SessionRouter {
    /// sdl_core sends a heartbeat after 7 s of silence, once an app has sent one itself, and ends the
    /// session 7 s later (measured with sdl_core 8.2.0).
    mutating func receiveHeartbeat(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        guard routes[session].phase != .free else { return .drop(.noSuchSession(session)) }
        let answer = Frame(
            version: frame.version, type: .control, service: .control,
            info: ControlFrameType.heartbeatACK.rawValue, sessionID: session,
            messageID: frame.messageID ?? 0)
        if let farewell = farewells[session], mayNotAnswer(session) {
            // The session must live until EndService has gone; the head unit hears that before any
            // answer. If EndService was lost on the line, the head unit ends the session itself,
            // unless its heartbeat is answered.
            if !farewell.isEndWritten { actions.append(.toLink(answer, from: .relay)) }
            return .drop(.farewell(session))
        }
        guard let owner = routes[session].owner else { return .drop(.farewell(session)) }
        if configuration.heartbeats == .answer, routes[session].phase == .open {
            heartbeats[session] = Heartbeat(
                answer: answer, deadline: now + configuration.heartbeatPatience)
        }
        return .toApp(owner)
    }

    /// Whether the app has left or sent its own EndService, so that it can answer nothing in the
    /// session.
    private func mayNotAnswer(_ session: UInt8) -> Bool {
        routes[session].phase == .farewell || routes[session].phase == .ending
    }

    /// Answers in place of an app that can no longer answer: the session must live until it is ended.
    mutating func answerHeartbeat(of session: UInt8) {
        guard let heartbeat = heartbeats.removeValue(forKey: session) else { return }
        actions.append(.toLink(heartbeat.answer, from: .relay))
    }

    var heartbeatDeadline: NIODeadline? {
        mutating get {
            heartbeats.isEmpty ? nil : heartbeats.values.map(\.deadline).min()
        }
    }

    mutating func advanceHeartbeats() {
        guard !heartbeats.isEmpty else { return }
        for session in heartbeats.keys.sorted() {
            guard let heartbeat = heartbeats[session], heartbeat.deadline <= now else { continue }
            heartbeats[session] = nil
            guard let owner = routes[session].owner else { continue }
            actions.append(.toLink(heartbeat.answer, from: .relay))
            actions.append(.event(.heartbeatAnswered(owner, session: session)))
        }
    }
}
