// What the traffic tells about apps and head unit, for status rows; fed by `TrafficObserver`.

package import SDLProtocol
import Synchronization

/// What is known of one app connection. With several sessions on it, the latest word counts.
package struct AppFacts: Hashable, Sendable {
    /// As it registered; kept after unregistering, until the connection closes.
    package var name: String?
    package var appID: String?
    /// The head unit has accepted its registration and nobody ended it since.
    package var isRegistered = false
    /// Of the main window; nil before the first OnHMIStatus.
    package var hmiLevel: HMILevel?
    /// AUDIBLE, ATTENUATED or NOT_AUDIBLE.
    package var audioStreamingState: String?
    /// MAIN, VRSESSION, MENU, HMI_OBSCURED or ALERT.
    package var systemContext: String?
    /// Full version of the session, "5.4.0", or only "4" where the ACK says no more.
    package var protocolVersion: String?
    /// What the head unit answered to the registration.
    package var rpcVersion: RPCVersion?
    /// Running sessions, in order.
    package var sessions: [UInt8] = []
    /// "AddCommand #12: DISALLOWED (info)"; nil while everything succeeds.
    package var lastFailure: String?
    package var lastFailureTime: WallTime?

    package init() {}
}

/// What the head unit tells about itself.
package struct HeadUnitFacts: Hashable, Sendable {
    package var make: String?
    package var model: String?
    package var modelYear: String?
    package var trim: String?
    package var softwareVersion: String?
    package var hardwareVersion: String?
    /// Of its SDL implementation, from a registration: "SmartDeviceLink_Core_Version_8.2.0".
    package var sdlVersion: String?
    /// Highest full protocol version it granted.
    package var protocolVersion: String?

    package init() {}
}

/// Keeps facts from decoded traffic; readable from anywhere at the price of a lock and a copy.
package final class SessionFacts: TrafficConsumer {
    /// Scalars kept of any text of a peer.
    private static let textLimit = 100

    private struct State {
        var apps: [AppID: AppFacts] = [:]
        /// Names of apps that left, oldest first.
        var departed: [(app: AppID, name: String)] = []
        var headUnit = HeadUnitFacts()
    }

    /// Departed apps whose names are kept: as many as the status shows, and some that left in
    /// between.
    private static let departedCount = 16

    private let state = Mutex(State())

    package init() {}

    /// The name of an app that left not long ago.
    package func name(ofDeparted app: AppID) -> String? {
        state.withLock { state in state.departed.first { $0.app == app }?.name }
    }

    /// Connected apps that said anything so far.
    package func facts() -> [AppID: AppFacts] {
        state.withLock { $0.apps }
    }

    package func headUnit() -> HeadUnitFacts {
        state.withLock { $0.headUnit }
    }

    package func consume(_ entries: [TrafficEntry]) async {
        state.withLock { state in
            for entry in entries { Self.consume(entry, &state) }
        }
    }

    private static func consume(_ entry: TrafficEntry, _ state: inout State) {
        switch entry.content {
        case .rpc(let rpc):
            if entry.fate != .byRelay { consume(rpc, entry, &state) }
        case .control(let control): consume(control, entry, &state)
        case .event(let event): consume(event, entry, &state)
        case .stream, .security, .encrypted, .undecodable, .dropped: break
        }
    }

    private static func consume(_ event: EventEntry, _ entry: TrafficEntry, _ state: inout State) {
        switch event {
        case .appConnected:
            if let app = entry.app { state.apps[app] = AppFacts() }
        case .appClosed:
            guard let app = entry.app, let left = state.apps.removeValue(forKey: app) else {
                return
            }
            guard let name = left.name else { return }
            state.departed.append((app, name))
            if state.departed.count > departedCount { state.departed.removeFirst() }
        case .linkOpened: state.headUnit = HeadUnitFacts()
        case .linkClosed:
            state.headUnit = HeadUnitFacts()
            for app in state.apps.keys { state.apps[app]?.endAllSessions() }
        case .missed, .unanswered, .unansweredStart, .noticed: break
        }
    }

    // MARK: Control frames

    private static func consume(
        _ control: ControlEntry, _ entry: TrafficEntry, _ state: inout State
    ) {
        guard entry.service == .rpc, let session = entry.sessionID else { return }
        switch control.type {
        case .startServiceACK:
            let document = control.payload.document
            let version = text(document?.string(ControlKey.protocolVersion))
            state.headUnit.learn(from: document, version: version)
            guard let app = entry.app, state.apps[app] != nil else { return }
            state.apps[app]?.protocolVersion = version ?? "\(control.version)"
            if state.apps[app]?.sessions.contains(session) == false {
                state.apps[app]?.sessions.append(session)
                state.apps[app]?.sessions.sort()
            }
        case .endServiceACK:
            guard let app = entry.app else { return }
            state.apps[app]?.end(session)
        case .startServiceNAK:
            guard let app = entry.app, state.apps[app] != nil else { return }
            let reason = text(control.payload.document?.string(ControlKey.reason))
            let sentence = "StartService refused" + (reason.map { ": \($0)" } ?? "")
            state.apps[app]?.fail(sentence, at: entry.time)
        default: break
        }
    }

    // MARK: RPCs

    private static func consume(_ rpc: RPCEntry, _ entry: TrafficEntry, _ state: inout State) {
        guard let app = entry.app, state.apps[app] != nil else { return }
        let parameters = rpc.message.parameters
        switch (rpc.message.functionID, rpc.message.type) {
        case (.registerAppInterface, .request):
            state.apps[app]?.name = entry.appName
            state.apps[app]?.appID = entry.registeredAppID
        case (.registerAppInterface, .response):
            if rpc.outcome?.success == true {
                state.apps[app]?.isRegistered = true
                state.apps[app]?.rpcVersion = RPCVersion(parameters.object("syncMsgVersion"))
                state.headUnit.learn(from: parameters)
            }
        case (.unregisterAppInterface, .response):
            if rpc.outcome?.success == true { state.apps[app]?.unregister() }
        case (.onAppInterfaceUnregistered, .notification):
            state.apps[app]?.unregister()
            let reason = text(parameters.string("reason")) ?? "no reason given"
            state.apps[app]?.fail("unregistered by the head unit: \(reason)", at: entry.time)
        case (.onHMIStatus, .notification):
            // Other windows than the main one are widgets.
            guard (parameters.integer("windowID") ?? 0) == 0 else { return }
            state.apps[app]?.hmiLevel =
                parameters.string("hmiLevel").flatMap(HMILevel.init(rawValue:))
            state.apps[app]?.audioStreamingState = text(parameters.string("audioStreamingState"))
            state.apps[app]?.systemContext = text(parameters.string("systemContext"))
        default: break
        }
        if let outcome = rpc.outcome, !outcome.success {
            state.apps[app]?.fail(sentence(rpc, outcome), at: entry.time)
        }
    }

    private static func sentence(_ rpc: RPCEntry, _ outcome: RPCOutcome) -> String {
        let function = rpc.request?.functionID.description ?? rpc.message.functionName
        let correlation = rpc.message.correlationID.map { " #\($0)" } ?? ""
        let code = outcome.resultCode.isEmpty ? "failed" : outcome.resultCode
        let info = rpc.message.parameters.string("info").map { " (\($0))" } ?? ""
        return PrintableText.string("\(function)\(correlation): \(code)\(info)", limit: 200)
    }

    fileprivate static func text(_ text: String?) -> String? {
        text.map { PrintableText.string($0, limit: textLimit) }
    }
}

