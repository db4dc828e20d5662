package import RelayCore
import SDLProtocol

/// All facts of the connected apps and the head unit, derived from decoded traffic entry by entry. Kept by
/// `SessionFacts`, used by the advice.
package struct FactsTable: Sendable {
    package private(set) var apps: [AppID: AppFacts] = [:]
    package private(set) var headUnit = HeadUnitFacts()
    /// The facts of departed apps, oldest first.
    package private(set) var departed: [(app: AppID, facts: DepartedApp)] = []

    /// Departed apps that are kept: as many as the status shows, and some that left in between.
    private static let departedCount = 16

    private var recentPermissions = RecentPermissions()

    package init() {}

    /// Updates the facts with `entry`.
    package mutating func apply(_ entry: TrafficEntry) {
        switch entry.content {
        case .rpc(let rpc):
            if !entry.isOfRelay { apply(rpc, entry) }
        case .control(let control): if entry.fate != .replaced { apply(control, entry) }
        case .stream(let summary):
            if let app = entry.app { apps[app]?.apply(summary, entry) }
        case .event(let event): apply(event, entry)
        case .security, .encrypted, .undecodable, .dropped: break
        }
    }

    private mutating func apply(_ event: EventEntry, _ entry: TrafficEntry) {
        switch event {
        case .appConnected:
            if let app = entry.app { apps[app] = AppFacts() }
        case .appClosed:
            guard let app = entry.app, let left = apps.removeValue(forKey: app) else { return }
            departed.append(
                (
                    app,
                    DepartedApp(
                        name: left.name, lastFailure: left.isRegistered ? nil : left.lastFailure)
                ))
            if departed.count > Self.departedCount { departed.removeFirst() }
        case .session(.ended(let session)):
            if let app = entry.app { apps[app]?.end(session) }
        case .session(.serviceEnded(let service, let session)):
            if let app = entry.app { apps[app]?.end(service, session) }
        case .linkOpened(let number, _): headUnit = HeadUnitFacts(link: number)
        case .linkClosed:
            headUnit = HeadUnitFacts()
            for app in apps.keys { apps[app]?.endAllSessions() }
        case .noticed(.garbage): if entry.app == nil { headUnit.garbageAt = entry.time }
        case .missed, .unanswered, .unansweredStart, .noticed, .session: break
        }
    }

    private mutating func apply(_ control: ControlEntry, _ entry: TrafficEntry) {
        if entry.service == .rpc, control.type == .startServiceACK {
            headUnit.answered(requestedAt: nil)
            let document = control.payload.document
            headUnit.learn(
                from: document,
                version: FactLimits.text(document?.string(ControlKey.protocolVersion)))
        }
        if let app = entry.app { apps[app]?.apply(control, entry) }
    }

    private mutating func apply(_ rpc: RPCEntry, _ entry: TrafficEntry) {
        if entry.direction == .fromAccessory {
            if let request = rpc.request { headUnit.answered(requestedAt: request.time) }
            if rpc.message.functionID == .onAppInterfaceUnregistered {
                headUnit.learn(
                    unregistered: rpc.message.parameters.string("reason"), at: entry.time)
            }
        }
        // In place: the facts of an app are too large to be taken out and put back.
        guard let app = entry.app, let index = apps.index(forKey: app) else { return }
        if rpc.message.functionID == .registerAppInterface, rpc.outcome?.success == true {
            headUnit.learn(from: rpc.message.parameters)
        }
        apps.values[index].apply(rpc, entry, &recentPermissions)
    }
}

/// The facts kept of an app that is gone.
package struct DepartedApp: Hashable, Sendable {
    package var name: String?
    /// For an app that was not registered at its end: why it may have given up.
    package var lastFailure: String?
}

// MARK: - Control frames and streams of one app

extension AppFacts {
    fileprivate mutating func apply(_ control: ControlEntry, _ entry: TrafficEntry) {
        guard let session = entry.sessionID, let service = entry.service else { return }
        switch control.type {
        case .startServiceACK:
            // Nothing is left of the session that had the number before.
            if control.grant == .opens, sessions.contains(session) { end(session) }
            guard control.grant != .nothing else { return }
            start(service, session, control, entry)
            guard service == .rpc else { return }
            if control.grant == .opens || protocolVersion == nil {
                let version = FactLimits.text(
                    control.payload.document?.string(ControlKey.protocolVersion))
                protocolVersion = version ?? "\(control.version)"
            }
            if !sessions.contains(session) {
                sessions.append(session)
                sessions.sort()
            }
        case .startServiceNAK:
            let reason = FactLimits.text(control.payload.document?.string(ControlKey.reason))
            let what = service == .rpc ? "" : " \(service.name)"
            lastFailure = "StartService\(what) refused" + (reason.map { ": \($0)" } ?? "")
        default: break
        }
    }

