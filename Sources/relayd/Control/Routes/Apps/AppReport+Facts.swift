// The control API's picture of an app, drawn from what the observers know. Used by `AppHandlers` and
// `StatusReporter`.

import ControlAPI
import RelayCore
import SDLAdvice
import SDLProtocol
import SDLTraffic

extension AppReport {
    init(app: AppStatus, facts: AppFacts, now: WallTime, advice: [Advice]) {
        self.init(app: app)
        registration = facts.registration.map { RegistrationReport($0, version: facts.rpcVersion) }
        hmi = facts.hmiHistory.reversed().map(HMIStatusReport.init)
        permissions = facts.permissions.items.sorted { $0.key < $1.key }
            .map { PermissionReport($0.key, $0.value, of: facts) }
        capabilities = CapabilityReport(facts.capabilities)
        files = FilesReport(facts.files)
        subscriptions = SubscriptionsReport(facts.subscriptions)
        menu = MenuReport(facts.menu)
        services = facts.services.map { ServiceReport($0, now: now) }
        pending = facts.openRequests.sorted { $0.key < $1.key }
            .map { PendingReport($0.value, entry: $0.key) }
        requests = facts.requestCount
        failures = facts.failureCount
        self.advice = advice.reversed().map(AdviceReport.init)
    }
}

extension RegistrationReport {
    fileprivate init(_ facts: RegistrationFacts, version: SDLVersion?) {
        self.init(requestedAt: Timestamp(facts.requestedAt))
        requestedVersion = facts.requestedVersion?.description
        self.version = version?.description
        hmiTypes = facts.hmiTypes
        vrSynonyms = facts.vrSynonyms
        isMedia = facts.isMediaApplication
        languageDesired = facts.languageDesired
        displayLanguageDesired = facts.hmiDisplayLanguageDesired
        wantsResumption = facts.wantsResumption
        answeredAt = facts.answeredAt.map { Timestamp($0) }
        resultCode = facts.resultCode
        info = facts.info
        language = facts.language
        displayLanguage = facts.hmiDisplayLanguage
    }
}

extension HMIStatusReport {
    fileprivate init(_ status: HMIStatus) {
        self.init(
            at: Timestamp(status.time), level: status.level?.rawValue,
            audio: status.audioStreamingState, video: status.videoStreamingState,
            context: status.systemContext)
    }
}

extension PermissionReport {
    fileprivate init(
        _ name: String, _ permission: Permission, answer: MayIt? = nil, of facts: AppFacts
    ) {
        self.init(rpc: name)
        self.answer = answer ?? MayIt(PermissionVerdict(name, of: facts))
        allowed = permission.allowed.levels.map(\.rawValue)
        userDisallowed = permission.userDisallowed.levels.map(\.rawValue)
        allowedParameters = permission.allowedParameters
        userDisallowedParameters = permission.userDisallowedParameters
        requiresEncryption = permission.requiresEncryption
        at = facts.permissions.time(of: name).map { Timestamp($0) }
    }
}

extension MayIt {
    fileprivate init(_ verdict: PermissionVerdict) {
        self.init(rawValue: verdict.answer.rawValue)
    }
}

extension PermissionAnswer {
    init(app: AppStatus, rpc: String, facts: AppFacts) {
        let verdict = PermissionVerdict(rpc, of: facts)
        self.init(
            app: app.id, appName: app.appName, rpc: rpc,
            answer: MayIt(verdict), cause: verdict.cause.rawValue,
            reason: verdict.reason, remedy: verdict.remedy, hmiLevel: facts.hmiLevel?.rawValue,
            permission: verdict.permission.map {
                PermissionReport(rpc, $0, answer: MayIt(verdict), of: facts)
            })
    }
}

extension CapabilityReport {
    fileprivate init(_ facts: CapabilityFacts) {
        self.init()
        displayName = facts.displayName
        displayWidth = facts.displayWidth
        displayHeight = facts.displayHeight
        graphic = facts.graphicSupported
        textFields = facts.textFields
        imageFields = facts.imageFields
        templates = facts.templates
        buttons = facts.buttons
        videoWidth = facts.videoWidth
        videoHeight = facts.videoHeight
        maximumVideoKilobits = facts.maximumVideoBitRate
        videoFormats = facts.videoFormats
        reported = facts.reported.keys.sorted()
    }
}

extension FilesReport {
    fileprivate init(_ facts: FileFacts) {
        self.init()
        spaceAvailable = facts.spaceAvailable
        isListed = facts.listedAt != nil
        files = facts.files.sorted { $0.key < $1.key }.map { name, file in
            var report = FileReport(name: name)
            guard let time = file.time else { return report }
            report.type = file.type
            report.bytes = file.receivedBytes
            report.totalBytes = file.totalBytes
            report.isPersistent = file.isPersistent
            report.at = Timestamp(time)
            return report
        }
    }
}

extension SubscriptionsReport {
    fileprivate init(_ facts: SubscriptionFacts) {
        self.init()
        buttons = facts.buttons.sorted()
        wayPoints = facts.hasWayPoints
        vehicleData = facts.vehicleData.sorted.map { name, datum in
            VehicleDatumReport(
                name: name, isSubscribed: datum.isSubscribed, value: datum.value,
                at: datum.time.map { Timestamp($0) })
        }
    }
}

extension MenuReport {
    fileprivate init(_ facts: MenuFacts) {
        self.init()
        commands = facts.commands.sorted { $0.key < $1.key }.map { id, command in
            CommandReport(
                id: id, name: command.name, parent: command.parentID, spoken: command.vrCommands)
        }
        subMenus = facts.subMenus.sorted { $0.key < $1.key }
            .map { SubMenuReport(id: $0.key, name: $0.value) }
        choiceSets = facts.choiceSets.sorted { $0.key < $1.key }
            .map { ChoiceSetReport(id: $0.key, choices: $0.value) }
    }
}

extension ServiceReport {
    /// Nanoseconds of silence after which a stream no longer counts as running: streams are summed
    /// up every second.
    private static let silence: Int64 = 3_000_000_000

    fileprivate init(_ facts: ServiceFacts, now: WallTime) {
        self.init(
            service: facts.service.name, session: Int(facts.sessionID),
            since: Timestamp(facts.since))
        isProtected = facts.isProtected
        mtu = facts.mtu
        format = facts.format
        guard facts.service.isStream else { return }
        frames = facts.totalFrames
        bytes = facts.totalBytes
        guard let last = facts.lastData, now.nanoseconds &- last.nanoseconds < Self.silence else {
            return
        }
        // Guarded because a Double that does not fit traps.
        bitsPerSecond = facts.bitRate.map { Int(min(max(0, $0), 1e12)) }
        if facts.service == .video {
            picturesPerSecond = facts.messageRate.map { (min($0, 1e6) * 10).rounded() / 10 }
        }
    }
}

extension PendingReport {
    fileprivate init(_ request: OpenRequest, entry: UInt64) {
        self.init(
            rpc: request.function, correlationID: request.correlationID.map { Int($0) },
            from: request.direction.sender,
            at: Timestamp(request.time), entry: Int(entry))
    }
}

extension AdviceReport {
    init(_ advice: Advice) {
        self.init(
            code: advice.code.rawValue, severity: advice.code.severity.rawValue,
            at: Timestamp(advice.time),
            lastAt: Timestamp(advice.lastTime), count: advice.count,
            app: advice.app.map { Int($0.rawValue) }, appName: advice.appName,
            session: advice.sessionID.map { Int($0) }, text: advice.text, remedy: advice.remedy,
            entry: Int(advice.entry), fault: advice.fault?.rawValue)
    }
}
