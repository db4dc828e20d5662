// Activates an app that waits to be put on the screen where the recorded app had first asked something.

import NIOCore
import SDLProtocol

extension RecordedHeadUnit {
    /// How long an app must be silent, both ways, before it is assumed to wait for the screen. Not less: an
    /// app that is put on the screen sooner than the recorded one could ask in another order.
    static let stillness = TimeAmount.seconds(2)
    /// Recorded messages that are searched for the activation.
    private static let maximumLooks = 1024

    /// Puts apps on the screen that have waited long enough. In the recording the user did so, and it was not
    /// the result of a question that came before.
    mutating func activateWaiting() {
        for key in sessions.keys.sorted() {
            guard let session = sessions[key], session.stirred + Self.stillness <= now,
                let (cue, line) = activation(of: session),
                var said = lanes[session.lane]?.cues[cue].lines.remove(at: line)
            else { continue }
            said.delay = 0
            schedule(said, since: RecordedLane.Met(at: now), key)
        }
    }

    mutating func scheduleActivation() {
        nextActivation = sessions.values.compactMap { session in
            activation(of: session) == nil ? nil : session.stirred + Self.stillness
        }.min()
    }

    /// The place of the status that puts a waiting app on the screen; nil when the app does not wait, or the
    /// recording has none.
    private func activation(of session: LiveSession) -> (cue: Int, line: Int)? {
        guard session.isRegistered, !session.isOnScreen, !session.isEnding, session.asked.isEmpty,
            session.dueCount == 0, let lane = lanes[session.lane]
        else { return nil }
        var looks = 0
        for (index, cue) in lane.cues.enumerated() where cue.met == nil {
            let rest = cue.lines.prefix(Self.maximumLooks - looks)
            if let line = rest.firstIndex(where: { !$0.isAnswer && $0.message.isActivation }) {
                return (index, line)
            }
            looks += rest.count + 1
            if looks >= Self.maximumLooks { return nil }
        }
        return nil
    }
}

extension RecordedMessage {
    /// OnHMIStatus with a level other than NONE.
    var isActivation: Bool {
        guard case .rpc(.notification, .onHMIStatus, _) = kind,
            let level = rpc?.parameters.string("hmiLevel")
        else { return false }
        return level != "NONE"
    }
}
