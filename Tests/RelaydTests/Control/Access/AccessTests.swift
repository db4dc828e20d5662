import ControlAPI
import Foundation
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import Testing

@testable import relayd

// Who may ask for what, however the path is spelt: for every spelling of every path, with every method, at
// every door and in every role, the answer is the route's verdict, or not found.

/// Other spellings of a route's path. None of them is the route.
private func spellings(of path: String) -> [String] {
    let segments = path.split(separator: "/").map(String.init)
    func with(_ index: Int, _ change: (String) -> String) -> String {
        var changed = segments
        changed[index] = change(changed[index])
        return "/" + changed.joined(separator: "/")
    }
    func encoded(_ text: String) -> String {
        text.utf8.map { "%" + String($0, radix: 16) }.joined()
    }
    var all = [
        "/" + path, path + "//", "/." + path, path + "/.", "/x/.." + path, path + "/..",
        "/%2e" + path, "/%2E%2E" + path, path + "#", path + "#x", path + "%23", path + "%3Fx",
        path + "%00", path + "%20", path + ";x=1", path + "\\", "\\" + path, "//relayd" + path,
        "http://relayd" + path, "http://127.0.0.1" + path, "HTTP://localhost" + path,
        "http:" + path, "file://" + path, "*", "relayd:80", "?" + path, "/?" + path,
        path.replacing("/", with: "%2F"), path.replacing("/", with: "\\"),
        path.replacing("/", with: "//"), path.replacing("/", with: "/./"),
    ]
    if !segments.isEmpty {
        all.append(path + "/")
        all.append(String(path.dropFirst()))
        for index in segments.indices where !segments[index].isEmpty {
            all.append(with(index) { $0.uppercased() })
            all.append(with(index) { $0.prefix(1).uppercased() + $0.dropFirst() })
            all.append(with(index) { encoded($0) })
            all.append(with(index) { encoded(String($0.prefix(1))) + $0.dropFirst() })
            all.append(with(index) { $0.dropLast() + encoded(String($0.suffix(1))) })
            all.append(with(index) { $0 + "." })
            all.append(with(index) { $0 + "%" })
            all.append(with(index) { $0 + "%c0%af" })
        }
    }
    return all.filter { $0 != path }
}

/// The table's entries for a path, found the slow and obvious way: by comparing text.
private func routes(at target: String) -> [Route] {
    let path = String(target.prefix { $0 != "?" })
    guard path.hasPrefix("/"), !target.contains("#") else { return [] }
    func fits(_ pattern: String) -> Bool {
        if path == pattern { return true }
        let (wanted, found) = (
            pattern.components(separatedBy: "/"), path.components(separatedBy: "/")
        )
        return wanted.count == found.count
            && zip(wanted, found).allSatisfy { wanted, found in
                wanted.hasPrefix(":")
                    ? !["", ".", ".."].contains(found) && found.removingPercentEncoding != nil
                    : wanted == found
            }
    }
    let fitting = Routes.all.filter { fits($0.path) }
    let fewest = fitting.map { $0.path.count { $0 == ":" } }.min()
    return fitting.filter { $0.path.count { $0 == ":" } == fewest }
}

private enum Door: CaseIterable {
    case socket, port, strictPort

    func gate(_ token: DashboardToken) -> RequestGate {
        switch self {
        case .socket: .unixSocket(token)
        case .port: .port(.named("127.0.0.1"), token, readsNeedToken: false)
        case .strictPort: .port(.named("127.0.0.1"), token, readsNeedToken: true)
        }
    }
}

private enum Role: CaseIterable {
    /// A tool of the user that relayd runs as; over TCP, of any user.
    case tool
    /// A user whom the socket's mode lets in, without further rights.
    case onlooker
    case toolWithToken, toolWithWrongToken
    case browser, browserWithToken
    /// A browser that asks its own host by plain HTTP, where browsers send few marks.
    case plainBrowser
    /// A page of another web site.
    case otherSite, otherSiteWithToken, rebound
    /// A page from a host that its network calls relayd, at a port with a forwarded socket.
    case namesake

    var hasToken: Bool {
        self == .toolWithToken || self == .browserWithToken || self == .otherSiteWithToken
    }
    var isBrowser: Bool {
        switch self {
        case .browser, .browserWithToken, .plainBrowser, .otherSite, .otherSiteWithToken, .rebound,
            .namesake:
            true
        default: false
        }
    }
    var mayWrite: Bool { self != .onlooker }

