import ControlAPI
import Testing
import relayd

// Who is let in: by host, by the site behind the request, by token. On paper, without sockets.

@Suite("The gate of the control API")
struct RequestGateTests {
    private static let token = DashboardToken()
    private static let port = RequestGate(
        hosts: .named("bench.local"), token: token, readsNeedToken: false)
    private static let strict = RequestGate(
        hosts: .named("bench.local"), token: token, readsNeedToken: true)

    private func status(_ gate: RequestGate, _ head: RequestGate.Head) -> Int {
        do throws(RequestGate.Refusal) {
            try gate.check(head)
            return 200
        } catch {
            return error.status
        }
    }

    @Test(
        "the dashboard's port answers to this machine's names and the configured one, on any port",
        arguments: [
            "127.0.0.1:2777", "127.0.0.1", "localhost:2777", "LOCALHOST:9000", "[::1]:2777",
            "bench.local:2777", "Bench.Local",
        ])
    func ownNames(authority: String) {
        #expect(status(Self.port, .init(path: Routes.status, authority: authority)) == 200)
    }

    @Test(
        "it answers to no other name, which is how DNS rebinding comes",
        arguments: [
            "evil.example:2777", "127.0.0.1.evil.example", "localhost.evil.example",
            "192.168.1.20:2777", "bench", "relayd", "", nil, "127.0.0.1:2777:1", "[::1", "[::1]x",
            "localhost:27a77", "user@localhost",
        ] as [String?])
    func otherNames(authority: String?) {
        #expect(status(Self.port, .init(path: Routes.status, authority: authority)) == 403)
    }

    @Test("served on all addresses, each address is a good name, and still no other")
    func anyAddress() {
        let gate = RequestGate(hosts: .anyAddress, token: Self.token, readsNeedToken: false)
        for authority in ["192.168.1.20:2777", "[fe80::1]:2777", "localhost:2777"] {
            #expect(status(gate, .init(path: Routes.status, authority: authority)) == 200)
        }
        for authority in ["evil.example:2777", "bench"] {
            #expect(status(gate, .init(path: Routes.status, authority: authority)) == 403)
        }
    }

    @Test("the Unix socket takes words as curl and tools send them, and no web site's name")
    func unixSocketHosts() {
        for authority in ["relayd", "localhost", "x", "127.0.0.1:2777", "[::1]:1", "", nil] {
            let head = RequestGate.Head(method: "POST", path: "/v1/reload", authority: authority)
            #expect(status(.unixSocket, head) == 200, "\(authority ?? "none")")
        }
        for authority in ["evil.example", "evil.example:2777", "10.0.0.1"] {
            let head = RequestGate.Head(path: Routes.status, authority: authority)
            #expect(status(.unixSocket, head) == 403, "\(authority)")
        }
    }

    @Test(
        "a page of another origin is refused, on both sockets, even with the token",
        arguments: [
            "http://evil.example", "null", "https://localhost:2777", "http://localhost:9000",
            "http://localhost", "",
        ])
    func origins(origin: String) {
        let head = RequestGate.Head(
            method: "POST", path: "/v1/reload", authority: "localhost:2777", origin: origin,
            authorization: "Bearer \(Self.token.text)")
        #expect(status(Self.port, head) == 403)
        #expect(status(.unixSocket, head) == 403)
    }

    @Test("its own page is not")
    func ownOrigin() {
        let head = RequestGate.Head(
            method: "POST", path: "/v1/reload", authority: "localhost:2777",
            origin: "http://localhost:2777", fetchSite: "same-origin",
            authorization: "Bearer \(Self.token.text)")
        #expect(status(Self.port, head) == 200)
        #expect(status(.unixSocket, head) == 200)
    }

    @Test("a link from another site opens the page, and reaches nothing else")
    func crossSite() {
        for site in ["cross-site", "same-site"] {
            let visit = RequestGate.Head(path: "/", authority: "localhost", fetchSite: site)
            #expect(status(Self.port, visit) == 200)
            for path in [Routes.status, Routes.messageStream, "/dashboard/access"] {
                let head = RequestGate.Head(path: path, authority: "localhost", fetchSite: site)
                #expect(status(Self.port, head) == 403, "\(path)")
                #expect(status(.unixSocket, head) == 403, "\(path)")
            }
            let post = RequestGate.Head(
                method: "POST", path: "/", authority: "localhost", fetchSite: site)
            #expect(status(Self.port, post) == 403)
        }
    }

