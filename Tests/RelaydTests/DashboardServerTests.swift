import ControlAPI
import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import ServiceLifecycle
import Synchronization
import Testing
import relayd

// The dashboard over real sockets: page and headers, what the port refuses, what it may cost.

@Suite("The dashboard's server")
struct DashboardServerTests {
    private static func dashboard(
        tokenToRead: Bool = false, port: Int = 0, enabled: Bool = true
    ) -> Dashboard {
        var configuration = Config.Dashboard()
        configuration.enabled = enabled
        configuration.address = ListenAddress(host: "127.0.0.1", port: port)
        configuration.tokenToRead = tokenToRead
        return Dashboard(configuration, logger: ControlTestServer.quiet)
    }

    /// Serves a dashboard and a control socket around `body`.
    private static func with(
        _ dashboard: Dashboard, _ body: (ControlTestServer, Browser) async throws -> Void
    ) async throws {
        let port = try port(of: dashboard)
        try await ControlTestServer.with(dashboard: dashboard) { test in
            try await body(test, Browser(test: test, port: port))
        }
    }

    private static func port(of dashboard: Dashboard) throws -> Int {
        let url = try #require(dashboard.report.url)
        return try #require(url.split(separator: ":").last.flatMap { Int($0.dropLast()) })
    }

    /// Speaks HTTP to the port.
    private struct Browser: Sendable {
        let test: ControlTestServer
        let port: Int

        func connect() throws -> Int32 { try ControlTestServer.connect(toPort: port) }

        func connected() async throws -> Int32 {
            let port = port
            return try await blocking { try ControlTestServer.connect(toPort: port) }
        }

