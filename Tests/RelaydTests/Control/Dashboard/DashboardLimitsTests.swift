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

// What the dashboard's port may cost, and how it starts and stops.

@Suite("The dashboard's limits, beginning and end")
struct DashboardLimitsTests {
    private typealias Browser = DashboardBench.Browser
    private typealias Answer = DashboardBench.Answer

    /// Connections that send no request.
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

        /// The answer that one of the connections receives before it has sent a request.
        func refusal() throws -> String {
            while true {
                // Nothing here may take this long; without the limit a failing test would hang.
                let (count, index) = waiting.withLock { waiting in
                    let count = poll(&waiting, nfds_t(waiting.count), 30_000)
                    return (count, waiting.firstIndex { $0.revents != 0 })
                }
                let ready = try #require(count > 0 ? index : nil, "none was told anything")
                let descriptor = waiting.withLock { $0[ready].fd }
                // The request is sent when the answer is there already, as many clients do.
                browser.test.send(
                    "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
                let text = try #require(browser.test.readToEnd(descriptor), "it was not closed")
                if !text.isEmpty { return text }
                // The connection has been silent for too long, so another takes its place.
                let next = try browser.connect()
                waiting.withLock { $0[ready].fd = next }
                // Not before: otherwise `leave` would close the descriptor again, when another connection may
                // own it.
                close(descriptor)
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

    @Test("streams of one address leave room for requests, and for who has the token")
    func crowd() async throws {
        let dashboard = DashboardBench.dashboard()
        let token = try #require(dashboard.report.token)
        let overflow = ControlOverflow()
        let port = try DashboardBench.port(of: dashboard)
        try await ControlTestServer.with(dashboard: dashboard, overflow: overflow) { test in
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
            #expect(overflow.hits.map(\.name) == ["dashboard.streams_per_peer"])
            #expect(try await browser.ask(Routes.status).status == "200")
            let (kept, own) = try await stream("Authorization: Bearer \(token)\r\n")
            taken.append(kept)
            #expect(own.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("connections beyond an address's share are turned away at once, in words")
    func share() async throws {
        let dashboard = DashboardBench.dashboard()
        let overflow = ControlOverflow()
        let port = try DashboardBench.port(of: dashboard)
        try await ControlTestServer.with(dashboard: dashboard, overflow: overflow) { test in
            let browser = Browser(test: test, port: port)
            // The server's event loops decide which connection is one too many, so all are checked.
            let count = Config().dashboard.connectionsPerPeer + 1
            let crowded = try await blocking { try Crowd(count, browser) }
            let refusal = try await blocking { try crowded.refusal() }
            let answer = Answer(refusal)
            #expect(answer.status == "429" && answer.headers["retry-after"] == "1", "\(refusal)")
            let error = try APICoding.decode(APIError.self, from: Array(answer.body.utf8)).error
            #expect(
                error.code == .tooMany
                    && error.message.contains("(dashboard.connections_per_peer: 56)"))
            #expect(overflow.hits.map(\.name) == ["dashboard.connections_per_peer"])
            // The other door has places of its own.
            #expect(try await test.get(Routes.status).hasPrefix("HTTP/1.1 200"))
            crowded.leave()
            var later = ""
            // The places are free once the server has seen the clients leave.
            while later != "200" { later = try await browser.ask(Routes.status).status }
        }
    }

    @Test("who is refused over TCP is logged with its address, a few times")
    func refusalsAreLogged() async throws {
        let dashboard = DashboardBench.dashboard()
        let port = try DashboardBench.port(of: dashboard)
        let log = LoggedLines()
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
        try await DashboardBench.with(DashboardBench.dashboard()) { _, browser in
            let answer = try await browser.ask(
                Routes.status, "X: " + String(repeating: "a", count: 100_000))
            #expect(answer.status == "400")
            #expect(try await browser.ask(Routes.status).status == "200")
        }
    }

    @Test("an open stream does not hold shutdown back")
    func shutdown() async throws {
        let dashboard = DashboardBench.dashboard()
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try test.make(dashboard: dashboard)
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        let browser = Browser(test: test, port: try DashboardBench.port(of: dashboard))
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

    /// Serves a dashboard that gives each address one connection.
    private func withOnePlace(
        overflow: ControlOverflow = ControlOverflow(), logger: Logger = ControlTestServer.quiet,
        _ body: (Browser) async throws -> Void
    ) async throws {
        let dashboard = DashboardBench.dashboard()
        var limits = ControlShares.Limits(Config.Dashboard())
        limits.connectionsOfPeer = 1
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try test.make(
            dashboard: dashboard, overflow: overflow, limits: (.init(Config.Control()), limits),
            logger: logger)
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        try await body(Browser(test: test, port: try DashboardBench.port(of: dashboard)))
        await group.triggerGracefulShutdown()
        try await running
    }

    @Test("a client whose connection was closed finds its only place free, and has only one")
    func onePlace() async throws {
        let overflow = ControlOverflow()
        try await withOnePlace(overflow: overflow) { browser in
            let test = browser.test
            // This client never hangs up.
            let (clients, answers) = try await blocking {
                var clients: [Int32] = []
                var answers: [Substring?] = []
                for _ in 0..<200 {
                    let client = try browser.connect()
                    clients.append(client)
                    test.send(
                        "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                        to: client)
                    answers.append(test.readToEnd(client)?.prefix(12))
                }
                return (clients, answers)
            }
            defer { for client in clients { close(client) } }
            #expect(answers.count { $0 != "HTTP/1.1 200" } == 0)
            #expect(overflow.hits.map(\.name) == [])
            // The connections are closed: the system answers with a reset, whatever relayd does.
            for client in clients { test.send("x", to: client) }
            let reset = Int16(POLLERR | POLLHUP)
            let closed = try await blocking {
                clients.count { client in
                    var state = pollfd(fd: client, events: 0, revents: 0)
                    return poll(&state, 1, 5_000) == 1 && state.revents & reset != 0
                }
            }
            #expect(closed == clients.count)
        }
    }

    @Test("who has more connections than its share is logged, a few times")
    func sharesAreLogged() async throws {
        let log = LoggedLines()
        try await withOnePlace(logger: Logger(label: "test") { _ in log }) { browser in
            let first = try await browser.connected()
            defer { close(first) }
            browser.test.send("GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n", to: first)
            _ = try await browser.test.read(first, until: "\r\n\r\n")
            let began = NIODeadline.now()
            // Its place becomes free after it has been silent for a while.
            for _ in 0..<40 {
                guard try await browser.ask(Routes.health).status == "429" else { break }
            }
            let windows = Int((NIODeadline.now() - began).nanoseconds / 10_000_000_000) + 1
            let told = log.records.filter { $0.level == .warning }.map(\.message)
            #expect(told.count >= 1 && told.count <= 5 * windows, "\(told)")
            #expect(
                told.first == """
                    control: a connection from 127.0.0.1 refused: it has its share \
                    (dashboard.connections_per_peer: 1)
                    """)
        }
    }

    @Test("a port that is taken is told, and the control socket works without")
    func portTaken() async throws {
        let first = DashboardBench.dashboard()
        let second = DashboardBench.dashboard(port: try DashboardBench.port(of: first))
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
        let place = await DashboardEndpoint.place(of: configuration, on: loop) { wanted in
            try #require(wanted.host == "car.test" && !loop.inEventLoop)
            // The name server answers only after the loop has done something else.
            try loop.submit {}.wait()
            return try SocketAddress(ipAddress: "127.0.0.1", port: wanted.port)
        }
        let dashboard = DashboardEndpoint(configuration, at: place, logger: ControlTestServer.quiet)
        #expect(dashboard.report.url?.hasPrefix("http://car.test:") == true)

        struct Unknown: Error {}
        let nowhere = await DashboardEndpoint.place(of: configuration, on: loop) { _ in
            throw Unknown()
        }
        let report = DashboardEndpoint(
            configuration, at: nowhere, logger: ControlTestServer.quiet
        ).report
        #expect(!report.enabled && report.reason?.contains("the host is not known") == true)
    }

    @Test("switched off, it says how to switch it on")
    func off() {
        let report = DashboardBench.dashboard(enabled: false).report
        #expect(!report.enabled && report.url == nil && report.addressWithToken == nil)
        #expect(report.reason?.contains("--dashboard 127.0.0.1:2777") == true)
    }
}