    /// The header fields besides Host.
    func fields(_ token: String) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if hasToken { fields.append(("Authorization", "Bearer \(token)")) }
        switch self {
        case .toolWithWrongToken: fields.append(("Authorization", "Bearer x\(token.dropFirst())"))
        case .browser, .browserWithToken:
            fields += [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "cors")]
        case .otherSite, .otherSiteWithToken:
            fields += [("Sec-Fetch-Site", "cross-site"), ("Origin", "http://evil.example")]
        case .plainBrowser, .namesake:
            fields += [("User-Agent", "Mozilla/5.0 (X11)"), ("Accept-Language", "en")]
        case .rebound: fields += [("Sec-Fetch-Site", "same-origin")]
        default: break
        }
        return fields
    }

    var host: String {
        switch self {
        case .rebound: "evil:2777"
        case .namesake: "relayd:2777"
        default: "127.0.0.1"
        }
    }
    /// Whether the role is let in by no door.
    var isStranger: Bool {
        switch self {
        case .rebound, .otherSite, .otherSiteWithToken, .namesake: true
        default: false
        }
    }

    func head(_ token: String) -> RequestGate.Head {
        let fields = Dictionary(fields(token).map { ($0.name, $0.value) }) { first, _ in first }
        return RequestGate.Head(
            authority: host, origin: fields["Origin"], fetchSite: fields["Sec-Fetch-Site"],
            hasBrowserMark: fields.contains { BrowserMarks.contain($0.key.lowercased(), $0.value) },
            authorization: fields["Authorization"])
    }
}

/// The expected statuses; 200 stands for the handler's own answer.
private func verdict(_ door: Door, _ role: Role, _ method: String, _ routes: [Route]) -> Set<Int> {
    let method = method == "HEAD" ? "GET" : method
    let route = routes.first { $0.method == method }
    guard !role.isStranger else {
        // The spelling is checked first; after that, strangers are refused.
        return routes.isEmpty ? [400, 403, 404] : [403]
    }
    guard !routes.isEmpty else { return [400, 404] }
    guard let route else { return [405] }
    switch (route.access, door) {
    case (.open, _): return [200]
    case (.read, .port): return [200]
    case (.read, .strictPort): return [role.hasToken ? 200 : 401]
    case (.read, .socket): return [role.isBrowser && !role.hasToken ? 401 : 200]
    case (.secret, .socket): return [role.isBrowser || !role.mayWrite ? 403 : 200]
    case (.secret, _): return [403]
    case (_, .socket) where role.isBrowser && !role.hasToken: return [401]
    case (_, .socket): return [role.mayWrite ? 200 : 403]
    case (_, _): return [role.hasToken ? 200 : 401]
    }
}

private let methods = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "BREW",
]

/// The path of a route with its variable segments filled in.
private func example(_ route: Route) -> String {
    Routes.path(route.path, route.path == Routes.pageFile ? "main.js" : "1", "Show")
}

// Serialized: there are many requests, and other tests need the processor as well.
@Suite("Access by route", .serialized)
struct AccessTests {
    // Not one case per path: between two cases, a busy test process runs all the other tests first.
    @Test("every spelling of a path, with every method, door and role: the verdict of the route")
    func onPaper() async {
        await onOwnThread {
            for path in Set(Routes.all.map(example)).sorted() { Self.onPaper(path) }
        }
    }

    private static func onPaper(_ path: String) {
        let token = DashboardToken()
        let access = AccessControl()
        let policy = WritePolicy(owner: 900, group: nil, isReadOnlyForOthers: true)
        let gates = Door.allCases.map { ($0, $0.gate(token)) }
        let heads = Role.allCases.map { ($0, $0.head(token.text)) }
        var asked = 0
        for target in [path, path + "?", path + "?x=/v1/dashboard"] + spellings(of: path) {
            let routes = routes(at: target)
            // For an unknown path, all methods give the same answer.
            for method in routes.isEmpty ? ["GET", "PUT", "BREW"] : methods {
                for (door, gate) in gates {
                    for (role, head) in heads {
                        let peer = ControlPeer(
                            pid: 1, uid: role.mayWrite ? 900 : 1000, groups: [1000])
                        let found = status(door == .socket ? (policy, peer) : nil) {
                            try access.admit(method, target, head, by: gate)
                        }
                        asked += 1
                        if !verdict(door, role, method, routes).contains(found) {
                            Issue.record("\(method) \(target) by \(door) as \(role): \(found)")
                        }
                    }
                }
            }
        }
        #expect(asked > 3000, "\(path)")
    }

