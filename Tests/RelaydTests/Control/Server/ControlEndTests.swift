import ControlAPI
import Glibc
import RelayCore
import RelayTesting
import ServiceLifecycle
import Synchronization
import Testing

@testable import relayd

// How connections to the control API end: completely, and not before the client has taken the last byte.

@Suite("The end of a connection to the control API")
struct ControlEndTests {
    private typealias Browser = DashboardBench.Browser

    /// The number of bytes that a Unix socket accepts for a client that reads nothing.
    private static func socketRoom() throws -> Int {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        let bytes = [UInt8](repeating: 0, count: 16 << 20)
        let count = Glibc.send(pair[0], bytes, bytes.count, Int32(MSG_DONTWAIT))
        try #require(count > 0 && count < bytes.count)
        return count
    }

    /// Returns when nearly as many bytes wait to be read as a socket holds.
    private static func waitUntilFull(_ descriptor: Int32, _ room: Int) throws {
        var buffer = [UInt8](repeating: 0, count: room)
        let flags = Int32(MSG_PEEK | MSG_DONTWAIT)
        while recv(descriptor, &buffer, room, flags) < room / 10 * 9 {
            var client = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // Nothing here may take this long; without the limit a failing test would hang.
            try #require(poll(&client, 1, 600_000) == 1, "nothing came")
            sched_yield()
        }
    }

    /// These readers take everything they are given as soon as they get a processor.
    private static let patience = Duration.seconds(30)

    // MARK: In one step

    enum Question: String, CaseIterable {
        case withoutBody, inCapitals, oldHTTP, withBody, bodyUnsent, noHTTP

        var bytes: String {
            switch self {
            case .withoutBody:
                "GET /v1/health HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n\r\n"
            case .inCapitals:
                "GET /v1/health HTTP/1.1\r\nHost: relayd\r\nConnection: Close, TE\r\n\r\n"
            case .oldHTTP: "GET /v1/health HTTP/1.0\r\n\r\n"
            case .withBody:
                "POST /v1/reload HTTP/1.1\r\nHost: relayd\r\nContent-Length: 2\r\n\r\n{}"
            case .bodyUnsent:
                "POST /v1/status HTTP/1.1\r\nHost: relayd\r\nContent-Length: 20\r\n\r\n{}"
            case .noHTTP: "SSH-2.0-OpenSSH_9\r\n\r\n"
            }
        }

        var status: String {
            switch self {
            case .withoutBody, .inCapitals, .oldHTTP, .withBody: "200"
            case .bodyUnsent: "405"
            case .noHTTP: "400"
            }
        }
    }

    @Test(
        "who reads the end of an answer has no half open connection", arguments: Question.allCases)
    func whole(question: Question) async throws {
        try await ControlTestServer.with { test in
            let client = try await test.connected()
            defer { close(client) }
            test.send(question.bytes, to: client)
            let answer = try #require(try await test.rest(of: client))
            #expect(answer.hasPrefix("HTTP/1.1 \(question.status)"), "\(answer)")
            var state = pollfd(fd: client, events: 0, revents: 0)
            #expect(poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP) != 0)
        }
    }

    @Test("clients that never hang up do not fill the door")
    func neverHangUp() async throws {
        let overflow = ControlOverflow()
        try await ControlTestServer.with(overflow: overflow) { test in
            let count = Config().control.connections + ControlShares.maximumTurnedAway + 20
            let (clients, answers) = try await blocking {
                var clients: [Int32] = []
                var answers: [String?] = []
                for _ in 0..<count {
                    let client = try test.connect()
                    clients.append(client)
                    test.send(Question.withoutBody.bytes, to: client)
                    answers.append(test.readToEnd(client))
                }
                return (clients, answers)
            }
            defer { for client in clients { close(client) } }
            #expect(answers.allSatisfy { $0?.hasPrefix("HTTP/1.1 200") == true })
            #expect(try await test.get(Routes.health).hasPrefix("HTTP/1.1 200"))
            #expect(overflow.hits.map(\.name) == [])
        }
    }

    // MARK: Waiting for the request

