// Rules about RegisterAppInterface and OnAppInterfaceUnregistered.

import RelayCore
import SDLAdvice
import SDLProtocol

extension AdviceRules {
    /// Warns before the head unit refuses, because the other app is known.
    mutating func considerRegistration(
        _ rpc: RPCEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        if let session = entry.sessionID, sessions[session]?.isRegistered == true {
            return advise(
                .registeredTwice, entry, "the app registers again on session \(session)")
        }
        considerPreviousRun(entry)
        guard let rival = Rival(rpc.message.parameters, entry, table) else { return }
        advise(
            rival.sharesID ? .duplicateAppID : .duplicateAppName, entry,
            "\(rival.what) is also \(rival.whose); the head unit will probably refuse this "
                + "registration",
            remedy: rival.remedy)
    }

    mutating func considerRegistrationAnswer(
        _ outcome: RPCOutcome, _ rpc: RPCEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        if outcome.success {
            if let session = entry.sessionID {
                sessions[session]?.isRegistered = true
                sessions[session]?.isInNone = true
            }
            remember(registered: entry.registeredAppID)
            // The refusal that was expected did not come.
            withdraw(.duplicateAppID, entry)
            withdraw(.duplicateAppName, entry)
            return
        }
        let isRegistered = entry.sessionID.flatMap { sessions[$0]?.isRegistered } == true
        let rival = Rival(nil, entry, table)
        switch outcome.resultCode {
        case "APPLICATION_REGISTERED_ALREADY" where isRegistered:
            advise(.registeredTwice, entry, "the app is registered on this session already")
        case "DUPLICATE_NAME":
            advise(
                .duplicateAppName, entry,
                "DUPLICATE_NAME: "
                    + (rival.map { "\($0.what) is also \($0.whose)" }
                        ?? "no other app connected to relayd has the name, so probably an earlier run is "
                        + "still registered, or a VR synonym is taken"),
                remedy: rival?.remedy
                    ?? "wait some seconds and try again; if it stays, relayctl reopen frees what "
                    + "an earlier run left, or take another name")
        case "APPLICATION_REGISTERED_ALREADY":
            considerTakenID("APPLICATION_REGISTERED_ALREADY", rival, entry)
        case "DISALLOWED" where rival?.sharesID == true || isLeftOver(entry.registeredAppID):
            considerTakenID("DISALLOWED", rival, entry)
        case "INVALID_DATA": considerInvalidData(rpc, entry)
        case let code:
            let info = rpc.message.parameters.string("info").map { " (\($0))" } ?? ""
            // sdl_core 8.2 finds such an ID in its policies, but not among its registered apps.
            let mayBeLeftOver =
                code == "DISALLOWED" && entry.registeredAppID.map { $0 != $0.lowercased() } == true
            advise(
                .registrationRefused, entry, cause: code,
                "the registration ended with \(code.isEmpty ? "no success" : code)\(info)"
                    + (mayBeLeftOver
                        ? "; for an app ID with capital letters sdl_core says so also when an "
                            + "earlier run is still registered" : ""),
                remedy: mayBeLeftOver
                    ? "have the appID added to the head unit's policies; if it did register "
                        + "before, relayctl reopen frees it" : Self.remedies[code])
        }
    }

    /// Maximum app IDs remembered for a link.
    private static let maximumRegisteredIDs = 64

    private mutating func remember(registered appID: String?) {
        guard let appID, registeredIDs.count < Self.maximumRegisteredIDs else { return }
        registeredIDs.insert(appID.lowercased())
    }

    /// Forgets an app that unregistered, or was unregistered.
    mutating func forget(registered appID: String?) {
        if let appID { registeredIDs.remove(appID.lowercased()) }
    }

    /// Whether an app with this ID registered on this link and was never unregistered. The check for capital
    /// letters reflects sdl_core 8.2; other IDs get different answers.
    private func isLeftOver(_ appID: String?) -> Bool {
        guard let appID, appID != appID.lowercased() else { return false }
        return registeredIDs.contains(appID.lowercased())
    }

    private mutating func considerTakenID(
        _ code: String, _ rival: Rival?, _ entry: TrafficEntry
    ) {
        advise(
            .duplicateAppID, entry,
            "\(code): "
                + (rival.map { "\($0.what) is also \($0.whose)" }
                    ?? "no other app connected to relayd has app ID \"\(entry.registeredAppID ?? "?")\", so "
                    + "probably an earlier run is still registered"),
            remedy: rival?.remedy
                ?? "wait some seconds and try again; if it stays, relayctl reopen ends what an "
                + "earlier run left")
    }

