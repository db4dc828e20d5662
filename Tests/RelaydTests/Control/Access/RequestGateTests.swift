import ControlAPI
import Logging
import RelayCore
import Testing

@testable import relayd

// Who is let in: by host, by the site behind the request, and by token. On paper, without sockets.

@Suite("The gate of the control API")
struct RequestGateTests {
    private static let token = DashboardToken()
    private static let port = RequestGate.port(
        .named("bench.local"), token, readsNeedToken: false)
    private static let strict = RequestGate.port(
        .named("bench.local"), token, readsNeedToken: true)
    private static let socket = RequestGate.unixSocket(token)

    private func route(_ path: String, _ method: String = "GET") throws -> Route {
        try #require(Routes.all.first { $0.path == path && $0.method == method })
    }

    private func status(
        _ gate: RequestGate, _ path: String, _ head: RequestGate.Head
    ) throws -> Int {
        try status(gate, path, "GET", head)
    }

    private func status(
        _ gate: RequestGate, _ path: String, _ method: String, _ head: RequestGate.Head
    ) throws -> Int {
        let route = try route(path, method)
        do throws(RequestGate.Refusal) {
            try gate.checkSite(head, route)
            try gate.check(head, for: route)
            return 200
        } catch {
            return error.status
        }
    }

    @Test("the conversation is driven by programs on the Unix socket, and by others with the token")
    func drive() throws {
        let route = Route(method: "POST", path: "/x", access: .drive, summary: "")
        let local = RequestGate.Head(authority: "localhost")
        let withToken = RequestGate.Head(
            authority: "localhost", authorization: "Bearer \(Self.token.text)")
        var (browser, browserWithToken) = (local, withToken)
        (browser.isFromBrowser, browserWithToken.isFromBrowser) = (true, true)
        try Self.socket.check(.init(authority: "relayd"), for: route)
        for gate in [Self.socket, Self.port, Self.strict] {
            try gate.check(withToken, for: route)
            try gate.check(browserWithToken, for: route)
            let refusal = try #require(throws: RequestGate.Refusal.self) {
                try gate.check(browser, for: route)
            }
            #expect(refusal.status == 401)
        }
        #expect(throws: RequestGate.Refusal.self) { try Self.port.check(local, for: route) }
    }

    @Test("where others than the socket's owners can have the token, nobody drives with it")
    func driveWithOthersToken() throws {
        let shared = RequestGate.port(
            .named("bench.local"), Self.token, readsNeedToken: true, isTokenOfOwners: false)
        let route = Route(method: "POST", path: "/x", access: .drive, summary: "")
        let head = RequestGate.Head(
            authority: "localhost", authorization: "Bearer \(Self.token.text)")
        let refusal = try #require(throws: RequestGate.Refusal.self) {
            try shared.check(head, for: route)
        }
        #expect(refusal.status == 403)
        #expect(refusal.error.error.message.contains("control.read_only_for_others: false"))
        let change = try self.route(Routes.reopen, "POST")
        try shared.check(head, for: change)
    }

    @Test("the page is told whether it may drive, and if not, what to do")
    func driveAccess() throws {
        let (on, off) = (DriveSwitch(true), DriveSwitch(false))
        let shared = RequestGate.port(
            .anyAddress, Self.token, readsNeedToken: false, isTokenOfOwners: false)
        let looker = RequestGate.Head(authority: "localhost", hasBrowserMark: true)
        var owner = looker
        owner.authorization = "Bearer \(Self.token.text)"
        let rows: [(RequestGate, RequestGate.Head, DriveSwitch, words: String?)] = [
            (Self.port, owner, on, nil), (Self.socket, owner, on, nil),
            (Self.port, looker, on, "relayctl dashboard"),
            (Self.socket, looker, on, "relayctl dashboard"),
            (Self.port, owner, off, "drive.enabled: true"),
            (Self.port, looker, off, "drive.enabled: true"),
            (shared, owner, on, "read_only_for_others"),
        ]
        for (gate, head, drive, words) in rows {
            let access = gate.access(head, drive)
            #expect(access.drives == (words == nil))
            #expect(access.driveReason?.contains(words ?? "-") ?? true)
            #expect((access.driveReason == nil) == (words == nil))
        }
    }

    @Test("while driving is off, the answer says which option turns it on")
    func driveSwitch() throws {
        let drive = DriveSwitch(false)
        let error = try #require(throws: APIError.self) { try drive.check() }
        #expect(error.error.code == .driveOff && error.httpStatus == .forbidden)
        #expect(error.error.message.contains("drive.enabled: true"))
        drive.isOn = true
        try drive.check()
    }

    @Test(
        "the dashboard's port answers to this machine's names and the configured one, on any port",
        arguments: [
            "127.0.0.1:2777", "127.0.0.1", "127.1.2.3", "localhost:2777", "LOCALHOST:9000",
            "[::1]:2777", "bench.local:2777", "Bench.Local",
        ])
    func ownNames(authority: String) throws {
        #expect(try status(Self.port, Routes.status, .init(authority: authority)) == 200)
    }

    @Test(
        "it answers to no other name, which is how DNS rebinding comes",
        arguments: [
            "evil.example:2777", "127.0.0.1.evil.example", "localhost.evil.example", "127.evil",
            "192.168.1.20:2777", "bench", "relayd", "", nil, "127.0.0.1:2777:1", "[::1", "[::1]x",
            "localhost:27a77", "user@localhost",
        ] as [String?])
    func otherNames(authority: String?) throws {
        #expect(try status(Self.port, Routes.status, .init(authority: authority)) == 403)
    }

    @Test("served on all addresses, each address is a good name, and still no other")
    func anyAddress() throws {
        let gate = RequestGate.port(.anyAddress, Self.token, readsNeedToken: false)
        for authority in ["192.168.1.20:2777", "[fe80::1]:2777", "localhost:2777"] {
            #expect(try status(gate, Routes.status, .init(authority: authority)) == 200)
        }
        for authority in ["evil.example:2777", "bench"] {
            #expect(try status(gate, Routes.status, .init(authority: authority)) == 403)
        }
    }

    @Test(
        "nobody reads without the token by a name that could be pointed here, whatever is configured",
        arguments: [
            "127.0.0.1", "::1", "localhost", "127.1.2.3", "0.0.0.0", "::", "192.168.1.20", "bench",
            "bench.local", "Localhost", "localhost.",
        ])
    func rebinding(configured: String) throws {
        var configuration = Config.Dashboard()
        configuration.address.host = configured
        // By default every read needs the token; this setting opens the most.
        configuration.tokenToRead = false
        // Off, so that nothing listens; the gate is the same.
        configuration.enabled = false
        let gate = DashboardEndpoint(configuration, logger: Logger(label: "test")).gate
        let own = ["127.0.0.1:2777", "[::1]:2777", "localhost:2777", "127.1.2.3"]
        let others = [
            "evil.example:2777", "evil", "bench", "bench.local:2777", "relayd", "192.168.1.20:2777",
            "localhost.evil.example", "localhost.", "10.0.0.1", "[fe80::1]:2777", "", nil,
        ]
        for route in Routes.all where route.access == .read {
            for authority in others {
                let heads = [
                    RequestGate.Head(authority: authority),
                    RequestGate.Head(authority: authority, fetchSite: "same-origin"),
                    RequestGate.Head(authority: authority, hasBrowserMark: true),
                    RequestGate.Head(
                        authority: authority, origin: authority.map { "http://\($0)" } ?? "null",
                        fetchSite: "same-origin"),
                ]
                for head in heads {
                    // 403: not a name of this relayd. 401: one of its names, which then needs the token.
                    let found = try status(gate, route.path, head)
                    #expect(found == 403 || found == 401, "\(authority ?? "-") \(route.path)")
                }
            }
            for authority in own {
                let head = RequestGate.Head(authority: authority, fetchSite: "same-origin")
                let isForAll = !ListenAddress.isLoopback(configured)
                #expect(try status(gate, route.path, head) == (isForAll ? 401 : 200))
            }
        }
    }

    @Test("the Unix socket answers to the name tools write and to loopback, and to no other")
    func unixSocketHosts() throws {
        for authority in [
            "relayd", "Relayd", "localhost", "127.0.0.1:2777", "[::1]:1", "", nil,
        ] {
            let head = RequestGate.Head(authority: authority)
            #expect(
                try status(Self.socket, Routes.reload, "POST", head) == 200, "\(authority ?? "-")")
        }
        // In a network that assigns names by DHCP, a name without a dot can be anybody's.
        for authority in ["evil", "x", "evil.example", "evil.example:2777", "10.0.0.1", "relayd."] {
            let head = RequestGate.Head(authority: authority)
            #expect(try status(Self.socket, Routes.status, head) == 403, "\(authority)")
        }
    }

    @Test("through a forwarded socket, the name relayd with a port is that of somebody's web site")
    func nameWithPort() throws {
        for authority in ["relayd:2777", "RELAYD:2777", "relayd:80", "relayd:", "relayd."] {
            for token in [nil, "Bearer \(Self.token.text)"] {
                // Apart from the name, such a request from a browser looks like a program's.
                let head = RequestGate.Head(authority: authority, authorization: token)
                for route in Routes.all {
                    #expect(
                        try status(Self.socket, route.path, route.method, head) == 403,
                        "\(authority) \(route.path)")
                }
            }
        }
    }

    @Test("through a forwarded socket a browser needs the token, by whatever name it comes")
    func forwardedSocket() throws {
        // Without a port: the socket is forwarded to port 80.
        for authority in ["relayd", "localhost:2777"] {
            let browsers = [
                RequestGate.Head(authority: authority, fetchSite: "same-origin"),
                RequestGate.Head(authority: authority, hasBrowserMark: true),
                RequestGate.Head(authority: authority, origin: "http://\(authority)"),
            ]
            for var head in browsers {
                #expect(try status(Self.socket, Routes.status, head) == 401)
                #expect(try status(Self.socket, Routes.reload, "POST", head) == 401)
                #expect(try status(Self.socket, Routes.dashboard, head) == 403)
                // The page itself can be opened, and asks for the token.
                #expect(try status(Self.socket, Routes.page, head) == 200)
                #expect(
                    Self.socket.access(head, DriveSwitch(false))
                        == DashboardAccess(
                            reads: .token, writes: .token, authorized: false, drives: false,
                            driveReason: DriveSwitch.remedy))
                head.authorization = "Bearer \(Self.token.text)"
                #expect(try status(Self.socket, Routes.status, head) == 200)
                #expect(try status(Self.socket, Routes.reload, "POST", head) == 200)
                #expect(try status(Self.socket, Routes.dashboard, head) == 403)
                #expect(Self.socket.access(head, DriveSwitch(true)).authorized)
            }
        }
    }

    @Test(
        "a page of another origin is refused, on both sockets, even with the token",
        arguments: [
            "http://evil.example", "null", "https://localhost:2777", "http://localhost:9000",
            "http://localhost", "",
        ])
    func origins(origin: String) throws {
        let head = RequestGate.Head(
            authority: "localhost:2777", origin: origin,
            authorization: "Bearer \(Self.token.text)")
        #expect(try status(Self.port, Routes.reload, "POST", head) == 403)
        #expect(try status(Self.socket, Routes.reload, "POST", head) == 403)
    }

    @Test("its own page is not")
    func ownOrigin() throws {
        let head = RequestGate.Head(
            authority: "localhost:2777", origin: "http://localhost:2777", fetchSite: "same-origin",
            authorization: "Bearer \(Self.token.text)")
        #expect(try status(Self.port, Routes.reload, "POST", head) == 200)
        #expect(try status(Self.socket, Routes.reload, "POST", head) == 200)
    }

    @Test("a link from another site opens the page, and reaches nothing else")
    func crossSite() throws {
        for site in ["cross-site", "same-site"] {
            let head = RequestGate.Head(authority: "localhost", fetchSite: site)
            for gate in [Self.port, Self.socket] {
                #expect(try status(gate, Routes.index, head) == 200)
                #expect(try status(gate, Routes.page, head) == 200)
                for route in Routes.all where route.path != "/" && route.path != Routes.page {
                    #expect(try status(gate, route.path, route.method, head) == 403)
                }
            }
        }
    }

    @Test("what changes something needs the token over TCP")
    func writes() throws {
        for route in Routes.all where route.access == .write {
            for authorization in [nil, "", "Bearer ", "Bearer x", Self.token.text, "Basic eDp5"] {
                let head = RequestGate.Head(authority: "localhost", authorization: authorization)
                #expect(try status(Self.port, route.path, route.method, head) == 401)
                #expect(try status(Self.socket, route.path, route.method, head) == 200)
            }
            let head = RequestGate.Head(
                authority: "localhost", authorization: "bearer \(Self.token.text)")
            #expect(try status(Self.port, route.path, route.method, head) == 200)
        }
    }

    @Test("looking needs the token only where it is configured, and what is open never")
    func reads() throws {
        let head = RequestGate.Head(authority: "localhost")
        let with = RequestGate.Head(
            authority: "localhost", authorization: "Bearer \(Self.token.text)")
        for route in Routes.all where route.access == .read {
            #expect(try status(Self.port, route.path, head) == 200)
            #expect(try status(Self.strict, route.path, head) == 401, "\(route.path)")
            #expect(try status(Self.strict, route.path, with) == 200)
        }
        for route in Routes.all where route.access == .open {
            #expect(try status(Self.strict, route.path, head) == 200, "\(route.path)")
        }
    }

    @Test("the token is not told over TCP, not even to who has it")
    func tokenRoute() throws {
        let head = RequestGate.Head(
            authority: "localhost", authorization: "Bearer \(Self.token.text)")
        #expect(try status(Self.port, Routes.dashboard, head) == 403)
        #expect(try status(Self.socket, Routes.dashboard, .init(authority: "relayd")) == 200)
    }

    @Test("a kind of access this gate does not know takes the most")
    func unknownAccess() {
        let route = Route(path: "/x", access: RouteAccess(rawValue: "later"), summary: "")
        #expect(throws: RequestGate.Refusal.self) {
            try Self.port.check(.init(authority: "localhost"), for: route)
        }
    }

    @Test("a refusal says what was found without repeating control characters")
    func wording() {
        do throws(RequestGate.Refusal) {
            try Self.port.checkSite(.init(authority: "evil.example\u{1B}[2J"), nil)
            Issue.record("it was let in")
        } catch {
            #expect(error.error.error.message.contains("evil.example"))
            #expect(!error.error.error.message.contains("\u{1B}"))
        }
    }

    @Test("the page is told what is open to it")
    func access() {
        let off = DriveSwitch(false)
        let with = RequestGate.Head(authorization: "Bearer \(Self.token.text)")
        #expect(
            Self.port.access(.init(), off)
                == DashboardAccess(
                    reads: .open, writes: .token, authorized: false, drives: false,
                    driveReason: DriveSwitch.remedy))
        #expect(
            Self.strict.access(with, DriveSwitch(true))
                == DashboardAccess(
                    reads: .token, writes: .token, authorized: true, drives: true))
        #expect(
            Self.socket.access(.init(), DriveSwitch(true))
                == DashboardAccess(
                    reads: .open, writes: .open, authorized: true, drives: true))
    }
}