extension AppFacts {
    fileprivate mutating func fail(_ sentence: String, at time: WallTime) {
        lastFailure = sentence
        lastFailureTime = time
    }

    fileprivate mutating func unregister() {
        isRegistered = false
        hmiLevel = nil
        audioStreamingState = nil
        systemContext = nil
    }

    fileprivate mutating func end(_ session: UInt8) {
        sessions.removeAll { $0 == session }
        if sessions.isEmpty { endAllSessions() }
    }

    fileprivate mutating func endAllSessions() {
        sessions = []
        protocolVersion = nil
        rpcVersion = nil
        unregister()
    }
}

extension HeadUnitFacts {
    /// From a StartServiceACK of protocol 5.4 or later.
    fileprivate mutating func learn(from document: BSONDocument?, version: String?) {
        protocolVersion = version ?? protocolVersion
        guard let document else { return }
        make = SessionFacts.text(document.string(ControlKey.make)) ?? make
        model = SessionFacts.text(document.string(ControlKey.model)) ?? model
        modelYear = SessionFacts.text(document.string("modelYear")) ?? modelYear
        trim = SessionFacts.text(document.string("trim")) ?? trim
        softwareVersion =
            SessionFacts.text(document.string("systemSoftwareVersion")) ?? softwareVersion
        hardwareVersion =
            SessionFacts.text(document.string("systemHardwareVersion")) ?? hardwareVersion
    }

    /// From the response to a RegisterAppInterface.
    fileprivate mutating func learn(from parameters: JSONObject) {
        softwareVersion =
            SessionFacts.text(parameters.string("systemSoftwareVersion")) ?? softwareVersion
        hardwareVersion =
            SessionFacts.text(parameters.string("systemHardwareVersion")) ?? hardwareVersion
        sdlVersion = SessionFacts.text(parameters.string("sdlVersion")) ?? sdlVersion
        guard let vehicle = parameters.object("vehicleType") else { return }
        make = SessionFacts.text(vehicle.string("make")) ?? make
        model = SessionFacts.text(vehicle.string("model")) ?? model
        modelYear = SessionFacts.text(vehicle.string("modelYear")) ?? modelYear
        trim = SessionFacts.text(vehicle.string("trim")) ?? trim
    }
}
