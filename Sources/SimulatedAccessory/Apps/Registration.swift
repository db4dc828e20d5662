// RegisterAppInterface and UnregisterAppInterface, and what a head unit tells a new app without being asked.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    mutating func register(_ request: Request) {
        do throws(Refusal) {
            accept(try wish(of: request), request)
        } catch {
            respond(to: request, error.result, info: error.info)
        }
    }

    /// Reads what the app asks for; refuses it in sdl_core's order.
    private func wish(of request: Request) throws(Refusal) -> RegistrationWish {
        guard sessions[request.sessionID]?.app == nil else {
            throw Refusal(.applicationRegisteredAlready)
        }
        guard let wish = RegistrationWish(request) else {
            throw Refusal(.invalidData, "a mandatory parameter is missing or too long")
        }
        // To a head unit one link is one device, so all its apps have to differ.
        let others = sessions.values.compactMap(\.app)
        guard !others.contains(where: { $0.appID == wish.appID }) else {
            throw Refusal(.applicationRegisteredAlready)
        }
        guard others.allSatisfy({ $0.names.isDisjoint(with: wish.names) }) else {
            throw Refusal(.duplicateName)
        }
        if !configuration.isLenient { try RequestRules.checkTexts(of: request) }
        return wish
    }

    private mutating func accept(_ wish: RegistrationWish, _ request: Request) {
        let id = request.sessionID
        let rpcVersion =
            wish.rpcVersion.major < 5
            ? SDLVersion(4, 5, 1) : min(wish.rpcVersion, Capabilities.rpcVersion)
        let app = RegisteredApp(
            appID: wish.appID, name: wish.appName, rpcVersion: rpcVersion, kind: wish.kind,
            names: wish.names,
            activationDue: configuration.activationDelay.map { now + TimeAmount($0) },
            state: HMIState(.none, of: wish.kind), template: .standard(for: wish.kind))
        sessions[id]?.app = app

        let capabilities = Capabilities(rpcVersion: rpcVersion, template: app.template)
        respond(
            to: request, wish.result,
            capabilities.registration(make: configuration.make, model: configuration.model))
        tellStatuses(first: id)
        tellDisplays(to: id)
        notify(.onPermissionsChange, permissions, to: id)
        notify(.onDriverDistraction, ["state": "DD_OFF"], to: id)
    }

    private var permissions: JSON {
        configuration.isLenient ? Permissions.lenientNotification : Permissions.notification
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
        if overlay?.owner == id { overlay = nil }
        speeches.removeAll { $0.owner == id }
        files[app.appID]?.removeTemporary()
        if files[app.appID]?.isEmpty == true { files[app.appID] = nil }
        updateVehicleDataTimer()
        // Apps that it covered are seen again, and sound that it drowned out is heard again.
        tellStatuses(first: id)
    }
}

/// What RegisterAppInterface asks for; nil when a mandatory parameter is missing or too long.
private struct RegistrationWish {
    var appID: String
    var appName: String
    var rpcVersion: SDLVersion
    var kind: AppKind
    var names: Set<String>
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
        kind = AppKind(
            isMedia: isMedia, types: request["appHMIType"]?.array?.compactMap(\.string) ?? [])
        let synonyms = request["vrSynonyms"]?.array?.compactMap(\.string) ?? []
        names = Set(([appName] + synonyms).map { $0.lowercased() })
        // No state is kept for resumption, so the app has to set it up again.
        if request["hashID"] != nil {
            result = .resumeFailed
        } else {
            let isSpoken = language == Capabilities.language && hmiLanguage == language
            result = isSpoken ? .success : .wrongLanguage
        }
    }

    /// 1 to 100 characters, as app names and app IDs must have (MOBILE_API, "RegisterAppInterface").
    private static func isAllowed(_ name: String) -> Bool {
        (1...100).contains(name.unicodeScalars.count)
    }
}
