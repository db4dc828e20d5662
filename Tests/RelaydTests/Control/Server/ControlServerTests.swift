import ControlAPI
import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayTesting
import ServiceLifecycle
import Testing

@testable import relayd

@Suite struct ControlServerTests {
    private func body(_ answer: String) -> [UInt8] {
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1)
        return Array((parts.count > 1 ? parts[1] : "").utf8)
    }

    @Test("a client that leaves in the middle of its body is no error of relayd")
    func cutBody() async throws {
        let log = LoggedLines()
        try await ControlTestServer.with(logger: Logger(label: "test") { _ in log }) { test in
            let client = try await test.connected()
            test.send(
                "PUT /v1/server HTTP/1.1\r\nHost: relayd\r\nContent-Length: 100\r\n\r\n{",
                to: client)
            #expect(shutdown(client, CInt(SHUT_WR)) == 0)
            let answer = try #require(try await test.rest(of: client))
            close(client)
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            #expect(try await test.get(Routes.status).hasPrefix("HTTP/1.1 200"))
        }
        #expect(log.records.filter { $0.level >= .warning }.map(\.message) == [])
    }

    @Test("GET /v1/status answers the snapshot as JSON") func status() async throws {
        try await ControlTestServer.with { test in
            let answer = try await test.get("/v1/status")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.lowercased().contains("content-type: application/json"))
            #expect(answer.lowercased().contains("server: relayd/\(Version.current)"))
            let snapshot = try APICoding.decode(StatusSnapshot.self, from: body(answer))
            #expect(snapshot == ControlTestServer.snapshot)
        }
    }

    @Test("the longest filter fits; of a request that is too long relayd says so")
    func longHead() async throws {
        try await ControlTestServer.with { test in
            let longest = String(repeating: "a", count: MessageQuery.longestFilter - 7)
            #expect(try await !test.get("/v1/status?filter=" + longest).contains("too long"))
            let answer = try await test.get("/v1/status?filter=" + longest + longest)
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            #expect(answer.lowercased().contains("server: relayd/\(Version.current)"))
            #expect(answer.contains("its head may have 16 KiB"))
        }
    }

    @Test("GET /v1/health is 200 when all is well and 503 with the reason when not")
    func health() async throws {
        try await ControlTestServer.with { test in
            let answer = try await test.get("/v1/health")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
        }
        let well = ControlTestServer.snapshot
        let broken = StatusSnapshot(
            relayd: well.relayd,
            accessory: AccessoryStatus(
                kind: "tcp", address: "tcp:hu:1", state: .waiting, since: .now),
            link: LinkStatus(state: .noAccessory), server: well.server)
        try await ControlTestServer.with(answering: broken) { test in
            let answer = try await test.get("/v1/health")
            #expect(answer.hasPrefix("HTTP/1.1 503"))
            let report = try APICoding.decode(HealthReport.self, from: body(answer))
            #expect(report.health == .notConnected && report.summary == broken.summary)
        }
    }

    @Test("every route of the list is served, also with HEAD") func everyRoute() async throws {
        try await ControlTestServer.with { test in
            let list = try APICoding.decode(
                RouteList.self, from: body(try await test.get("/")))
            #expect(list.routes == Routes.all)
            for route in list.routes where route.method == "GET" {
                // ControlTestServer has app 1, message 1 and no recording; a stream that follows would not end.
                let path =
                    Routes.path(
                        route.path, route.path == Routes.pageFile ? "main.js" : "1", "Show")
                    + (route.path.hasSuffix("/stream") ? "?follow=0" : "")
                let status =
                    if route.path.hasPrefix(Routes.recording) {
                        "404"
                    } else {
                        // The server's accessory is a head unit.
                        route.path.hasPrefix(Routes.vehicle) ? "409" : "200"
                    }
                #expect(try await test.get(path).hasPrefix("HTTP/1.1 \(status)"))
                let head = try await test.get(path, method: "HEAD")
                #expect(head.hasPrefix("HTTP/1.1 \(status)") && body(head).isEmpty)
            }
        }
    }

    @Test("an unknown path is 404 and says which there are") func notFound() async throws {
        try await ControlTestServer.with { test in
            let answer = try await test.get("/v2/status?x=1")
            #expect(answer.hasPrefix("HTTP/1.1 404"))
            let error = try APICoding.decode(APIError.self, from: body(answer)).error
            #expect(error.code == .notFound && error.message.contains("GET /v1/status"))
        }
    }

    @Test("a known path with another method is 405 and says which it takes")
    func wrongMethod() async throws {
        try await ControlTestServer.with { test in
            let answer = try await test.get(
                "/v1/status", method: "POST", headers: "Content-Length: 3\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 405"))
            #expect(answer.lowercased().contains("allow: get"))
            let error = try APICoding.decode(APIError.self, from: body(answer)).error
            #expect(error.code == .methodNotAllowed)
        }
    }

    @Test("a status that cannot be had is 500 without details") func failing() async throws {
        struct Secret: Error {}
        try await ControlTestServer.with(failing: Secret()) { test in
            let answer = try await test.get("/v1/status")
            #expect(answer.hasPrefix("HTTP/1.1 500") && !answer.contains("Secret"))
            #expect(try APICoding.decode(APIError.self, from: body(answer)).error.code == .internal)
        }
    }

    @Test("several requests share a connection") func keepAlive() async throws {
        try await ControlTestServer.with { test in
            let answer = try await test.exchange(
                "GET / HTTP/1.1\r\nHost: relayd\r\n\r\nGET /v1/health HTTP/1.1\r\nHost: relayd\r\n"
                    + "Connection: close\r\n\r\n")
            #expect(answer.split(separator: "HTTP/1.1 200").count == 2)
        }
    }

    enum Hostility: String, CaseIterable {
        case binary, otherProtocol, futureVersion, hugeHeader, hugePath, manyHeaders
        case absoluteForm, asteriskForm, authorityForm

        var request: String {
            switch self {
            case .binary: "\0\u{1}\u{2}\u{3}"
            case .otherProtocol: "SSH-2.0-OpenSSH_9\r\n\r\n"
            case .futureVersion: "GET / HTTP/9.9\r\n\r\n"
            case .hugeHeader:
                "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 100_000) + "\r\n\r\n"
            case .hugePath:
                "GET /" + String(repeating: "a", count: 100_000) + " HTTP/1.1\r\n\r\n"
            case .manyHeaders:
                "GET / HTTP/1.1\r\n" + (0..<5_000).map { "H\($0): x\r\n" }.joined() + "\r\n"
            case .absoluteForm: Self.closing("GET http://relayd/v1/status HTTP/1.1")
            case .asteriskForm: Self.closing("OPTIONS * HTTP/1.1")
            case .authorityForm: Self.closing("CONNECT relayd:80 HTTP/1.1")
            }
        }

        private static func closing(_ line: String) -> String {
            line + "\r\nHost: relayd\r\nConnection: close\r\n\r\n"
        }
    }

    @Test(
        "what is not a proper request gets a 400, and the server lives on",
        arguments: Hostility.allCases)
    func hostileRequests(hostility: Hostility) async throws {
        try await ControlTestServer.with { test in
            let answer = try await test.exchange(hostility.request)
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            #expect(try await test.get("/v1/status").hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("nobody waits for a body that trickles in") func slowBody() async throws {
        try await ControlTestServer.with { test in
            let answer = try await test.exchange(
                "GET /v1/status HTTP/1.1\r\nHost: relayd\r\nContent-Length: 1000000\r\n\r\nx")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("shutdown does not wait for clients that sit there")
    func shutdownWithOpenClients() async throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let group = ServiceGroup(services: [try test.make()], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        #expect(try await test.get("/").hasPrefix("HTTP/1.1 200"))

        let idle = try await test.connected()
        let half = try await test.connected()
        test.send("GET /v1/status HTT", to: half)
        let greedy = try await test.connected()
        async let flooding: Void = blocking {
            // Requests more than all buffers hold and reads none of it, until it is cut off.
            let request = String(repeating: "GET / HTTP/1.1\r\nHost: relayd\r\n\r\n", count: 100)
            for _ in 0..<100 { test.send(request, to: greedy) }
        }
        #expect(try await test.get("/").hasPrefix("HTTP/1.1 200"))

        await group.triggerGracefulShutdown()
        try await running
        try await flooding
        for descriptor in [idle, half, greedy] {
            #expect(try await test.rest(of: descriptor) != nil)
            close(descriptor)
        }
        #expect(access(test.path, F_OK) != 0)
    }

    @Test("at shutdown an answer that is late is given all the same", .timeLimit(.minutes(15)))
    func lateAnswer() async throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let server = try test.make(
            actions: ControlActions(
                disconnect: { _, _ in false },
                reopen: { _ in
                    ask.yield()
                    // This machine is busy for longer than a client may go without reading.
                    let wait = TimeAmount(EndPatience.interval) + .milliseconds(200)
                    try await loop.scheduleTask(in: wait) {}.futureResult.get()
                },
                setServer: { _ in "" }, reload: { ReloadReport(summary: "") }),
            // Otherwise this machine would have to answer before the last look, however busy it is.
            endPatience: EndPatience(looks: .max))
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        async let answer = test.send("POST", "/v1/link/reopen")
        for await _ in asked { break }
        await group.triggerGracefulShutdown()
        #expect(try await answer.status == 200)
        try await running
    }

    @Test("cancelling ends the server too") func cancellation() async throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try test.make()
        let running = Task { try await server.run() }
        #expect(try await test.get("/").hasPrefix("HTTP/1.1 200"))
        running.cancel()
        _ = await running.result
        #expect(access(test.path, F_OK) != 0)
    }

    @Test("beyond the limit relayd's own user is counted, then waits, and is served later")
    func full() async throws {
        let (hits, hit) = AsyncStream.makeStream(of: Int.self)
        let overflow = ControlOverflow { _, count in hit.yield(count) }
        try await ControlTestServer.with(overflow: overflow) { test in
            let limit = Config().control.connections
            let beyond = ControlShares.maximumTurnedAway
            let clients = try await blocking {
                try (0..<limit + beyond).map { _ in try test.connect() }
            }
            // Each connection beyond the limit counts, and so does having to make others wait.
            for await count in hits where count >= beyond { break }
            let found = try #require(overflow.hits.first)
            #expect(found.name == "control.connections" && found.limit == limit)
            #expect(found.count == beyond || found.count == beyond + 1)
            async let late = test.get(Routes.health)
            for client in clients { close(client) }
            let answer = try await late
            #expect(answer.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("while the door is full, a crowd stands in line instead of being refused")
    func line() async throws {
        let (hits, hit) = AsyncStream.makeStream(of: Int.self)
        let overflow = ControlOverflow { _, count in hit.yield(count) }
        try await ControlTestServer.with(overflow: overflow) { test in
            let beyond = ControlShares.maximumTurnedAway
            let places = Config().control.connections + beyond
            let inside = try await blocking { try (0..<places).map { _ in try test.connect() } }
            for await count in hits where count >= beyond { break }
            // More than the 128 that NIO requests from the kernel.
            let address = try SocketAddress(unixDomainSocketPath: test.path)
            var problems: Set<Int32> = []
            var line: [Int32] = []
            for _ in 0..<300 {
                let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
                let client = socket(AF_UNIX, kind, 0)
                line.append(client)
                if address.withSockAddr({ Glibc.connect(client, $0, socklen_t($1)) }) != 0 {
                    problems.insert(errno)
                }
            }
            #expect(problems == [])
            for client in inside + line { close(client) }
        }
    }

    @Test("clients that come while the server is cancelled are let go, each of them")
    func crowd() async throws {
        for _ in 0..<20 {
            let test = try ControlTestServer()
            defer { test.cleanUp() }
            let server = try test.make()
            let clients = try (0..<10).map { _ in try test.connect() }
            let running = Task { try await server.run() }
            await Task.yield()
            running.cancel()
            _ = await running.result
            // A server that forgot a client would leave it waiting: `connect` gives it 30 s, then this is nil.
            for client in clients {
                let rest = try await test.rest(of: client)
                #expect(rest == "")
                close(client)
            }
            #expect(access(test.path, F_OK) != 0)
        }
    }

    @Test("a request made before the server runs is answered once it does")
    func earlyClient() async throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try test.make()
        let early = try await test.connected()
        defer { close(early) }
        test.send("GET / HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n\r\n", to: early)
        let running = Task { try await server.run() }
        let answer = try await test.rest(of: early)
        #expect(answer?.hasPrefix("HTTP/1.1 200") == true)
        running.cancel()
        _ = await running.result
    }
}
