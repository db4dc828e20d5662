import DidYouMean
package import MessageFilters
import RelayCore
package import SDLProtocol

/// Selects entries by app, function, service, priority and a filter text; if everything is empty, all pass.
/// Made from the configuration or a request to the control API, applied by `TrafficLog` and `MessageFilter`.
///
/// A log also shows entries that have no app, service or function to select by: link events pass every filter
/// but the priority, because the rest makes no sense without them. When functions are selected by name, only
/// RPCs and events are shown. A look back shows only what was asked for (`isStrict`).
package struct TrafficFilter: Hashable, Sendable {
    /// App names, app IDs, or connections as "#1" or "1"; case does not matter.
    package private(set) var apps: Set<String>
    /// The connections among them.
    private var connections: Set<AppID>
    /// Whether a choice of apps, services or functions excludes entries that have none. An entry about missed
    /// frames always passes: their contents are unknown.
    package var isStrict = false
    package var services: Set<ServiceType>
    package var minimumPriority: TrafficPriority
    /// The user's filter text. Each entry is judged by itself, when it comes: it is not known yet whether a
    /// request will fail.
    package var expression = FilterExpression.everything
    private var shownFunctions: Set<FunctionID> = []
    private var hiddenFunctions: Set<FunctionID> = []

    /// - Parameter functions: Names in the RPC specification, in any case; with a leading "!", those
    ///   functions are left out.
    package init(
        apps: [String] = [], functions: [String] = [], services: Set<ServiceType> = [],
        minimumPriority: TrafficPriority = .debug
    ) throws(TrafficFilterError) {
        self.apps = Set(apps.map { $0.lowercased() })
        connections = Set(
            apps.compactMap { UInt64($0.hasPrefix("#") ? $0.dropFirst() : $0[...]) }
                .map(AppID.init))
        self.services = services
        self.minimumPriority = minimumPriority
        for text in functions {
            let isHidden = text.hasPrefix("!")
            let name = String(isHidden ? text.dropFirst() : text[...])
            guard let function = FunctionID(anyCase: name) else {
                throw TrafficFilterError(
                    unknownFunction: name,
                    didYouMean: Spelling.nearest(name, in: FunctionID.all.map(\.name)))
            }
            if isHidden {
                hiddenFunctions.insert(function)
            } else {
                shownFunctions.insert(function)
            }
        }
    }

    /// Lets everything pass.
    package static let everything = TrafficFilter()

    private init() {
        apps = []
        connections = []
        services = []
        minimumPriority = .debug
    }

    package func accepts(_ entry: TrafficEntry) -> Bool {
        guard entry.isForPeople, entry.priority >= minimumPriority else { return false }
        if case .event(.missed) = entry.content { return true }
        guard services.isEmpty || entry.service.map(services.contains) ?? !isStrict else {
            return false
        }
        guard acceptsApp(of: entry) && acceptsFunction(of: entry) else { return false }
        return expression.isEverything
            || expression.accepts(FilteredEntry(entry, ring: nil)) == true
    }

    /// The names that a filter text may use.
    package static let names = FilterNames(functions: FunctionID.all.map(\.name))

    private func acceptsApp(of entry: TrafficEntry) -> Bool {
        guard !apps.isEmpty else { return true }
        guard let app = entry.app else { return !isStrict }
        return connections.contains(app)
            || entry.appName.map { apps.contains($0.lowercased()) } ?? false
            || entry.registeredAppID.map { apps.contains($0.lowercased()) } ?? false
    }

    private func acceptsFunction(of entry: TrafficEntry) -> Bool {
        guard !shownFunctions.isEmpty || !hiddenFunctions.isEmpty else { return true }
        let functions: [FunctionID]
        switch entry.content {
        case .rpc(let rpc):
            functions = [rpc.message.functionID, rpc.request?.functionID ?? rpc.message.functionID]
        case .undecodable(let undecodable):
            guard let header = undecodable.header else { return shownFunctions.isEmpty }
            functions = [FunctionID(rawValue: header.functionID)]
        case .dropped(let dropped):
            guard let rpc = dropped.rpc else { return shownFunctions.isEmpty }
            functions = [rpc.functionID]
        case .event(.unanswered(let request, _)): functions = [request.functionID]
        case .event: return !isStrict || shownFunctions.isEmpty
        case .control, .stream, .security, .encrypted: return shownFunctions.isEmpty
        }
        return functions.allSatisfy { !hiddenFunctions.contains($0) }
            && (shownFunctions.isEmpty || functions.contains(where: shownFunctions.contains))
    }
}

/// A filter names a function that does not exist.
package struct TrafficFilterError: Error, Hashable, Sendable, CustomStringConvertible {
    package var unknownFunction: String
    package var didYouMean: String?

    package var description: String {
        let hint = didYouMean.map { "; did you mean '\($0)'?" } ?? ""
        let shown = PrintableText.string(unknownFunction, limit: 100)
        return "unknown RPC function '\(shown)', expected a name of the RPC "
            + "specification such as Show or OnHMIStatus\(hint)"
    }
}

extension FunctionID {
    /// The function of that name, ignoring case.
    fileprivate init?(anyCase name: String) {
        let wanted = name.lowercased()
        guard let found = Self.all.first(where: { $0.name.lowercased() == wanted }) else {
            return nil
        }
        self = found.id
    }
}
