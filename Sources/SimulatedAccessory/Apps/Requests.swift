// The table of answers: which request gets which response.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    /// Answers a request of a known function, now or later.
    mutating func answer(_ request: Request) {
        var request = request
        do throws(Refusal) {
            try admit(&request)
        } catch {
            respond(to: request, error.result, info: error.info)
            return
        }
        if request.functionID == .registerAppInterface {
            register(request)
        } else {
            answerRegistered(request)
        }
    }

    /// Refuses requests that are not allowed, in sdl_core's order: by the specification, the registration, the HMI
    /// level, and by what only the function itself knows.
    private func admit(_ request: inout Request) throws(Refusal) {
        guard request.parameters != nil else {
            throw Refusal(.invalidData, "the parameters are not valid JSON")
        }
        guard request.correlationID >= 0 else {
            throw Refusal(.invalidID, "the correlation ID is negative")
        }
        let app = sessions[request.sessionID]?.app
        if !configuration.isLenient {
            try Specification.judge(&request, negotiated: app?.rpcVersion)
        }
        guard request.functionID != .registerAppInterface else { return }
        guard let app else { throw Refusal(.applicationNotRegistered) }
        guard !configuration.isLenient else {
            try checkMandatory(request)
            return
        }
        try Permissions.check(request.functionID, at: app.hmiLevel)
        try RequestRules.check(request, of: app.kind)
        try FileStore.check(&request, files[app.appID])
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
        case .show, .setDisplayLayout, .getSystemCapability: answerDisplay(request)
        case .addCommand, .deleteCommand, .addSubMenu, .deleteSubMenu, .showAppMenu,
            .createInteractionChoiceSet, .deleteInteractionChoiceSet, .subscribeButton,
            .unsubscribeButton:
            answerMenu(request)
        case .alert, .subtleAlert, .scrollableMessage, .slider, .performInteraction,
            .performAudioPassThru, .speak:
            answerOverlay(request)
        case .cancelInteraction: cancelInteraction(request)
        case .endAudioPassThru: endAudioPassThru(request)
        case .closeApplication: closeApplication(request)
        default: answerFromTable(request)
        }
    }

    /// Functions whose answer depends on the request alone.
    private mutating func answerFromTable(_ request: Request) {
        switch request.functionID {
        case .readDID:
            let results = request["didLocation"]?.array?.map { location -> JSON in
                ["resultCode": "SUCCESS", "didLocation": location, "data": "00"]
            }
            respond(to: request, .success, ["didResult": .array(results ?? [])])
        case .getDTCs: respond(to: request, .success, ["ecuHeader": 0, "dtc": []])
        case .diagnosticMessage:
            respond(to: request, .success, ["messageDataResult": request["messageData"] ?? []])
        case .getAppServiceData, .getCloudAppProperties: respond(to: request, .dataNotAvailable)
        // Files are only counted, so there is none to return.
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

    // MARK: Resumption

    /// The functions in the table that change what a head unit would restore for an app that comes back.
    private static let resumable: Set<FunctionID> = [
        .setGlobalProperties, .resetGlobalProperties, .subscribeWayPoints, .unsubscribeWayPoints,
    ]

    mutating func notifyHashChange(_ sessionID: UInt8) {
        let hash = UInt64.random(in: .min ... .max, using: &generator)
        notify(.onHashChange, ["hashID": .string(String(hash, radix: 36))], to: sessionID)
    }

    // MARK: Leniency

    private func checkMandatory(_ request: Request) throws(Refusal) {
        let names = Self.mandatory[request.functionID] ?? []
        guard let missing = names.first(where: { request[$0] == nil }) else { return }
        throw Refusal(.invalidData, "\(missing) is missing")
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
