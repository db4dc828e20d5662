// Whether anybody has the names that somebody chooses apps by. Used by `tail` and `log-level`, which
// would otherwise wait in silence for an app that is only misspelt.

import ControlAPI

extension ControlClient {
    /// Tells on standard error which names nobody has: no app that is connected or left lately, and
    /// none of the messages that relayd keeps. Failures are for the command itself to tell.
    func tellUnknown(apps names: [String]) async {
        guard !names.isEmpty,
            let known = try? await ask(AppList.self, Routes.apps).value
        else { return }
        for name in names where !known.has(name) {
            if await isKept(name) { continue }
            let there = known.apps.map { app in
                "#\(app.id)" + (app.appName.map { " \(SafeText.clean($0))" } ?? "")
            }
            let list = there.isEmpty ? "no app is connected" : there.joined(separator: ", ")
            Output.current.write(
                "relayctl: no app is called \"\(SafeText.clean(name))\" so far; \(list)\n",
                to: .error)
        }
    }

    /// Whether relayd keeps a message of an app with this name.
    private func isKept(_ name: String) async -> Bool {
        /// All that counts is whether there is one.
        struct Messages: Decodable {
            struct Message: Decodable {}
            let messages: [Message]
        }
        var query = MessageQuery()
        query.add(.app, name)
        // Events of the link pass whatever app is asked for.
        for type in ["request", "response", "notification", "control", "stream", "undecodable"] {
            query.add(.type, type)
        }
        query.add(.limit, "1")
        let found = try? await ask(Messages.self, query.path(Routes.messages)).value
        return found?.messages.isEmpty == false
    }
}

extension AppList {
    /// Whether an app that is connected or left lately has this name, app ID or number.
    fileprivate func has(_ name: String) -> Bool {
        let number = Int(name.hasPrefix("#") ? name.dropFirst() : name[...])
        let wanted = name.lowercased()
        return apps.contains {
            $0.id == number || $0.appName?.lowercased() == wanted
                || $0.appID?.lowercased() == wanted
        } || recentDepartures.contains { $0.id == number || $0.appName?.lowercased() == wanted }
    }
}