    @Test(
        "what may change something needs the token over TCP, whatever its method is called",
        arguments: ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "get", "BREW"])
    func writes(method: String) {
        for authorization in [nil, "", "Bearer ", "Bearer x", Self.token.text, "Basic eDp5"] {
            let head = RequestGate.Head(
                method: method, path: "/v1/reload", authority: "localhost",
                authorization: authorization)
            #expect(status(Self.port, head) == 401, "\(authorization ?? "none")")
            #expect(status(.unixSocket, head) == 200)
        }
        let head = RequestGate.Head(
            method: method, path: "/v1/reload", authority: "localhost",
            authorization: "bearer \(Self.token.text)")
        #expect(status(Self.port, head) == 200)
    }

    @Test("looking needs the token only where it is configured, and the page itself never")
    func reads() {
        for path in [Routes.status, Routes.messageStream, "/metrics", "/dashboards"] {
            let head = RequestGate.Head(path: path, authority: "localhost")
            #expect(status(Self.port, head) == 200)
            #expect(status(Self.strict, head) == 401, "\(path)")
        }
        for path in ["/", "/dashboard", "/dashboard/main.js", "/dashboard/access"] {
            let head = RequestGate.Head(path: path, authority: "localhost")
            #expect(status(Self.strict, head) == 200, "\(path)")
        }
        let head = RequestGate.Head(
            path: Routes.status, authority: "localhost",
            authorization: "Bearer \(Self.token.text)")
        #expect(status(Self.strict, head) == 200)
    }

    @Test("the token is not told over TCP, not even to who has it")
    func tokenRoute() {
        let head = RequestGate.Head(
            path: Routes.dashboard, authority: "localhost",
            authorization: "Bearer \(Self.token.text)")
        #expect(status(Self.port, head) == 403)
        #expect(status(.unixSocket, .init(path: Routes.dashboard, authority: "relayd")) == 200)
    }

    @Test("a refusal says what was found without repeating control characters")
    func wording() {
        do throws(RequestGate.Refusal) {
            try Self.port.check(.init(path: "/", authority: "evil.example\u{1B}[2J"))
            Issue.record("it was let in")
        } catch {
            #expect(error.error.error.message.contains("evil.example"))
            #expect(!error.error.error.message.contains("\u{1B}"))
        }
    }

    @Test("the page is told what is open to it")
    func access() {
        let with = RequestGate.Head(authorization: "Bearer \(Self.token.text)")
        #expect(
            Self.port.access(.init())
                == DashboardAccess(reads: .open, writes: .token, authorized: false))
        #expect(
            Self.strict.access(with)
                == DashboardAccess(reads: .token, writes: .token, authorized: true))
        #expect(
            RequestGate.unixSocket.access(.init())
                == DashboardAccess(reads: .open, writes: .open, authorized: true))
    }
}

@Suite("The dashboard's token")
struct DashboardTokenTests {
    @Test("it has 256 bits in hexadecimal, and each is another one")
    func content() {
        let texts = (0..<100).map { _ in DashboardToken().text }
        #expect(texts.allSatisfy { $0.count == 64 && $0.allSatisfy(\.isHexDigit) })
        #expect(Set(texts).count == texts.count)
    }

    @Test("only itself, whole, is itself")
    func comparison() {
        let token = DashboardToken()
        #expect(token.isBrought(by: "Bearer \(token.text)"))
        for wrong in [
            nil, "", "Bearer", "Bearer ", "Bearer \(token.text.dropLast())",
            "Bearer \(token.text)0", "Bearer \(token.text.dropLast())g", "Bearer  \(token.text)",
            "Basic \(token.text)", token.text, "Bearer \(DashboardToken().text)",
        ] {
            #expect(!token.isBrought(by: wrong), "\(wrong ?? "none")")
        }
    }
}
