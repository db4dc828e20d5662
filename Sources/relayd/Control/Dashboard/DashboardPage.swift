import ControlAPI
import NIOCore
import NIOHTTP1

/// The page and its files, which are part of the program, and what browsers are told about them.
/// `ControlHandlers` adds the routes.
enum DashboardPage {
    private struct File: Sendable {
        let type: String
        let bytes: [UInt8]
    }

    static func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.page) { _, _ in page }
        routes.get(Routes.pageFile) { _, context in
            guard let response = response(files[context.segment("file")]) else {
                throw APIError(.notFound, "the dashboard has no such file")
            }
            return response
        }
        routes.get(Routes.pageAccess) { request, context in
            try .json(context.gate.access(RequestGate.Head(request)))
        }
    }

    static var page: ControlResponse {
        response(files["dashboard.html"]) ?? ControlResponse(.notFound)
    }

    /// Browsers want HTML at /, where tools are content with the list of routes.
    static func isWanted(_ request: ControlRequest) -> Bool {
        request.header("Accept")?.contains("text/html") ?? false
    }

    private static func response(_ file: File?) -> ControlResponse? {
        guard let file else { return nil }
        // Not kept: small, local, and another one after an update.
        var headers = HTTPHeaders.ofMoment(file.type)
        headers.add(name: "Vary", value: "Accept")
        headers.add(name: "Content-Security-Policy", value: contentSecurityPolicy)
        headers.add(name: "X-Frame-Options", value: "DENY")
        headers.add(name: "Cross-Origin-Opener-Policy", value: "same-origin")
        return ControlResponse(.ok, headers, body: .whole(ByteBuffer(bytes: file.bytes)))
    }

    /// Nothing but these files and this relayd, no script in the page's text, and no way to make
    /// HTML from a string: what apps send is only ever text.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// Headers of every answer.
    static func harden(_ headers: inout HTTPHeaders) {
        headers.add(name: "X-Content-Type-Options", value: "nosniff")
        headers.add(name: "Cross-Origin-Resource-Policy", value: "same-origin")
        headers.add(name: "Referrer-Policy", value: "no-referrer")
    }

    private static let files: [String: File] = {
        let script = "text/javascript; charset=utf-8"
        return [
            "dashboard.html": File(
                type: "text/html; charset=utf-8", bytes: PackageResources.dashboard_html),
            "dashboard.css": File(
                type: "text/css; charset=utf-8", bytes: PackageResources.dashboard_css),
            "icon.svg": File(type: "image/svg+xml", bytes: PackageResources.icon_svg),
            "actions.js": File(type: script, bytes: PackageResources.actions_js),
            "address.js": File(type: script, bytes: PackageResources.address_js),
            "api.js": File(type: script, bytes: PackageResources.api_js),
            "cards.js": File(type: script, bytes: PackageResources.cards_js),
            "chain.js": File(type: script, bytes: PackageResources.chain_js),
            "console.js": File(type: script, bytes: PackageResources.console_js),
            "detail.js": File(type: script, bytes: PackageResources.detail_js),
            "dom.js": File(type: script, bytes: PackageResources.dom_js),
            "filter.js": File(type: script, bytes: PackageResources.filter_js),
            "keys.js": File(type: script, bytes: PackageResources.keys_js),
            "limits.js": File(type: script, bytes: PackageResources.limits_js),
            "main.js": File(type: script, bytes: PackageResources.main_js),
            "plots.js": File(type: script, bytes: PackageResources.plots_js),
            "recorded.js": File(type: script, bytes: PackageResources.recorded_js),
            "recordings.js": File(type: script, bytes: PackageResources.recordings_js),
            "saved.js": File(type: script, bytes: PackageResources.saved_js),
            "store.js": File(type: script, bytes: PackageResources.store_js),
            "stream.js": File(type: script, bytes: PackageResources.stream_js),
            "summary.js": File(type: script, bytes: PackageResources.summary_js),
            "vehicle.js": File(type: script, bytes: PackageResources.vehicle_js),
        ]
    }()
}

extension RequestGate.Head {
    init(_ request: ControlRequest) {
        self.init(
            authority: request.authority, origin: request.header("Origin"),
            fetchSite: request.header("Sec-Fetch-Site"),
            hasBrowserMark: request.head.headers.contains {
                BrowserMarks.contain($0.name.lowercased(), $0.value)
            },
            authorization: request.header("Authorization"))
    }
}
