// What a request must not contain although the specification allows it: conditions between parameters, and texts
// that sdl_core refuses.

import SDLProtocol

enum RequestRules {
    /// Checks what depends on the request and the kind of app alone.
    static func check(_ request: Request, of kind: AppKind) throws(Refusal) {
        try checkContents(request)
        if plainTexts.contains(request.functionID) { try checkTexts(of: request) }
        try checkSoftButtons(request["softButtons"]?.array ?? [])
        switch request.functionID {
        case .show: try checkWindow(request)
        case .slider: try checkSlider(request)
        case .setMediaClockTimer: try checkMediaClock(request, of: kind)
        case .subscribeButton: try checkButton(request, of: kind)
        case .setGlobalProperties: try checkHelp(request)
        case .cancelInteraction: try checkCancelling(request)
        default: break
        }
    }

    // MARK: Contents

    /// Requests that need at least one of these parameters.
    private static let needsOneOf: [FunctionID: [String]] = [
        .alert: ["alertText1", "alertText2", "ttsChunks"],
        .subtleAlert: ["alertText1", "alertText2", "ttsChunks"],
        .alertManeuver: ["ttsChunks", "softButtons"],
        .updateTurnList: ["turnList", "softButtons"],
    ]
    private static let needsSomething: Set<FunctionID> = [
        .show, .setGlobalProperties, .showConstantTBT,
    ]

    private static func checkContents(_ request: Request) throws(Refusal) {
        if needsSomething.contains(request.functionID), request.parameters?.members.isEmpty == true
        {
            throw Refusal(.invalidData, "there are no parameters")
        }
        guard let names = needsOneOf[request.functionID],
            !names.contains(where: { request[$0] != nil })
        else { return }
        throw Refusal(.invalidData, "one of \(names.joined(separator: ", ")) is needed")
    }

    // MARK: Texts

    /// Functions whose texts are one line each. So are those of menus and choices, whose IDs are checked first.
    private static let plainTexts: Set<FunctionID> = [
        .changeRegistration, .show, .alert, .subtleAlert, .speak, .slider, .setGlobalProperties,
        .performAudioPassThru, .showConstantTBT, .updateTurnList, .sendLocation,
    ]

    /// Line breaks and tabs are refused, also when written as two characters.
    static func checkTexts(of request: Request) throws(Refusal) {
        if let parameters = request.parameters { try checkTexts(parameters, "") }
    }

    private static func checkTexts(_ value: JSON, _ name: String) throws(Refusal) {
        switch value {
        case .string(let text):
            let isPlain = !text.unicodeScalars.contains { $0 == "\n" || $0 == "\t" }
            guard isPlain, !text.contains("\\n"), !text.contains("\\t") else {
                throw Refusal(.invalidData, "\(name) has a line break or a tab")
            }
        case .array(let values): for value in values { try checkTexts(value, name) }
        case .object(let members):
            for member in members { try checkTexts(member.value, member.key) }
        case .null, .bool, .integer, .number: break
        }
    }

    // MARK: Soft buttons

    private static func checkSoftButtons(_ buttons: [JSON]) throws(Refusal) {
        for button in buttons {
            let type = button["type"]?.string
            let hasText = button["text"]?.string?.isEmpty == false
            let hasImage = button["image"] != nil
            guard type != "IMAGE" && !hasText || type != "TEXT" && !hasImage else { continue }
            let id = button["softButtonID"]?.integer ?? 0
            throw Refusal(
                .invalidData,
                "soft button \(id) is \(type ?? "") and has no "
                    + (type != "IMAGE" && !hasText ? "text" : "image"))
        }
    }

    // MARK: Single functions

    /// There is one window.
    private static func checkWindow(_ request: Request) throws(Refusal) {
        guard let window = request["windowID"]?.integer, window != 0 else { return }
        throw Refusal(.invalidID, "there is no window \(window)")
    }

    private static func checkSlider(_ request: Request) throws(Refusal) {
        let ticks = request["numTicks"]?.integer ?? 0
        guard request["position"]?.integer ?? 0 <= ticks else {
            throw Refusal(.invalidData, "position is beyond numTicks")
        }
        let footers = request["sliderFooter"]?.array?.count ?? 1
        guard footers == 1 || Int64(footers) == ticks else {
            throw Refusal(.invalidData, "sliderFooter has \(footers) texts for \(ticks) ticks")
        }
    }

    private static func checkMediaClock(
        _ request: Request, of kind: AppKind
    ) throws(Refusal) {
        guard kind.isMedia else { throw Refusal(.rejected, "the app is not a media application") }
        let mode = request["updateMode"]?.string
        guard mode == "COUNTUP" || mode == "COUNTDOWN" else { return }
        guard let start = request["startTime"]?.seconds else {
            throw Refusal(.invalidData, "\(mode ?? "") needs startTime")
        }
        guard let end = request["endTime"]?.seconds else { return }
        guard mode == "COUNTUP" ? end > start : end < start else {
            throw Refusal(.invalidData, "endTime is on the wrong side of startTime")
        }
    }

    private static let mediaButtons: Set<String> = [
        "PLAY_PAUSE", "SEEKLEFT", "SEEKRIGHT", "TUNEUP", "TUNEDOWN",
    ]

    private static func checkButton(_ request: Request, of kind: AppKind) throws(Refusal) {
        let name = request["buttonName"]?.string ?? ""
        guard kind.isMedia || !mediaButtons.contains(name) else {
            throw Refusal(.rejected, "\(name) is for media applications")
        }
        guard Capabilities.buttonNames.contains(name) || name == "CUSTOM_BUTTON" else {
            throw Refusal(.unsupportedResource, "there is no button \(name)")
        }
    }

    private static func checkHelp(_ request: Request) throws(Refusal) {
        guard (request["vrHelp"] == nil) != (request["vrHelpTitle"] == nil) else { return }
        throw Refusal(.rejected, "vrHelp and vrHelpTitle go together")
    }

    private static func checkCancelling(_ request: Request) throws(Refusal) {
        let id = UInt32(exactly: request["functionID"]?.integer ?? 0) ?? 0
        guard Overlay.Kind(FunctionID(rawValue: id))?.canBeCancelled == true else {
            throw Refusal(.invalidID, "function \(id) shows nothing that could be cancelled")
        }
    }
}

extension JSON {
    /// The seconds of a StartTime, whose parts the specification has checked; nil when this is not an object.
    fileprivate var seconds: Int64? {
        guard case .object = self else { return nil }
        func part(_ name: String) -> Int64 { min(max(self[name]?.integer ?? 0, 0), 59) }
        return part("hours") * 3600 + part("minutes") * 60 + part("seconds")
    }
}
