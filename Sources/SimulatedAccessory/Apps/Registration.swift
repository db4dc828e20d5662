// RegisterAppInterface and UnregisterAppInterface, and what a head unit tells a new app unasked.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    mutating func register(_ request: Request) {
        guard sessions[request.sessionID]?.app == nil else {
            respond(to: request, .applicationRegisteredAlready)
            return
        }
        guard let wish = RegistrationWish(request) else {
            respond(to: request, .invalidData, info: "a mandatory parameter is missing or too long")
            return
        }
        // One link is one device to a head unit, so all its apps have to differ.
        let others = sessions.values.compactMap(\.app)
        if others.contains(where: { $0.appID == wish.appID }) {
            respond(to: request, .applicationRegisteredAlready)
        } else if others.contains(where: { $0.name.lowercased() == wish.appName.lowercased() }) {
            respond(to: request, .duplicateName)
        } else {
            accept(wish, request)
        }
    }

    private mutating func accept(_ wish: RegistrationWish, _ request: Request) {
        let id = request.sessionID
        let rpcVersion =
            wish.rpcVersion.major < 5
            ? SDLVersion(4, 5, 1) : min(wish.rpcVersion, Capabilities.rpcVersion)
        let app = RegisteredApp(
            appID: wish.appID, name: wish.appName, rpcVersion: rpcVersion,
            activationDue: configuration.activationDelay.map { now + TimeAmount($0) },
            isAudible: wish.isMedia || wish.isStreamable, isStreamable: wish.isStreamable)
        sessions[id]?.app = app

        let capabilities = Capabilities(rpcVersion: rpcVersion)
        respond(
            to: request, wish.result,
            capabilities.registration(make: configuration.make, model: configuration.model))
        notifyHMIStatus(of: id)
        if rpcVersion.major >= 6 {
            notify(
                .onSystemCapabilityUpdated,
                ["systemCapability": capabilities.displays], to: id)
        }
        notify(.onPermissionsChange, Capabilities.permissions, to: id)
        notify(.onDriverDistraction, ["state": "DD_OFF"], to: id)
    }

    mutating func unregister(_ request: Request) {
        respond(to: request, .success)
        unregisterApp(inSession: request.sessionID)
    }

    /// Forgets the app of a session; the session stays.
    mutating func unregisterApp(inSession id: UInt8) {
        guard let app = sessions[id]?.app else { return }
        sessions[id]?.app = nil
        sessions[id]?.streams = []
        timedRequests.removeAll { $0.request.sessionID == id }
        files[app.appID]?.removeTemporary()
        if files[app.appID]?.isEmpty == true { files[app.appID] = nil }
        updateVehicleDataTimer()
    }
}

/// What RegisterAppInterface asks for; nil when a mandatory parameter is missing or too long.
private struct RegistrationWish {
    var appID: String
    var appName: String
    var rpcVersion: SDLVersion
    var isMedia: Bool
    var isStreamable: Bool
    var result: ResultCode

    init?(_ request: Request) {
        guard let version = request["syncMsgVersion"],
            let major = version["majorVersion"]?.integer.flatMap(UInt8.init(exactly:)),
            let minor = version["minorVersion"]?.integer.flatMap(UInt8.init(exactly:)),
            let appName = request["appName"]?.string, Self.isAllowed(appName),
            let appID = request["appID"]?.string, Self.isAllowed(appID),
            let isMedia = request["isMediaApplication"]?.bool,
            let language = request["languageDesired"]?.string,
            let hmiLanguage = request["hmiDisplayLanguageDesired"]?.string
        else { return nil }
        self.appID = appID
        self.appName = appName
        let patch = version["patchVersion"]?.integer.flatMap(UInt8.init(exactly:)) ?? 0
        rpcVersion = SDLVersion(Int(major), Int(minor), Int(patch))
        self.isMedia = isMedia
        let types = request["appHMIType"]?.array?.compactMap(\.string) ?? []
        isStreamable = types.contains("NAVIGATION") || types.contains("PROJECTION")
        // Nothing is kept for resumption, so the app has to set up its state again.
        if request["hashID"] != nil {
            result = .resumeFailed
        } else {
            let isSpoken = language == Capabilities.language && hmiLanguage == language
            result = isSpoken ? .success : .wrongLanguage
        }
    }

    /// 1 to 100 characters, as names of apps and app IDs have (MOBILE_API, "RegisterAppInterface").
    private static func isAllowed(_ name: String) -> Bool {
        (1...100).contains(name.unicodeScalars.count)
    }
}