    @Test("a refusal reaches a client that sends all of its request first")
    func refusedBody() async throws {
        try await DashboardBench.with(DashboardBench.dashboard()) { test, browser in
            for _ in 0..<10 {
                let answer = try await test.exchange(
                    "POST /v1/status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n"
                        + String(repeating: " ", count: 4_000_000), port: browser.port)
                #expect(answer.hasPrefix("HTTP/1.1 405"), "\(answer)")
            }
        }
    }

    @Test("a client that goes on sending keeps its place as long as it is heard out")
    func endless() async throws {
        let dashboard = DashboardBench.dashboard()
        let port = try DashboardBench.port(of: dashboard)
        var limits = ControlShares.Limits(Config.Dashboard())
        limits.connectionsOfPeer = 1
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try test.make(
            dashboard: dashboard, limits: (.init(Config.Control()), limits))
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        let browser = Browser(test: test, port: port)
        let sender = try await browser.connected()
        let hasEnough = Atomic(false)
        async let sending: Void = blocking {
            let piece = String(repeating: " ", count: 65_536)
            test.send(
                "POST /v1/status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
                to: sender)
            while !hasEnough.load(ordering: .relaxed) { test.send(piece, to: sender) }
        }
        #expect(try await test.read(sender, until: "\r\n\r\n").hasPrefix("HTTP/1.1 405"))
        #expect(try await browser.ask(Routes.health).status == "429")
        hasEnough.store(true, ordering: .relaxed)
        shutdown(sender, Int32(SHUT_RDWR))
        try await sending
        close(sender)
        var later = ""
        while later != "200" { later = try await browser.ask(Routes.health).status }
        await group.triggerGracefulShutdown()
        try await running
    }

    // MARK: The last bytes

    enum Parting: String, CaseIterable {
        /// The client asked for it.
        case asked
        /// The client asked for it and has closed its sending half, as `nc -N` does.
        case sendingHalfClosed
        /// relayd stops.
        case stop
    }

    @Test("whoever begins late to read an answer gets all of it", arguments: Parting.allCases)
    func lateReader(parting: Parting) async throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let room = try Self.socketRoom()
        // The part that the socket does not take is small enough for relayd to be done with the answer.
        let long = String(repeating: "x", count: room + 16_384)
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (allowed, allow) = AsyncStream.makeStream(of: Void.self)
        let server = try test.make(
            actions: ControlActions(
                disconnect: { _, _ in false }, reopen: { _ in }, setServer: { _ in "" },
                reload: {
                    ask.yield()
                    for await _ in allowed { break }
                    return ReloadReport(summary: long)
                }), endPatience: EndPatience(interval: Self.patience))
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        let client = try await test.connected()
        defer { close(client) }
        let close = parting == .stop ? "" : "Connection: close\r\n"
        test.send(
            "POST /v1/reload HTTP/1.1\r\nHost: relayd\r\n\(close)Content-Length: 0\r\n\r\n",
            to: client)
        if parting == .sendingHalfClosed { shutdown(client, Int32(SHUT_WR)) }
        for await _ in asked { break }
        if parting == .stop { await group.triggerGracefulShutdown() }
        allow.yield()
        let answer = DashboardBench.Answer(
            try #require(
                try await blocking {
                    try Self.waitUntilFull(client, room)
                    return test.readToEnd(client)
                }))
        #expect(answer.status == "200")
        #expect(answer.headers["content-length"] == "\(answer.body.utf8.count)")
        await group.triggerGracefulShutdown()
        try await running
    }

    @Test("at a stop a stream's backlog reaches a client that takes it")
    func backlog() async throws {
        var feed = TrafficFeed()
        let count: Int32 = 1500
        let field = String(repeating: "x", count: 1000)
        for number in 1...count {
            feed.request(.show, number, #"{"mainField1":"\#(field)"}"#)
        }
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try test.make(
            messages: MessageHandlers(ring: feed.ring),
            endPatience: EndPatience(interval: Self.patience))
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        let client = try await test.connected()
        defer { close(client) }
        test.send(
            "GET /v1/messages/stream?last=\(count) HTTP/1.1\r\nHost: relayd\r\n\r\n", to: client)
        let room = try Self.socketRoom()
        try await blocking { try Self.waitUntilFull(client, room) }
        await group.triggerGracefulShutdown()
        let answer = try #require(try await test.rest(of: client))
        #expect(answer.utf8.count > 1_000_000 && answer.hasSuffix("\r\n0\r\n\r\n"))
        try await running
    }
}