    private mutating func start(
        _ service: ServiceType, _ session: UInt8, _ control: ControlEntry, _ entry: TrafficEntry
    ) {
        let document = control.payload.document
        var facts = ServiceFacts(service: service, sessionID: session, since: entry.time)
        facts.isProtected = control.isProtected
        facts.mtu = document?.int64(ControlKey.mtu).flatMap { Int(exactly: $0) }
        if service == .video { facts.format = Self.format(document) }
        if let index = services.firstIndex(where: {
            $0.service == service && $0.sessionID == session
        }) {
            // The same service, now protected: its counts continue.
            services[index].isProtected = facts.isProtected
            services[index].mtu = facts.mtu ?? services[index].mtu
        } else if services.count < FactLimits.services {
            services.append(facts)
            services.sort(by: <)
        }
    }

    private static func format(_ document: BSONDocument?) -> String? {
        guard let document else { return nil }
        let size = [ControlKey.width, ControlKey.height].compactMap { document.int32($0) }
        let words = [
            size.count == 2 ? "\(size[0])×\(size[1])" : nil,
            FactLimits.text(document.string(ControlKey.videoCodec)),
            FactLimits.text(document.string(ControlKey.videoProtocol)),
        ].compactMap { $0 }
        return words.isEmpty ? nil : words.joined(separator: " ")
    }

    fileprivate mutating func apply(_ summary: StreamSummary, _ entry: TrafficEntry) {
        guard
            let index = services.firstIndex(where: {
                $0.service == entry.service && $0.sessionID == entry.sessionID
            })
        else { return }
        if summary.frames > 0 {
            services[index].bitRate = summary.bitRate
            services[index].messageRate = summary.messageRate
            services[index].lastData = entry.time
        }
        services[index].totalFrames = summary.totalFrames
        services[index].totalBytes = summary.totalBytes
    }

    fileprivate mutating func end(_ session: UInt8) {
        sessions.removeAll { $0 == session }
        services.removeAll { $0.sessionID == session }
        openRequests = openRequests.filter { $0.value.sessionID != session }
        if sessions.isEmpty { endAllSessions() }
    }

    fileprivate mutating func end(_ service: ServiceType, _ session: UInt8) {
        services.removeAll { $0.service == service && $0.sessionID == session }
    }

    fileprivate mutating func endAllSessions() {
        sessions = []
        services = []
        openRequests = [:]
        protocolVersion = nil
        rpcVersion = nil
        unregister()
    }

    /// What the head unit kept for the registration is gone; files may remain.
    fileprivate mutating func unregister() {
        isRegistered = false
        hmiLevel = nil
        audioStreamingState = nil
        videoStreamingState = nil
        systemContext = nil
        permissions = PermissionTable()
        capabilities = CapabilityFacts()
        subscriptions = SubscriptionFacts()
        menu = MenuFacts()
        files = FileFacts()
    }
}

// MARK: - RPCs of one app

extension AppFacts {
    fileprivate mutating func apply(
        _ rpc: RPCEntry, _ entry: TrafficEntry, _ recent: inout RecentPermissions
    ) {
        let message = rpc.message
        switch message.type {
        case .request: request(rpc, entry)
        case .response: response(rpc, entry)
        case .notification:
            if entry.direction == .fromAccessory { notification(message, entry, &recent) }
        }
    }

    private mutating func request(_ rpc: RPCEntry, _ entry: TrafficEntry) {
        let message = rpc.message
        if let replaced = rpc.replaced { openRequests[replaced.number] = nil }
        if openRequests.count >= FactLimits.openRequests { giveUpOldestRequests() }
        openRequests[entry.number] = OpenRequest(
            function: message.functionName, correlationID: message.correlationID,
            sessionID: entry.sessionID ?? 0, direction: entry.direction ?? .fromApp,
            time: entry.time, intent: Intent(message, at: entry.time))
        guard entry.direction == .fromApp else { return }
        requestCount += 1
        if message.functionID == .registerAppInterface {
            name = entry.appName
            appID = entry.registeredAppID
            registration = RegistrationFacts(message.parameters, at: entry.time)
        }
    }

    /// Drops a quarter of the requests at once, because finding the oldest takes a search.
    private mutating func giveUpOldestRequests() {
        for number in openRequests.keys.sorted().prefix(FactLimits.openRequests / 4) {
            openRequests[number] = nil
        }
    }