    private static func status(
        _ kernel: (policy: WritePolicy, peer: ControlPeer)?,
        _ admit: () throws -> AccessControl.Admitted
    ) -> Int {
        do {
            let access = try admit().route.access
            let isOpen = access == .open || access == .read
            if let kernel, !isOpen, !kernel.policy.allows(kernel.peer) { return 403 }
            return 200
        } catch let error as RequestGate.Refusal {
            return error.status
        } catch is AccessControl.WrongMethod {
            return 405
        } catch let error as APIError {
            return error.error.code == .notFound ? 404 : 400
        } catch {
            return 500
        }
    }

    @Test("recordings are for those who may change something, also where others may look")
    func recordings() throws {
        let token = DashboardToken()
        let access = AccessControl()
        let policy = WritePolicy(owner: 900, group: nil, isReadOnlyForOthers: true)
        let kept = Routes.all.filter { $0.access == .kept }
        #expect(
            kept.map(\.path) == [
                Routes.recordings, Routes.recording, Routes.recordingInfo, Routes.recordingStats,
                Routes.recordingMessages,
            ])
        func status(_ door: Door, _ role: Role, _ path: String) -> Int {
            let peer = ControlPeer(pid: 1, uid: role.mayWrite ? 900 : 1000, groups: [1000])
            return Self.status(door == .socket ? (policy, peer) : nil) {
                try access.admit("GET", path, role.head(token.text), by: door.gate(token))
            }
        }
        for path in kept.map(example) {
            #expect(status(.socket, .tool, path) == 200)
            #expect(status(.socket, .onlooker, path) == 403)
            #expect(status(.socket, .browser, path) == 401)
            #expect(status(.socket, .browserWithToken, path) == 200)
            for door in [Door.port, .strictPort] {
                #expect(status(door, .tool, path) == 401)
                #expect(status(door, .browser, path) == 401)
                #expect(status(door, .toolWithWrongToken, path) == 401)
                #expect(status(door, .browserWithToken, path) == 200)
                #expect(status(door, .otherSiteWithToken, path) == 403)
            }
        }
        // For comparison, a route that others may read.
        #expect(status(.port, .browser, Routes.messages) == 200)
        #expect(status(.socket, .onlooker, Routes.messages) == 200)
    }

    @Test("the same over the sockets: what must not be had is not, and the token goes nowhere else")
    func live() async throws {
        for role in [
            Role.tool, .onlooker, .toolWithToken, .browser, .plainBrowser, .otherSite, .rebound,
            .namesake,
        ] {
            let (dashboard, port) = try dashboardOnAPort()
            let token = try #require(dashboard.report.token)
            // The kernel's answer about the peer is replaced; the rest of the way is real.
            let uid = role.mayWrite ? geteuid() : 12_345
            let peer = ControlPeer(pid: 1, uid: uid, groups: [])
            try await ControlTestServer.with(dashboard: dashboard, asIf: peer) { test in
                for route in [Routes.dashboard, Routes.server, Routes.recordings] {
                    let method = route == Routes.server ? "PUT" : "GET"
                    for target in [route, route + "?x=1"] + spellings(of: route) {
                        for door in [Door.socket, .port] {
                            let lines =
                                ["\(method) \(target) HTTP/1.1", "Host: \(role.host)"]
                                + role.fields(token).map { "\($0.name): \($0.value)" }
                                + ["Connection: close", "", ""]
                            let answer = try await test.exchange(
                                lines.joined(separator: "\r\n"), port: door == .port ? port : nil)
                            let status = Int(answer.dropFirst(9).prefix(3)) ?? 0
                            let expected = verdict(door, role, method, routes(at: target))
                            let what = "\(method) \(target) by \(door) as \(role)"
                            // A target that the parser cannot read is 400, whoever asks.
                            #expect(
                                expected.contains(status)
                                    // Without a body there is nothing to switch.
                                    || route == Routes.server && status == 400
                                        && (expected == [200] || expected.contains(404)),
                                "\(what): \(answer)")
                            let mayHaveToken =
                                target.prefix { $0 != "?" } == Routes.dashboard && expected == [200]
                            #expect(answer.contains(token) == mayHaveToken, "\(what)")
                        }
                    }
                }
            }
        }
    }

    /// A dashboard that listens, and its port.
    private func dashboardOnAPort() throws -> (dashboard: DashboardEndpoint, port: Int) {
        var configuration = Config.Dashboard()
        configuration.enabled = true
        configuration.address = ListenAddress(host: "127.0.0.1", port: 0)
        let dashboard = DashboardEndpoint(configuration, logger: ControlTestServer.quiet)
        return (dashboard, try #require(dashboard.report.url.flatMap { URL(string: $0)?.port }))
    }

    @Test("a request with two hosts is refused by both doors, whichever of them is ours")
    func twoHosts() async throws {
        let (dashboard, port) = try dashboardOnAPort()
        try await ControlTestServer.with(dashboard: dashboard) { test in
            for door in [nil, port] {
                for hosts in [
                    ["localhost", "evil.example"], ["evil.example", "localhost"],
                    ["localhost", "localhost"], ["localhost", ""],
                ] {
                    for (version, path) in [
                        ("1.1", Routes.status), ("1.0", Routes.status), ("1.1", "/nowhere"),
                    ] {
                        let lines =
                            ["GET \(path) HTTP/\(version)"]
                            + zip(["Host", "hOST"], hosts).map { "\($0): \($1)" }
                            + ["Connection: close", "", ""]
                        let answer = try await test.exchange(
                            lines.joined(separator: "\r\n"), port: door)
                        #expect(answer.dropFirst(9).hasPrefix("400 "), "\(lines): \(answer)")
                        #expect(answer.contains("more than one host"), "\(answer)")
                    }
                }
            }
        }
    }

    @Test("HTTP/1.1 without a host is refused by both doors; HTTP/1.0 knows none")
    func noHost() async throws {
        let (dashboard, port) = try dashboardOnAPort()
        try await ControlTestServer.with(dashboard: dashboard) { test in
            func status(_ version: String, _ path: String, _ door: Int?, _ host: String = "")
                async throws -> (code: Substring, words: String)
            {
                let answer = try await test.exchange(
                    "GET \(path) HTTP/\(version)\r\n\(host)Connection: close\r\n\r\n", port: door)
                return (answer.dropFirst(9).prefix(3), answer)
            }
            for door in [nil, port] {
                for path in [Routes.status, Routes.openAPI, "/nowhere"] {
                    let refused = try await status("1.1", path, door)
                    #expect(refused.code == "400", "\(path): \(refused.words)")
                    #expect(refused.words.contains("names no host"), "\(refused.words)")
                    // relayd's internal marker for a missing host is not accepted either.
                    #expect(try await status("1.1", path, door, "Host: ,\r\n").code == "400")
                }
            }
            #expect(try await status("1.0", Routes.status, nil).code == "200")
            // The port is only for requests that name their host.
            #expect(try await status("1.0", Routes.status, port).code == "403")
            // An empty host is HTTP/1.1's form for a target without a host.
            #expect(try await status("1.1", Routes.status, nil, "Host:\r\n").code == "200")
        }
    }

    @Test("a query is read as forms and browsers write it, and a broken one is refused")
    func query() throws {
        let items = try RequestQuery("/v1/messages?app=My+App&app=C%2B%2B&function=%21Show&x&y==&&")
            .items
        #expect(items.map(\.name) == ["app", "app", "function", "x", "y"])
        #expect(items.map(\.value) == ["My App", "C++", "!Show", "", "="])
        // U+0301 combines with each delimiter into another character, but changes nothing else in the path.
        let marked = "/v1/messages?\u{301}limit=\u{301}3&\u{301}app=a+\u{301}"
        #expect(try RequestTarget(marked).segments == ["v1", "messages"])
        let read = try RequestQuery(marked).items.map { "\($0.name)=\($0.value)" }
        #expect(
            read.map { Array($0.utf8) }
                == ["\u{301}limit=\u{301}3", "\u{301}app=a \u{301}"].map { Array($0.utf8) })
        #expect(try RequestQuery("/v1/messages").items.isEmpty)
        for broken in ["/?app=%", "/?app=%2", "/?%zz=1", "/?app=%ff"] {
            #expect(throws: APIError.self) { try RequestQuery(broken) }
        }
    }
}