        func ask(
            _ path: String, method: String = "GET", host: String? = nil, _ headers: String...
        ) async throws -> Answer {
            let lines =
                ["\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")"]
                + headers + ["Connection: close", "", ""]
            let browser = self
            return try await blocking {
                let descriptor = try browser.connect()
                defer { close(descriptor) }
                browser.test.send(lines.joined(separator: "\r\n"), to: descriptor)
                return Answer(
                    try #require(
                        browser.test.readToEnd(descriptor), "the server did not close"))
            }
        }
    }

    /// Connections that ask nothing.
    private final class Crowd: Sendable {
        private let browser: Browser
        private let waiting: Mutex<[pollfd]>

        init(_ count: Int, _ browser: Browser) throws {
            self.browser = browser
            waiting = Mutex(
                try (0..<count).map { _ in
                    pollfd(fd: try browser.connect(), events: Int16(POLLIN), revents: 0)
                })
        }

        /// What one of them is told before it has asked anything.
        func refusal() throws -> String {
            while true {
                // Nothing here may take this long; without it a failing test would hang.
                let (count, index) = waiting.withLock { waiting in
                    let count = poll(&waiting, nfds_t(waiting.count), 30_000)
                    return (count, waiting.firstIndex { $0.revents != 0 })
                }
                let ready = try #require(count > 0 ? index : nil, "none was told anything")
                let descriptor = waiting.withLock { $0[ready].fd }
                // Asked when the answer is there already, as many clients do.
                browser.test.send(
                    "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
                let text = try #require(browser.test.readToEnd(descriptor), "it was not closed")
                if !text.isEmpty { return text }
                // It has asked nothing for too long, and another takes its place.
                close(descriptor)
                let next = try browser.connect()
                waiting.withLock { $0[ready].fd = next }
            }
        }

        func leave() {
            waiting.withLock { waiting in
                for client in waiting { close(client.fd) }
                waiting = []
            }
        }

        deinit { leave() }
    }

    private struct Answer: Sendable {
        let status: String
        /// Names in lower case.
        let headers: [String: String]
        let body: String

        init(_ text: String) {
            let end = text.firstRange(of: "\r\n\r\n")
            let head = text[..<(end?.lowerBound ?? text.endIndex)].split(separator: "\r\n")
            status = String(head.first?.dropFirst(9).prefix(3) ?? "")
            var fields: [String: String] = [:]
            for line in head.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                fields[line[..<colon].lowercased()] = String(value)
            }
            headers = fields
            body = end.map { String(text[$0.upperBound...]) } ?? ""
        }
    }

    // MARK: The page

    @Test("a browser gets the page at / and /dashboard, a tool gets the list of routes at /")
    func page() async throws {
        try await Self.with(Self.dashboard()) { _, browser in
            let html = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
            for answer in [
                try await browser.ask("/", html), try await browser.ask("/dashboard"),
            ] {
                #expect(answer.status == "200")
                #expect(answer.headers["content-type"] == "text/html; charset=utf-8")
                #expect(answer.body.hasPrefix("<!doctype html>"))
            }
            let list = try await browser.ask("/", "Accept: */*")
            #expect(
                try APICoding.decode(RouteList.self, from: Array(list.body.utf8)).routes
                    == Routes.all)
        }
    }

    @Test(
        "no path of a client leads to a file of this machine",
        arguments: [
            "/dashboard/../../../../etc/hostname", "/dashboard/..%2f..%2fetc%2fhostname",
            "/dashboard//etc/hostname", "/../etc/hostname", "/dashboard/dashboard.html%00.css",
            "/v1/apps/..%2f..%2f..%2fetc%2fhostname",
        ])
    func traversal(path: String) async throws {
        try await Self.with(Self.dashboard()) { test, browser in
            let answers = [
                try await browser.ask(path).status,
                String(try await test.get(path).split(separator: " ")[1]),
            ]
            #expect(answers.allSatisfy { $0 == "404" || $0 == "400" }, "\(answers)")
        }
    }

    @Test("the same page is on the Unix socket, for ssh -L")
    func pageOnSocket() async throws {
        try await ControlTestServer.with { test in
            #expect(try await test.get("/dashboard").contains("<!doctype html>"))
            let answer = try await test.get("/", headers: "Accept: text/html\r\n")
            #expect(answer.contains("<!doctype html>"))
        }
    }

    @Test("every file the page asks for is served, and asks for nothing outside")
    func files() async throws {
        try await Self.with(Self.dashboard()) { _, browser in
            var waiting = ["/dashboard"]
            var seen: Set<String> = []
            while let path = waiting.popLast() {
                guard seen.insert(path).inserted else { continue }
                let answer = try await browser.ask(path)
                #expect(answer.status == "200", "\(path)")
                #expect(answer.headers["x-content-type-options"] == "nosniff")
                // XML's own name is no request.
                let body = answer.body.replacing("http://www.w3.org/2000/svg", with: "")
                #expect(!body.contains("http://") && !body.contains("https://"), "\(path)")
                for match in answer.body.matches(of: #/(?:src|href)="(\/[^"#]+)"/#) {
                    waiting.append(String(match.1))
                }
                for match in answer.body.matches(of: #/from '\.\/([a-z]+\.js)'/#) {
                    waiting.append("/dashboard/\(match.1)")
                }
            }
            #expect(seen.count > 10, "\(seen)")
        }
    }

    @Test("the policy allows nothing but the page's own files, and no script or style in its text")
    func policy() async throws {
        try await Self.with(Self.dashboard()) { _, browser in
            let answer = try await browser.ask("/dashboard")
            let policy = try #require(answer.headers["content-security-policy"])
            for rule in [
                "default-src 'none'", "script-src 'self'", "style-src 'self'",
                "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
                "form-action 'none'", "require-trusted-types-for 'script'",
            ] {
                #expect(policy.contains(rule))
            }
            #expect(!policy.contains("unsafe") && !policy.contains("*"))
            #expect(answer.headers["x-frame-options"] == "DENY")
            #expect(answer.headers["referrer-policy"] == "no-referrer")
            // What the policy would forbid is not there.
            #expect(!answer.body.contains("style=\"") && !answer.body.contains("onclick"))
            #expect(answer.body.matches(of: #/<script(?![^>]*src=)/#).isEmpty)
        }
    }

    @Test("no answer invites other origins")
    func noCORS() async throws {
        try await Self.with(Self.dashboard()) { _, browser in
            for path in ["/", "/dashboard", Routes.status, "/nothing"] {
                for method in ["GET", "OPTIONS"] {
                    let answer = try await browser.ask(
                        path, method: method, "Origin: http://evil.example",
                        "Access-Control-Request-Method: POST")
                    #expect(answer.status == "403")
                    #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control") })
                }
            }
            let answer = try await browser.ask(Routes.status)
            #expect(answer.headers["cross-origin-resource-policy"] == "same-origin")
        }
    }

    // MARK: Who may what

    @Test("looking is open, a foreign host is not, and writing needs the token of the Unix socket")
    func rights() async throws {
        try await Self.with(Self.dashboard()) { test, browser in
            #expect(try await browser.ask(Routes.status).status == "200")
            #expect(try await browser.ask(Routes.status, host: "evil.example").status == "403")
            #expect(try await browser.ask("/dashboard", host: "evil.example").status == "403")

            let refused = try await browser.ask(Routes.server, method: "PUT")
            #expect(refused.status == "401" && refused.headers["www-authenticate"] == "Bearer")
            let error = try APICoding.decode(APIError.self, from: Array(refused.body.utf8)).error
            #expect(error.code == .tokenNeeded && error.message.contains("relayctl dashboard"))

            let told = Answer(try await test.get(Routes.dashboard))
            let report = try APICoding.decode(DashboardReport.self, from: Array(told.body.utf8))
            let token = try #require(report.token)
            #expect(report.url == "http://127.0.0.1:\(browser.port)/")
            #expect(report.addressWithToken == "http://127.0.0.1:\(browser.port)/#token=\(token)")
            // Let in; that there is no body is the route's own answer.
            let answer = try await browser.ask(
                Routes.server, method: "PUT", "Authorization: Bearer \(token)")
            #expect(answer.status == "400")
            let stolen = try await browser.ask(Routes.dashboard, "Authorization: Bearer \(token)")
            #expect(stolen.status == "403" && !stolen.body.contains(token))
        }
    }

    @Test("with token_to_read nothing but the page is open")
    func tokenToRead() async throws {
        let dashboard = Self.dashboard(tokenToRead: true)
        let token = try #require(dashboard.report.token)
        try await Self.with(dashboard) { test, browser in
            #expect(try await browser.ask("/dashboard").status == "200")
            for path in [Routes.status, Routes.messages, Routes.messageStream + "?follow=0"] {
                #expect(try await browser.ask(path).status == "401")
                let answer = try await browser.ask(path, "Authorization: Bearer \(token)")
                #expect(answer.status == "200")
            }
            let access = try await browser.ask("/dashboard/access")
            #expect(
                try APICoding.decode(DashboardAccess.self, from: Array(access.body.utf8))
                    == DashboardAccess(reads: .token, writes: .token, authorized: false))
            #expect(try await test.get(Routes.status).hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("only addresses of this machine alone count as such")
    func loopback() {
        for host in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] {
            #expect(Dashboard.isLoopback(host), "\(host)")
        }
        for host in ["0.0.0.0", "::", "192.168.1.2", "127.evil.example", "bench", "::ffff:1.2.3.4"]
        {
            #expect(!Dashboard.isLoopback(host), "\(host)")
        }
    }

    // MARK: Limits, beginning and end

    @Test("streams of one address leave room for requests, and for who has the token")
    func crowd() async throws {
        let dashboard = Self.dashboard()
        let token = try #require(dashboard.report.token)
        let crowd = ControlCrowd()
        let port = try Self.port(of: dashboard)
        try await ControlTestServer.with(dashboard: dashboard, crowd: crowd) { test in
            let browser = Browser(test: test, port: port)
            func stream(_ headers: String = "") async throws -> (Int32, String) {
                let descriptor = try await browser.connected()
                test.send(
                    "GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n",
                    to: descriptor)
                // A stream names its instance at once, a refusal its code.
                return (descriptor, try await test.read(descriptor, until: "in"))
            }
            var taken: [Int32] = []
            defer { for descriptor in taken { close(descriptor) } }
            let limits = ControlShares.Limits(Config.Dashboard())
            for number in 1...limits.streamsOfPeer {
                let (descriptor, answer) = try await stream()
                taken.append(descriptor)
                #expect(answer.hasPrefix("HTTP/1.1 200"), "stream \(number)")
            }
            let (refused, answer) = try await stream()
            taken.append(refused)
            #expect(answer.hasPrefix("HTTP/1.1 429"))
            #expect(crowd.hits.map(\.name) == ["dashboard.streams_per_peer"])
            #expect(try await browser.ask(Routes.status).status == "200")
            let (kept, own) = try await stream("Authorization: Bearer \(token)\r\n")
            taken.append(kept)
            #expect(own.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("connections beyond an address's share are turned away at once, in words")
    func share() async throws {
        let dashboard = Self.dashboard()
        let crowd = ControlCrowd()
        let port = try Self.port(of: dashboard)
        try await ControlTestServer.with(dashboard: dashboard, crowd: crowd) { test in
            let browser = Browser(test: test, port: port)
            // Which of them is one too many is the server's loops' choice, so that all are looked at.
            let count = Config().dashboard.connectionsPerPeer + 1
            let crowded = try await blocking { try Crowd(count, browser) }
            let refusal = try await blocking { try crowded.refusal() }
            let answer = Answer(refusal)
            #expect(answer.status == "429" && answer.headers["retry-after"] == "1", "\(refusal)")
            let error = try APICoding.decode(APIError.self, from: Array(answer.body.utf8)).error
            #expect(
                error.code == .tooMany
                    && error.message.contains("(dashboard.connections_per_peer: 56)"))
            #expect(crowd.hits.map(\.name) == ["dashboard.connections_per_peer"])
            // The other door has places of its own.
            #expect(try await test.get(Routes.status).hasPrefix("HTTP/1.1 200"))
            crowded.leave()
            var later = ""
            // The places are free once the server has seen them leave.
            while later != "200" { later = try await browser.ask(Routes.status).status }
        }
    }

    @Test("who is refused over TCP is logged with its address, a few times")
    func refusalsAreLogged() async throws {
        let dashboard = Self.dashboard()
        let port = try Self.port(of: dashboard)
        let log = RecordedLog()
        let logger = Logger(label: "test") { _ in log }
        try await ControlTestServer.with(dashboard: dashboard, logger: logger) { test in
            let browser = Browser(test: test, port: port)
            let began = NIODeadline.now()
            for _ in 0..<40 {
                let answer = try await browser.ask(Routes.status, host: "evil.example")
                #expect(answer.status == "403")
            }
            let windows = Int((NIODeadline.now() - began).nanoseconds / 10_000_000_000) + 1
            let told = log.records.map(\.message).filter { $0.contains(" refused: ") }
            #expect(told.count >= 1 && told.count <= 5 * windows)
            #expect(told.allSatisfy { $0.hasPrefix("control: GET /v1/status from 127.0.0.1:") })
        }
    }

    @Test("headers without end are turned away")
    func hugeHeaders() async throws {
        try await Self.with(Self.dashboard()) { _, browser in
            let answer = try await browser.ask(
                Routes.status, "X: " + String(repeating: "a", count: 100_000))
            #expect(answer.status == "400")
            #expect(try await browser.ask(Routes.status).status == "200")
        }
    }

    @Test("an open stream does not hold shutdown back")
    func shutdown() async throws {
        let dashboard = Self.dashboard()
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try test.make(dashboard: dashboard)
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        let browser = Browser(test: test, port: try Self.port(of: dashboard))
        let descriptor = try await browser.connected()
        defer { close(descriptor) }
        test.send(
            "GET /v1/messages/stream?last=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
        let first = try await blocking {
            var byte: UInt8 = 0
            return recv(descriptor, &byte, 1, 0)
        }
        #expect(first == 1)
        await group.triggerGracefulShutdown()
        try await running
        let rest = try await test.rest(of: descriptor)
        #expect(rest?.contains("\"instance\"") == true)
    }

    @Test("a port that is taken is told, and the control socket works without")
    func portTaken() async throws {
        let first = Self.dashboard()
        let second = Self.dashboard(port: try Self.port(of: first))
        #expect(!second.report.enabled && second.report.url == nil)
        #expect(second.report.reason?.contains("another program uses this port") == true)
        try await ControlTestServer.with(dashboard: second) { test in
            let told = try await test.get(Routes.dashboard)
            #expect(told.contains("another program uses this port"))
        }
    }

    @Test("its name is looked up on a thread of its own; who is not known is told")
    func looksUpItsName() async throws {
        var configuration = Config.Dashboard()
        configuration.enabled = true
        configuration.address = ListenAddress(host: "car.test", port: 0)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let place = await Dashboard.place(of: configuration, on: loop) { wanted in
            try #require(wanted.host == "car.test" && !loop.inEventLoop)
            // The name server does not answer before the loop has done something else.
            try loop.submit {}.wait()
            return try SocketAddress(ipAddress: "127.0.0.1", port: wanted.port)
        }
        let dashboard = Dashboard(configuration, at: place, logger: ControlTestServer.quiet)
        #expect(dashboard.report.url?.hasPrefix("http://car.test:") == true)

        struct Unknown: Error {}
        let nowhere = await Dashboard.place(of: configuration, on: loop) { _ in throw Unknown() }
        let report = Dashboard(configuration, at: nowhere, logger: ControlTestServer.quiet).report
        #expect(!report.enabled && report.reason?.contains("the host is not known") == true)
    }

    @Test("switched off, it says how to switch it on")
    func off() {
        let report = Self.dashboard(enabled: false).report
        #expect(!report.enabled && report.url == nil && report.addressWithToken == nil)
        #expect(report.reason?.contains("--dashboard 127.0.0.1:2777") == true)
    }
}
