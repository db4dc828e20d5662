import ControlAPI
import MessageFilters
import SDLProtocol

/// Finds the app that a person means: by number, name or app ID. Used by `AppFinder`.
struct AppLookup {
    let status: StatusSnapshot

    /// The app whose number ("3" or "#3"), name or app ID is `wanted`, else the only one whose name or
    /// app ID contains it or matches its wildcards. The case of a name does not matter.
    ///
    /// - Throws: `APIError` that lists the connected apps.
    func find(_ wanted: String) throws(APIError) -> AppStatus {
        let number = Int(wanted.hasPrefix("#") ? String(wanted.dropFirst()) : wanted)
        if let number, let app = status.apps.first(where: { $0.id == number }) { return app }
        let named = status.apps.filter {
            $0.appName?.lowercased() == wanted.lowercased() || $0.appID == wanted
        }
        if named.count == 1 { return named[0] }
        let shown = PrintableText.string(wanted, limit: 100)
        guard named.isEmpty else {
            let list = named.map { "#\($0.id) (\($0.peer))" }.joined(separator: ", ")
            throw APIError(
                .ambiguous,
                "\(named.count) apps are called \"\(shown)\": \(list); say which by number")
        }
        // Many IDs contain digits.
        let isPart = number == nil && !wanted.isEmpty
        let pattern = TextPattern(typed: wanted)
        let fitting = status.apps.filter {
            $0.appName.map(pattern.matches) ?? false || $0.appID.map(pattern.matches) ?? false
        }
        if isPart, fitting.count == 1 { return fitting[0] }
        guard !isPart || fitting.isEmpty else {
            throw APIError(
                .ambiguous,
                "\"\(shown)\" fits \(fitting.count) apps: \(Self.list(fitting)); say which by number"
            )
        }
        throw APIError(.notFound, "there is no app \"\(shown)\"; \(whoIsThere(wanted))")
    }

    private func whoIsThere(_ wanted: String) -> String {
        let gone = status.recentDepartures.first {
            $0.appName?.lowercased() == wanted.lowercased() || "\($0.id)" == wanted
                || "#\($0.id)" == wanted
        }
        if let gone { return "it left at \(gone.closedAt): \(gone.reason)" }
        guard !status.apps.isEmpty else { return "no app is connected" }
        return "connected: \(Self.list(status.apps))"
    }

    private static func list(_ apps: [AppStatus]) -> String {
        let list = apps.prefix(maximumListed).map { app in
            "#\(app.id)" + (app.appName.map { " \($0)" } ?? " (not registered)")
        }.joined(separator: ", ")
        let more = apps.count - maximumListed
        return list + (more > 0 ? " and \(more) more" : "")
    }

    /// As many as still fit on a screen.
    private static let maximumListed = 16
}
