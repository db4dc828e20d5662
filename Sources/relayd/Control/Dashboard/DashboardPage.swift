import CFiles
import ControlAPI
import NIOCore
import NIOHTTP1

/// The page and its files, which are embedded in the program, and their response headers.
/// `ControlHandlers` adds the routes.
///
/// The folder Page has no subfolders: a route's last segment names a file, and the files import each other by name.
enum DashboardPage {
    private struct File: Sendable {
        let type: String
        let content: ByteBuffer
    }

    static func addRoutes(to routes: inout RouteHandlers, _ drive: DriveSwitch) {
        routes.get(Routes.page) { _, _ in page }
        routes.get(Routes.pageFile) { _, context in
            guard let response = file(named: context.segment("file")) else {
                throw APIError(.notFound, "the dashboard has no such file")
            }
            return response
        }
        routes.get(Routes.pageAccess) { request, context in
            try .json(context.gate.access(RequestGate.Head(request), drive))
        }
    }

    static var page: ControlResponse {
        file(named: "dashboard.html") ?? ControlResponse(.notFound)
    }

    /// Browsers want HTML at /; tools get the list of routes.
    static func isWanted(_ request: ControlRequest) -> Bool {
        request.header("Accept")?.contains("text/html") ?? false
    }

    static func file(named name: String) -> ControlResponse? {
        guard let file = files[name] else { return nil }
        // Not cached: small, local, and different after an update.
        var headers = HTTPHeaders.ofMoment(file.type)
        headers.add(name: "Vary", value: "Accept")
        headers.add(name: "Content-Security-Policy", value: contentSecurityPolicy)
        headers.add(name: "X-Frame-Options", value: "DENY")
        headers.add(name: "Cross-Origin-Opener-Policy", value: "same-origin")
        return ControlResponse(.ok, headers, body: .whole(file.content))
    }

    /// Only these files and this relayd, no inline scripts, and no way to make HTML from a string:
    /// data from apps is always plain text.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// Adds the headers of every answer.
    static func harden(_ headers: inout HTTPHeaders) {
        headers.add(name: "X-Content-Type-Options", value: "nosniff")
        headers.add(name: "Cross-Origin-Resource-Policy", value: "same-origin")
        headers.add(name: "Referrer-Policy", value: "no-referrer")
    }

    private static let files: [String: File] = {
        var files: [String: File] = [:]
        for index in 0..<relay_dashboard_file_count() {
            let file = relay_dashboard_file(index)
            let name = String(cString: file.name)
            files[name] = File(type: type(of: name), content: ByteBuffer(file))
        }
        return files
    }()

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}

extension ByteBuffer {
    /// The content of a file embedded in the program.
    init(_ file: relay_file) {
        self.init(bytes: UnsafeRawBufferPointer(start: file.bytes, count: file.count))
    }
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
