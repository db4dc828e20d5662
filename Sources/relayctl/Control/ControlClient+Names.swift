// Checks whether the names that apps are chosen by exist. Used by `tail` and `log-level`, which would
// otherwise wait in silence for an app whose name is only misspelt.

import ControlAPI
import MessageFilters

/// An app that the user asks for.
struct AskedApp: Sendable {
    var pattern: TextPattern
    var connection: UInt64?

    init(_ pattern: TextPattern, _ connection: UInt64?) {
        (self.pattern, self.connection) = (pattern, connection)
    }

    /// The app as `log-level` takes it: a whole name or app ID, or a number.
    init(whole name: String) {
        pattern = TextPattern(name, .whole)
        connection = UInt64(name.hasPrefix("#") ? name.dropFirst() : name[...])
    }

    fileprivate func isIn(_ list: AppList) -> Bool {
        list.apps.contains { has($0.id, $0.appName, $0.appID) }
            || list.recentDepartures.contains { has($0.id, $0.appName, nil) }
    }

    fileprivate func has(_ id: Int, _ name: String?, _ appID: String?) -> Bool {
        connection.flatMap(Int.init(exactly:)) == id || name.map(pattern.matches) ?? false
            || appID.map(pattern.matches) ?? false
    }
}

extension FilterExpression {
    /// The apps that the filter requires for anything to be shown.
    var askedApps: [AskedApp] {
        required.flatMap { node -> [FilterTerm] in
            switch node {
            case .term(let term): [term]
            case .either(let terms): terms
            default: []
            }
        }.compactMap { term in
            guard case .app(let pattern, let connection) = term else { return nil }
            return AskedApp(pattern, connection)
        }
    }
}

extension ControlClient {
    /// Reports on standard error names that no app has, neither connected nor recently left nor in the
    /// messages that relayd keeps; and parts of names that several apps have. Failures are for the
    /// command itself to report.
    func tellUnknown(_ asked: [AskedApp]) async {
        guard !asked.isEmpty,
            let known = try? await ask(AppList.self, Routes.apps).value
        else { return }
        for app in asked {
            let name = SafeText.clean(app.pattern.text)
            let fitting = known.apps.filter { app.has($0.id, $0.appName, $0.appID) }
            if fitting.count > 1 {
                tell("\"\(name)\" fits \(fitting.count) apps, all are shown: \(Self.list(fitting))")
            }
            guard !app.isIn(known) else { continue }
            if await isKept(app) { continue }
            let list = known.apps.isEmpty ? "no app is connected" : Self.list(known.apps)
            tell("no app is called \"\(name)\" so far; \(list)")
        }
    }

    private func tell(_ text: String) {
        Output.current.write("relayctl: \(text)\n", to: .error)
    }

    /// Number of names that are listed; `relayctl apps` has the rest.
    private static let listed = 10

    static func list(_ apps: [AppStatus]) -> String {
        let names = apps.prefix(listed).map { app in
            "#\(app.id)" + (app.appName.map { " \(SafeText.clean($0))" } ?? "")
        }.joined(separator: ", ")
        return apps.count > listed ? "\(names) and \(apps.count - listed) more" : names
    }

    /// Whether relayd keeps a message of an app with this name.
    private func isKept(_ app: AskedApp) async -> Bool {
        /// Only tells whether there is a message.
        struct Messages: Decodable {
            struct Message: Decodable {}
            let messages: [Message]
        }
        var query = MessageQuery()
        let term = FilterTerm.app(app.pattern, connection: app.connection)
        query.add(.filter, FilterExpression(.term(term)).description)
        // No events: the filter lets those about missed frames pass, whatever is asked for.
        for type in ["request", "response", "notification", "control", "stream", "undecodable"] {
            query.add(.type, type)
        }
        query.add(.limit, "1")
        let found = try? await ask(Messages.self, query.path(Routes.messages)).value
        return found?.messages.isEmpty == false
    }
}