    private mutating func response(_ rpc: RPCEntry, _ entry: TrafficEntry) {
        let intent = rpc.request.flatMap { openRequests.removeValue(forKey: $0.number)?.intent }
        guard let outcome = rpc.outcome else { return }
        let parameters = rpc.message.parameters
        if rpc.message.functionID == .registerAppInterface {
            registration?.answered(outcome, parameters, at: entry.time)
        }
        guard outcome.success else {
            if entry.direction == .fromAccessory { failureCount += 1 }
            lastFailure = Self.sentence(rpc, outcome)
            return
        }
        if let intent { carryOut(intent, parameters) }
        switch rpc.message.functionID {
        case .registerAppInterface:
            isRegistered = true
            // A registration with another name renames the app from now on.
            name = entry.appName
            appID = entry.registeredAppID
            rpcVersion = SDLVersion(parameters.object("syncMsgVersion"))
            capabilities.learn(fromRegistration: parameters, at: entry.time)
        case .unregisterAppInterface: unregister()
        case .getSystemCapability: capabilities.learn(from: parameters, at: entry.time)
        case .getVehicleData: subscriptions.learn(parameters, at: entry.time)
        case .putFile, .deleteFile:
            files.spaceAvailable = parameters.integer("spaceAvailable") ?? files.spaceAvailable
        case .listFiles:
            files.spaceAvailable = parameters.integer("spaceAvailable") ?? files.spaceAvailable
            let names = parameters.array("filenames")
            files.list(
                (names?.elements ?? []).compactMap {
                    FactLimits.text(names?.string($0), limit: FactLimits.fileName)
                }, at: entry.time)
        default: break
        }
    }

    private mutating func notification(
        _ message: RPCMessage, _ entry: TrafficEntry, _ recent: inout RecentPermissions
    ) {
        let parameters = message.parameters
        switch message.functionID {
        case .onAppInterfaceUnregistered:
            unregister()
            let reason = FactLimits.text(parameters.string("reason")) ?? "no reason given"
            lastFailure = "unregistered by the head unit: \(reason)"
        case .onHMIStatus:
            // Other windows than the main one are widgets.
            guard (parameters.integer("windowID") ?? 0) == 0 else { return }
            hmiLevel = parameters.string("hmiLevel").flatMap(HMILevel.init(rawValue:))
            audioStreamingState = FactLimits.text(parameters.string("audioStreamingState"))
            videoStreamingState = FactLimits.text(parameters.string("videoStreamingState"))
            systemContext = FactLimits.text(parameters.string("systemContext"))
            remember(
                HMIStatus(
                    time: entry.time, level: hmiLevel, audioStreamingState: audioStreamingState,
                    videoStreamingState: videoStreamingState, systemContext: systemContext))
        case .onPermissionsChange:
            guard let change = recent.read(parameters) else { return }
            permissions.update(change, at: entry.time)
        case .onSystemCapabilityUpdated: capabilities.learn(from: parameters, at: entry.time)
        case .onVehicleData: subscriptions.learn(parameters, at: entry.time)
        default: break
        }
    }

    private mutating func remember(_ status: HMIStatus) {
        if let last = hmiHistory.last, status.saysSame(as: last) { return }
        if hmiHistory.count == FactLimits.history { hmiHistory.removeFirst() }
        hmiHistory.append(status)
    }

    private static func sentence(_ rpc: RPCEntry, _ outcome: RPCOutcome) -> String {
        let function = rpc.request?.functionID.description ?? rpc.message.functionName
        let correlation = rpc.message.correlationID.map { " #\($0)" } ?? ""
        let code = outcome.resultCode.isEmpty ? "failed" : outcome.resultCode
        let info = rpc.message.parameters.string("info").map { " (\($0))" } ?? ""
        return PrintableText.string("\(function)\(correlation): \(code)\(info)", limit: 200)
    }
}

extension RegistrationFacts {
    fileprivate init(_ parameters: JSONObject, at time: WallTime) {
        requestedAt = time
        requestedVersion = SDLVersion(parameters.object("syncMsgVersion"))
        isMediaApplication = parameters.bool("isMediaApplication")
        hmiTypes = Self.texts(parameters.array("appHMIType"))
        vrSynonyms = Self.texts(parameters.array("vrSynonyms"))
        languageDesired = FactLimits.text(parameters.string("languageDesired"))
        hmiDisplayLanguageDesired = FactLimits.text(
            parameters.string("hmiDisplayLanguageDesired"))
        wantsResumption = parameters.string("hashID") != nil
    }

    fileprivate mutating func answered(
        _ outcome: RPCOutcome, _ parameters: JSONObject, at time: WallTime
    ) {
        answeredAt = time
        resultCode = FactLimits.text(outcome.resultCode)
        info = FactLimits.text(parameters.string("info"), limit: FactLimits.value)
        language = FactLimits.text(parameters.string("language"))
        hmiDisplayLanguage = FactLimits.text(parameters.string("hmiDisplayLanguage"))
        iconResumed = parameters.bool("iconResumed")
    }

    private static func texts(_ array: JSONArray?) -> [String] {
        guard let array else { return [] }
        return array.elements.prefix(FactLimits.parameters)
            .compactMap { FactLimits.text(array.string($0)) }
    }
}
