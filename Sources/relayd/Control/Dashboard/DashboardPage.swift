// The page and its files, which are part of the program, and what browsers are told about them.
// `ControlHandlers` adds the routes.

import ControlAPI
import HTTPTypes
import HummingbirdCore
import NIOCore

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

    /// The page itself.
    static var page: Response {
        response(files["dashboard.html"]) ?? Response(status: .notFound)
    }

    /// Browsers want HTML at /, where tools are content with the list of routes.
    static func isWanted(_ request: Request) -> Bool {
        request.headers[.accept]?.contains("text/html") ?? false
    }

    private static func response(_ file: File?) -> Response? {
        guard let file else { return nil }
        var headers: HTTPFields = [
            .contentType: file.type,
            // Small, local, and another one after an update.
            .cacheControl: "no-store",
            .vary: "Accept",
            .contentSecurityPolicy: contentSecurityPolicy,
        ]
        headers[named: "X-Frame-Options"] = "DENY"
        headers[named: "Cross-Origin-Opener-Policy"] = "same-origin"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: file.bytes)))
    }

    /// Nothing but these files and this relayd, no script in the page's text, and no way to make
    /// HTML from a string: what apps send is only ever text.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// Headers of every answer.
    static func harden(_ headers: inout HTTPFields) {
        headers[.xContentTypeOptions] = "nosniff"
        headers[named: "Cross-Origin-Resource-Policy"] = "same-origin"
        headers[named: "Referrer-Policy"] = "no-referrer"
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
            "api.js": File(type: script, bytes: PackageResources.api_js),
            "cards.js": File(type: script, bytes: PackageResources.cards_js),
            "chain.js": File(type: script, bytes: PackageResources.chain_js),
            "console.js": File(type: script, bytes: PackageResources.console_js),
            "detail.js": File(type: script, bytes: PackageResources.detail_js),
            "dom.js": File(type: script, bytes: PackageResources.dom_js),
            "keys.js": File(type: script, bytes: PackageResources.keys_js),
            "main.js": File(type: script, bytes: PackageResources.main_js),
            "plots.js": File(type: script, bytes: PackageResources.plots_js),
            "store.js": File(type: script, bytes: PackageResources.store_js),
            "stream.js": File(type: script, bytes: PackageResources.stream_js),
            "summary.js": File(type: script, bytes: PackageResources.summary_js),
        ]
    }()
}

extension RequestGate.Head {
    init(_ request: Request) {
        self.init(
            authority: request.head.authority, origin: request.headers[.origin],
            fetchSite: request.headers[named: "Sec-Fetch-Site"],
            hasBrowserMark: request.headers.contains {
                BrowserMarks.contain($0.name.canonicalName, $0.value)
            },
            authorization: request.headers[.authorization])
    }
}

extension HTTPFields {
    /// A field by its name; all names in here are proper ones.
    fileprivate subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
