import ControlAPI
import SDLProtocol

/// Finds the app that a person means: by number, name or app ID. Used by `AppHandlers`.
struct AppLookup {
    let status: StatusSnapshot

    /// The app whose number ("3" or "#3"), name or app ID is `wanted`; upper and lower case of a
    /// name do not matter.
    ///
    /// - Throws: `APIError` that lists who is there.
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
        throw APIError(.notFound, "there is no app \"\(shown)\"; \(whoIsThere(wanted))")
    }

    private func whoIsThere(_ wanted: String) -> String {
        let gone = status.recentDepartures.first {
            $0.appName?.lowercased() == wanted.lowercased() || "\($0.id)" == wanted
                || "#\($0.id)" == wanted
        }
        if let gone { return "it left at \(gone.closedAt): \(gone.reason)" }
        guard !status.apps.isEmpty else { return "no app is connected" }
        let list = status.apps.prefix(Self.maximumListed).map { app in
            "#\(app.id)" + (app.appName.map { " \($0)" } ?? " (not registered)")
        }.joined(separator: ", ")
        let more = status.apps.count - Self.maximumListed
        return "connected: \(list)" + (more > 0 ? " and \(more) more" : "")
    }

    /// A message that still fits a screen.
    private static let maximumListed = 16
}