    private static let remedies = [
        "DISALLOWED": "have the appID added to the head unit's policies",
        "TOO_MANY_APPLICATIONS": "stop another app of this head unit",
        "UNSUPPORTED_VERSION": "register with a syncMsgVersion the head unit knows",
        "WRONG_LANGUAGE": "register with the head unit's language",
    ]

    // MARK: Unregistered by the head unit

    mutating func considerUnregistration(_ message: RPCMessage, _ entry: TrafficEntry) {
        if let session = entry.sessionID { sessions[session]?.isRegistered = false }
        forget(registered: entry.registeredAppID)
        let reason = message.parameters.string("reason") ?? ""
        // Other reasons are up to the user or the car.
        guard let (meaning, remedy) = Self.reasons[reason] else { return }
        advise(
            .unregistered, entry, cause: reason,
            "the head unit unregistered the app with \(reason): \(meaning)", remedy: remedy)
    }

    private static let reasons: [String: (meaning: String, remedy: String)] = [
        "REQUEST_WHILE_IN_NONE_HMI_LEVEL": (
            "too many requests at once while in NONE",
            "send less before OnHMIStatus with FULL, and wait for answers; then register again"
        ),
        "TOO_MANY_REQUESTS": (
            "more than 1000 frames in a second on its session",
            "wait for answers before sending more; then register again"
        ),
        "PROTOCOL_VIOLATION": (
            "it streamed without a running service, or did not confirm EndService within 1 s",
            "stop streaming at EndService or NOT_STREAMABLE, and answer with EndServiceACK"
        ),
        "APP_UNAUTHORIZED": (
            "policies do not allow this app any more",
            "have the appID allowed in the head unit's policies"
        ),
        "LANGUAGE_CHANGE": (
            "the head unit changed its language",
            "register again with the new language"
        ),
        "DRIVER_DISTRACTION_VIOLATION": (
            "it showed what a driver must not see",
            "respect OnDriverDistraction"
        ),
        "UNSUPPORTED_HMI_RESOURCE": (
            "it needs something the head unit does not have",
            "compare appHMIType and capabilities"
        ),
        "RESOURCE_CONSTRAINT": (
            "the head unit has too little memory or too many apps",
            "stop other apps, upload less"
        ),
    ]
}

/// Another connected app with the same ID, name or spoken name.
private struct Rival {
    var sharesID: Bool
    /// "app ID \"4711\"".
    var what: String
    /// "that of app #2 (Radio)".
    var whose: String
    var remedy: String

    /// - Parameter parameters: Those of the request; nil when only its answer is available.
    init?(_ parameters: JSONObject?, _ entry: TrafficEntry, _ table: FactsTable) {
        guard let own = entry.app else { return nil }
        let spoken = Self.spoken(parameters) ?? table.apps[own]?.registration?.vrSynonyms ?? []
        let names = Set(([entry.appName].compactMap { $0 } + spoken).map { $0.lowercased() })
        for (app, facts) in table.apps.sorted(by: { $0.key < $1.key })
        where app != own && Self.holdsItsName(facts) {
            // Head units compare app IDs case-insensitively.
            if let id = entry.registeredAppID, id.lowercased() == facts.appID?.lowercased() {
                self.init(sharesID: true, "app ID \"\(id)\"", app, facts, "appID")
                return
            }
            let others = [facts.name].compactMap { $0 } + (facts.registration?.vrSynonyms ?? [])
            guard let shared = others.first(where: { names.contains($0.lowercased()) }) else {
                continue
            }
            let isName = shared.lowercased() == entry.appName?.lowercased()
            self.init(
                sharesID: false, "\(isName ? "the name" : "the VR synonym") \"\(shared)\"", app,
                facts, isName ? "appName" : "vrSynonyms")
            return
        }
        return nil
    }

    private init(
        sharesID: Bool, _ what: String, _ app: AppID, _ facts: AppFacts, _ parameter: String
    ) {
        self.sharesID = sharesID
        self.what = what
        let name = facts.name.map { " (\($0))" } ?? ""
        whose = "that of app \(app)\(sharesID ? name : "")"
        remedy = "give one of the two another \(parameter), or stop app \(app)\(name)"
    }

    /// Whether the app is registered, or waits for the answer to its registration.
    private static func holdsItsName(_ facts: AppFacts) -> Bool {
        facts.isRegistered || facts.registration.map { $0.answeredAt == nil } == true
    }

    private static func spoken(_ parameters: JSONObject?) -> [String]? {
        guard let parameters else { return nil }
        let words = parameters.array("vrSynonyms")
        return (words?.elements ?? []).prefix(FactLimits.parameters).compactMap {
            words?.string($0)
        }
    }
}
