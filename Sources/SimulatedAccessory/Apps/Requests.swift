// The table of answers: which request gets which response.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    /// Answers a request of a known function, now or later.
    mutating func answer(_ request: Request) {
        guard request.parameters != nil else {
            respond(to: request, .invalidData, info: "the parameters are not valid JSON")
            return
        }
        guard request.correlationID >= 0 else {
            respond(to: request, .invalidID, info: "the correlation ID is negative")
            return
        }
        guard request.functionID != .registerAppInterface else {
            register(request)
            return
        }
        guard sessions[request.sessionID]?.app != nil else {
            respond(to: request, .applicationNotRegistered)
            return
        }
        if let missing = Self.mandatory[request.functionID]?.first(where: { request[$0] == nil }) {
            respond(to: request, .invalidData, info: "\(missing) is missing")
            return
        }
        answerRegistered(request)
    }

    private mutating func answerRegistered(_ request: Request) {
        switch request.functionID {
        case .unregisterAppInterface: unregister(request)
        case .putFile: putFile(request)
        case .deleteFile: deleteFile(request)
        case .listFiles: listFiles(request)
        case .setAppIcon: setAppIcon(request)
        case .subscribeVehicleData: subscribeVehicleData(request)
        case .unsubscribeVehicleData: unsubscribeVehicleData(request)
        case .getVehicleData: getVehicleData(request)
        case .alert, .subtleAlert: beginAlert(request)
        case .performAudioPassThru: beginAudioPassThru(request)
        case .endAudioPassThru: endAudioPassThru(request)
        case .createInteractionChoiceSet, .deleteInteractionChoiceSet, .performInteraction:
            answerInteraction(request)
        case .closeApplication:
            respond(to: request, .success)
            setHMILevel(.none, of: request.sessionID)
        default: answerFromTable(request)
        }
    }

    /// Functions whose answer depends on the request alone.
    private mutating func answerFromTable(_ request: Request) {
        switch request.functionID {
        case .getSystemCapability:
            let type = request["systemCapabilityType"]?.string ?? ""
            if let capability = capabilities(for: request).system(type) {
                respond(to: request, .success, ["systemCapability": capability])
            } else {
                respond(to: request, .unsupportedResource, info: "no capability \(type)")
            }
        case .setDisplayLayout:
            respond(to: request, .success, capabilities(for: request).display)
        case .slider: respond(to: request, .success, ["sliderPosition": request["position"] ?? 1])
        case .readDID:
            let results = request["didLocation"]?.array?.map { location -> JSON in
                ["resultCode": "SUCCESS", "didLocation": location, "data": "00"]
            }
            respond(to: request, .success, ["didResult": .array(results ?? [])])
        case .getDTCs: respond(to: request, .success, ["ecuHeader": 0, "dtc": []])
        case .diagnosticMessage:
            respond(to: request, .success, ["messageDataResult": request["messageData"] ?? []])
        case .getAppServiceData, .getCloudAppProperties: respond(to: request, .dataNotAvailable)
        case .cancelInteraction:
            respond(to: request, .ignored, info: "nothing is shown that could be cancelled")
        // Files are counted, not kept.
        case .getFile: respond(to: request, .unsupportedRequest)
        case .getInteriorVehicleData, .setInteriorVehicleData, .getInteriorVehicleDataConsent,
            .releaseInteriorVehicleDataModule, .buttonPress, .getWayPoints, .createWindow,
            .deleteWindow, .publishAppService, .unpublishAppService,
            .performAppServiceInteraction, .sendLocation, .dialNumber:
            respond(to: request, .unsupportedResource, info: "the simulated car has none")
        default:
            respond(to: request, .success)
            if Self.resumable.contains(request.functionID) { notifyHashChange(request.sessionID) }
        }
    }

    private func capabilities(for request: Request) -> Capabilities {
        let version = sessions[request.sessionID]?.app?.rpcVersion
        return Capabilities(rpcVersion: version ?? Capabilities.rpcVersion)
    }

    // MARK: Choices

    /// Of one app: far more than any shows.
    private static let maximumChoiceSets = 1000

    /// There is no user, so the first choice is picked at once.
    private mutating func answerInteraction(_ request: Request) {
        let setID = request["interactionChoiceSetID"]?.integer ?? 0
        switch request.functionID {
        case .createInteractionChoiceSet:
            let first = request["choiceSet"]?.array?.first?["choiceID"]?.integer ?? 0
            let count = sessions[request.sessionID]?.app?.choiceSets.count ?? 0
            guard count < Self.maximumChoiceSets else {
                respond(
                    to: request, .outOfMemory,
                    info: "\(Self.maximumChoiceSets) choice sets are kept already")
                return
            }
            sessions[request.sessionID]?.app?.choiceSets[setID] = first
        case .deleteInteractionChoiceSet:
            sessions[request.sessionID]?.app?.choiceSets[setID] = nil
        default:
            let ids = request["interactionChoiceSetIDList"]?.array?.compactMap(\.integer) ?? []
            let sets = sessions[request.sessionID]?.app?.choiceSets ?? [:]
            if let choice = ids.lazy.compactMap({ sets[$0] }).first {
                respond(
                    to: request, .success,
                    ["choiceID": .integer(choice), "triggerSource": "MENU"])
            } else {
                respond(to: request, .timedOut, info: "nothing to choose from")
            }
            return
        }
        respond(to: request, .success)
        notifyHashChange(request.sessionID)
    }

    // MARK: Resumption

    /// Functions that change what a head unit would restore for an app that comes back.
    private static let resumable: Set<FunctionID> = [
        .addCommand, .deleteCommand, .addSubMenu, .deleteSubMenu, .setGlobalProperties,
        .resetGlobalProperties, .subscribeButton, .unsubscribeButton, .subscribeWayPoints,
        .unsubscribeWayPoints,
    ]

    mutating func notifyHashChange(_ sessionID: UInt8) {
        let hash = UInt64.random(in: .min ... .max, using: &generator)
        notify(.onHashChange, ["hashID": .string(String(hash, radix: 36))], to: sessionID)
    }

    /// Mandatory parameters of requests whose answer would make no sense without them.
    private static let mandatory: [FunctionID: [String]] = [
        .addCommand: ["cmdID"],
        .deleteCommand: ["cmdID"],
        .addSubMenu: ["menuID", "menuName"],
        .deleteSubMenu: ["menuID"],
        .createInteractionChoiceSet: ["interactionChoiceSetID", "choiceSet"],
        .deleteInteractionChoiceSet: ["interactionChoiceSetID"],
        .putFile: ["syncFileName", "fileType"],
        .deleteFile: ["syncFileName"],
        .setAppIcon: ["syncFileName"],
        .getSystemCapability: ["systemCapabilityType"],
        .subscribeButton: ["buttonName"],
        .unsubscribeButton: ["buttonName"],
        .speak: ["ttsChunks"],
        .performAudioPassThru: ["samplingRate", "maxDuration", "bitsPerSample", "audioType"],
        .readDID: ["ecuName", "didLocation"],
        .slider: ["numTicks", "position", "sliderHeader"],
        .systemRequest: ["requestType"],
    ]
}
