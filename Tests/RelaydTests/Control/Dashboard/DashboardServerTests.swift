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

@testable import relayd

// The dashboard over real sockets: page, headers, and refusals by the port.

@Suite("The dashboard's server")
struct DashboardServerTests {
    // MARK: The page

    @Test("a browser gets the page at / and /dashboard, a tool gets the list of routes at /")
    func page() async throws {
        try await DashboardBench.with(DashboardBench.dashboard()) { _, browser in
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
        try await DashboardBench.with(DashboardBench.dashboard()) { test, browser in
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
        try await DashboardBench.with(DashboardBench.dashboard()) { _, browser in
            var waiting = ["/dashboard"]
            var seen: Set<String> = []
            while let path = waiting.popLast() {
                guard seen.insert(path).inserted else { continue }
                let answer = try await browser.ask(path)
                #expect(answer.status == "200", "\(path)")
                #expect(answer.headers["x-content-type-options"] == "nosniff")
                // The XML namespace is not a request.
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
        try await DashboardBench.with(DashboardBench.dashboard()) { _, browser in
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
            // The page contains nothing that the policy would forbid.
            #expect(!answer.body.contains("style=\"") && !answer.body.contains("onclick"))
            #expect(answer.body.matches(of: #/<script(?![^>]*src=)/#).isEmpty)
        }
    }

    @Test("no answer invites other origins")
    func noCORS() async throws {
        try await DashboardBench.with(DashboardBench.dashboard()) { _, browser in
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

    // MARK: Permissions

    @Test("looking is open, a foreign host is not, and writing needs the token of the Unix socket")
    func rights() async throws {
        try await DashboardBench.with(DashboardBench.dashboard()) { test, browser in
            #expect(try await browser.ask(Routes.status).status == "200")
            #expect(try await browser.ask(Routes.status, host: "evil.example").status == "403")
            #expect(try await browser.ask("/dashboard", host: "evil.example").status == "403")

            let refused = try await browser.ask(Routes.server, method: "PUT")
            #expect(refused.status == "401" && refused.headers["www-authenticate"] == "Bearer")
            let error = try APICoding.decode(APIError.self, from: Array(refused.body.utf8)).error
            #expect(error.code == .tokenNeeded && error.message.contains("relayctl dashboard"))

            let told = DashboardBench.Answer(try await test.get(Routes.dashboard))
            let report = try APICoding.decode(DashboardReport.self, from: Array(told.body.utf8))
            let token = try #require(report.token)
            #expect(report.url == "http://127.0.0.1:\(browser.port)/")
            #expect(report.addressWithToken == "http://127.0.0.1:\(browser.port)/#token=\(token)")
            // Let in; the refusal of a missing body is the route's own answer.
            let answer = try await browser.ask(
                Routes.server, method: "PUT", "Authorization: Bearer \(token)")
            #expect(answer.status == "400")
            let stolen = try await browser.ask(Routes.dashboard, "Authorization: Bearer \(token)")
            #expect(stolen.status == "403" && !stolen.body.contains(token))
        }
    }

    @Test("with token_to_read nothing but the page is open")
    func tokenToRead() async throws {
        let dashboard = DashboardBench.dashboard(tokenToRead: true)
        let token = try #require(dashboard.report.token)
        try await DashboardBench.with(dashboard) { test, browser in
            #expect(try await browser.ask("/dashboard").status == "200")
            for path in [Routes.status, Routes.messages, Routes.messageStream + "?follow=0"] {
                #expect(try await browser.ask(path).status == "401")
                let answer = try await browser.ask(path, "Authorization: Bearer \(token)")
                #expect(answer.status == "200")
            }
            let access = try await browser.ask("/dashboard/access")
            #expect(
                try APICoding.decode(DashboardAccess.self, from: Array(access.body.utf8))
                    == DashboardAccess(
                        reads: .token, writes: .token, authorized: false, drives: false,
                        driveReason: DriveSwitch.remedy))
            #expect(try await test.get(Routes.status).hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("only addresses of this machine alone count as such")
    func loopback() {
        for host in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] {
            #expect(ListenAddress.isLoopback(host), "\(host)")
        }
        for host in ["0.0.0.0", "::", "192.168.1.2", "127.evil.example", "bench", "::ffff:1.2.3.4"]
        {
            #expect(!ListenAddress.isLoopback(host), "\(host)")
        }
    }
}
