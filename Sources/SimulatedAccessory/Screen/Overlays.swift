// Requests that take the screen: which one gets it, and how each is answered.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    /// Shows a request, or rejects it.
    mutating func show(_ request: Request, as kind: Overlay.Kind) {
        if let open = overlay {
            guard kind.mayReplace(open.kind) else {
                reject(request, as: kind, because: open)
                return
            }
            endOverlay(open.outcomeOfAbort("\(request.functionID) took its place"))
        }
        var end = now + .milliseconds(kind.duration(of: request))
        // An alert stays on the screen until its text has been spoken.
        if let spoken = beginSpeech(of: request) { end = max(end, spoken) }
        overlay = Overlay(
            request: request, kind: kind, end: end,
            recording: kind == .audioPassThru ? Recording(request, at: now) : nil)
        tellStatuses(first: request.sessionID)
    }

    private mutating func reject(
        _ request: Request, as kind: Overlay.Kind, because open: Overlay
    ) {
        let wait = max((open.end - now).nanoseconds / 1_000_000, 0)
        respond(
            to: request, .rejected, kind.isAlert ? ["tryAgainTime": .integer(wait)] : [:],
            info: "\(open.request.functionID) is on the screen")
    }

    /// Answers what is on the screen and clears it.
    private mutating func endOverlay(_ outcome: Overlay.Outcome) {
        guard let ended = overlay else { return }
        overlay = nil
        speeches.removeAll { $0.owner == ended.owner && $0.request == nil }
        if ended.isKeyboard {
            notify(.onKeyboardInput, ["event": "ENTRY_ABORTED"], to: ended.owner)
        }
        respond(to: ended.request, outcome.result, outcome.parameters, info: outcome.info)
    }

    /// Ends what is on the screen, because of the user or another app.
    mutating func abortOverlay(_ why: String) {
        guard let overlay else { return }
        endOverlay(overlay.outcomeOfAbort(why))
    }

    mutating func advanceOverlay() {
        guard let open = overlay, open.due <= now else { return }
        advanceRecording()
        guard open.end <= now else { return }
        endOverlay(open.outcomeOfTime)
        tellStatuses(first: open.owner)
    }

    // MARK: Requests about overlays

    mutating func cancelInteraction(_ request: Request) {
        guard let open = overlay, open.isMeant(by: request) else {
            respond(to: request, .ignored, info: "nothing is shown that could be cancelled")
            return
        }
        abortOverlay("cancelled by the app")
        respond(to: request, .success)
        tellStatuses(first: open.owner)
    }

    mutating func endAudioPassThru(_ request: Request) {
        guard let open = overlay, open.kind == .audioPassThru, open.owner == request.sessionID
        else {
            respond(to: request, .rejected, info: "no audio pass-thru is running")
            return
        }
        respond(to: request, .success)
        endOverlay(Overlay.Outcome(result: .success))
        tellStatuses(first: open.owner)
    }

    /// The choice sets of an app that are on the screen.
    func shownChoiceSets(of id: UInt8) -> [Int64] {
        guard let overlay, overlay.owner == id, overlay.kind == .interaction else { return [] }
        return overlay.request["interactionChoiceSetIDList"]?.array?.compactMap(\.integer) ?? []
    }
}
