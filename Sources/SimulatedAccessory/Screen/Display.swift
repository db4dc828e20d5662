// Requests about the template of an app's screen, and about its capabilities.

import SDLProtocol

extension SimulatedAccessory {
    mutating func answerDisplay(_ request: Request) {
        switch request.functionID {
        case .show: showTemplate(request)
        case .setDisplayLayout: setLayout(request)
        default: tellCapability(request)
        }
    }

    /// An unknown template is refused when nothing else is to be shown; otherwise it is a warning.
    private mutating func showTemplate(_ request: Request) {
        let id = request.sessionID
        guard let name = request["templateConfiguration"]?["template"]?.string,
            let app = sessions[id]?.app, app.rpcVersion.major >= 6
        else {
            respond(to: request, .success)
            return
        }
        var request = request
        let template = Template.named(name, for: app.kind)
        if template == nil, !configuration.isLenient {
            let info = "there is no template \"\(PrintableText.string(name, limit: 100))\""
            guard request.parameters?.members.count != 1 else {
                respond(to: request, .unsupportedRequest, info: info)
                return
            }
            request.warnings.append(info)
        }
        respond(to: request, .success)
        change(to: template ?? app.template, of: id)
    }

    private mutating func setLayout(_ request: Request) {
        let id = request.sessionID
        guard let app = sessions[id]?.app else { return }
        let name = request["displayLayout"]?.string ?? ""
        let template = Template.named(name, for: app.kind)
        guard let template = template ?? (configuration.isLenient ? app.template : nil) else {
            respond(
                to: request, .unsupportedRequest,
                info: "there is no template \"\(PrintableText.string(name, limit: 100))\"")
            return
        }
        let capabilities = Capabilities(rpcVersion: app.rpcVersion, template: template)
        respond(to: request, .success, capabilities.display)
        change(to: template, of: id)
    }

    private mutating func change(to template: Template, of id: UInt8) {
        guard sessions[id]?.app?.template != template else { return }
        sessions[id]?.app?.template = template
        tellDisplays(to: id)
    }

    /// Tells an app the capabilities of its screen; before RPC 6 there is no such notification.
    mutating func tellDisplays(to id: UInt8) {
        guard let app = sessions[id]?.app, app.rpcVersion.major >= 6 else { return }
        let capabilities = Capabilities(rpcVersion: app.rpcVersion, template: app.template)
        notify(
            .onSystemCapabilityUpdated, ["systemCapability": capabilities.displays], to: id)
    }

    private mutating func tellCapability(_ request: Request) {
        guard let app = sessions[request.sessionID]?.app else { return }
        let type = request["systemCapabilityType"]?.string ?? ""
        let capabilities = Capabilities(rpcVersion: app.rpcVersion, template: app.template)
        if let capability = capabilities.system(type) {
            respond(to: request, .success, ["systemCapability": capability])
        } else {
            respond(to: request, .unsupportedResource, info: "no capability \(type)")
        }
    }
}
