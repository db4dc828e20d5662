// Requests that take time on a real head unit, because people read, choose, listen or speak.

import SDLProtocol

extension SimulatedAccessory {
    mutating func answerOverlay(_ request: Request) {
        if configuration.isLenient, answerForUser(request) { return }
        guard let kind = Overlay.Kind(request.functionID) else {
            speak(request)
            return
        }
        switch kind {
        case .alert, .subtleAlert:
            // An alert that only speaks covers nothing.
            let isSeen = Self.alertParts.contains { request[$0] != nil }
            if isSeen || request["ttsChunks"] == nil {
                show(request, as: kind)
            } else {
                speak(request)
            }
        case .interaction:
            do throws(Refusal) {
                try sessions[request.sessionID]?.app?.choices.check(request)
                try RequestRules.checkTexts(of: request)
                show(request, as: kind)
            } catch {
                respond(to: request, error.result, info: error.info)
            }
        case .scrollableMessage, .slider, .audioPassThru: show(request, as: kind)
        }
    }

    private static let alertParts = ["alertText1", "alertText2", "alertText3", "softButtons"]

    /// A lenient head unit does not wait for a user: it reads and speaks in no time and picks the first choice.
    ///
    /// - Returns: False when the request still takes its time.
    private mutating func answerForUser(_ request: Request) -> Bool {
        switch request.functionID {
        case .speak, .scrollableMessage: respond(to: request, .success)
        case .slider: respond(to: request, .success, ["sliderPosition": request["position"] ?? 1])
        case .performInteraction:
            let ids = request["interactionChoiceSetIDList"]?.array?.compactMap(\.integer) ?? []
            if let choice = sessions[request.sessionID]?.app?.choices.first(of: ids) {
                respond(
                    to: request, .success,
                    ["choiceID": .integer(choice), "triggerSource": "MENU"])
            } else {
                respond(to: request, .timedOut, info: "nothing to choose from")
            }
        default: return false
        }
        return true
    }
}
