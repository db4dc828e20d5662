import ControlAPI
import RelayCore
import Replays
import SDLProtocol
import Traces

/// The apps of a recording that were granted a session, from which one is chosen.
struct RecordedAppChoice {
    struct App {
        var id: AppID
        var registration: RecordedRegistration?

        var name: String {
            guard let registration else { return "an app that did not register" }
            return registration.name.isEmpty ? registration.appID : registration.name
        }
    }

    private(set) var apps: [App] = []
    /// Apps beyond this number are not told apart.
    private static let maximumApps = 1000

    /// Reads the whole file.
    ///
    /// - Throws: `TraceFileError`.
    init(_ path: String) throws(TraceFileError) {
        let recording = try Recording(path, .headUnit)
        while true {
            let batch = try recording.next()
            for step in batch.steps { read(step) }
            if batch.isLast { return }
        }
    }

    private mutating func read(_ step: RecordedStep) {
        let index = apps.firstIndex { $0.id == step.app }
        if index == nil, apps.count < Self.maximumApps,
            case .fromHeadUnit(let message) = step.content,
            case .control(.startServiceACK) = message.kind
        {
            apps.append(App(id: step.app))
        } else if let index, apps[index].registration == nil {
            apps[index].registration = step.registration
        }
    }

    /// - Parameter name: Name or app ID; nil where there is only one.
    /// - Throws: `TraceFailure`.
    func app(_ name: String?, in path: String) throws(TraceFailure) -> App {
        guard let first = apps.first else {
            throw TraceFailure(
                "\(path): no app was granted a session in this recording; start the recording "
                    + "before the app connects")
        }
        let names = Set(apps.map { SafeText.clean($0.name) }).sorted().joined(separator: ", ")
        guard let name else {
            let registered = apps.filter { $0.registration != nil }
            guard Set(registered.map(\.name)).count <= 1 else {
                throw TraceFailure(
                    "\(path) has several apps: \(names); say which one with --app NAME")
            }
            return registered.first ?? first
        }
        guard
            let found = apps.first(where: { $0.name == name || $0.registration?.appID == name })
        else {
            throw TraceFailure("\(path) has no app \"\(name)\"; it has \(names)")
        }
        return found
    }
}
