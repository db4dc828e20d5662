// Requests that change what an app keeps on the head unit: commands, submenus, choices, buttons.

import SDLProtocol

extension SimulatedAccessory {
    mutating func answerMenu(_ request: Request) {
        guard var app = sessions[request.sessionID]?.app else { return }
        do throws(Refusal) {
            try change(&app, request)
            if !configuration.isLenient { try RequestRules.checkTexts(of: request) }
        } catch {
            // A lenient head unit accepts every ID and every name, but its room is limited.
            guard configuration.isLenient, error.result != .outOfMemory else {
                respond(to: request, error.result, info: error.info)
                return
            }
        }
        sessions[request.sessionID]?.app = app
        respond(to: request, .success)
        if request.functionID != .showAppMenu { notifyHashChange(request.sessionID) }
    }

    private func change(_ app: inout RegisteredApp, _ request: Request) throws(Refusal) {
        switch request.functionID {
        case .addCommand: try app.menu.addCommand(request)
        case .deleteCommand: try app.menu.deleteCommand(request)
        case .addSubMenu: try app.menu.addSubMenu(request, version: app.rpcVersion)
        case .deleteSubMenu: try app.menu.deleteSubMenu(request)
        case .showAppMenu:
            guard let id = request["menuID"]?.integer, !app.menu.hasSubMenu(id) else { return }
            throw Refusal(.invalidID, "there is no submenu \(id)")
        case .createInteractionChoiceSet: try app.choices.create(request)
        case .deleteInteractionChoiceSet:
            try app.choices.delete(request, shown: shownChoiceSets(of: request.sessionID))
        case .subscribeButton:
            let name = request["buttonName"]?.string ?? ""
            // A lenient head unit accepts any name, but keeps only those of its buttons.
            guard Capabilities.buttonNames.contains(name) else { return }
            guard app.buttons.insert(name).inserted else {
                throw Refusal(.ignored, "the app is already subscribed to \(name)")
            }
        case .unsubscribeButton:
            let name = request["buttonName"]?.string ?? ""
            guard app.buttons.remove(name) != nil else {
                throw Refusal(.ignored, "the app is not subscribed to \(name)")
            }
        default: break
        }
    }
}
