// Fuzz target: the whole server of the control API, on sockets of its own.

import ControlAPI
import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayCore
import SDLProtocol

@testable import relayd

extension FuzzTarget {
    static let control = FuzzTarget(
        name: "control", about: "the control API's server, on its Unix socket and its TCP port",
        promise: "it answers in HTTP or not at all, and tells nobody the token over TCP",
        maximumBytes: 2048, seconds: 20,
        words: {
            Routes.all.map(\.path) + [
                "GET /", "POST /", "HEAD /", " HTTP/1.1\r\nHost: relayd\r\n",
                "Content-Length: ", "Transfer-Encoding: chunked\r\n", "\r\n\r\n",
                "Accept: text/event-stream\r\n", "Connection: close\r\n", "Authorization: Bearer ",
                "Origin: http://127.0.0.1", "%2F", "//v1/dashboard", "/v1/messages/1",
                "/v1/messages?limit=3&follow=0&since=-30s", "/v1/apps/1",
            ]
        },
        seeds: {
            Routes.all.enumerated().flatMap { index, route in
                [0, 1].map { door in
                    [UInt8(door)]
                        + Array(
                            "\(route.method) \(route.path) HTTP/1.1\r\nHost: relayd\r\n\r\n".utf8)
                }
            }
        },
        run: { bytes in
            guard let door = bytes.first, let server = ServedControl.shared else { return }
            let answer = try server.exchange(Array(bytes.dropFirst()), overTCP: door & 1 == 1)
            let text = String(decoding: answer, as: UTF8.self)
            try ensure(
                text.isEmpty || text.hasPrefix("HTTP/1.1 "), "an answer of \(text.prefix(200))")
            try ensure(
                door & 1 == 0 || !text.contains(server.token),
                "the token is told: \(text.prefix(2000))"
            )
        })
}

/// A server that runs as long as the process, with some messages to tell of.
private final class ServedControl: Sendable {
    static let shared = try? ServedControl()

    let token: String
    private let address: sockaddr_un
    private let addressBytes: socklen_t
    private let port: Int

    private init() throws {
        // An abstract address: nothing is left in a directory.
        let listening = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var length = socklen_t(MemoryLayout<sa_family_t>.size)
        _ = Self.withAddress(&address) { bind(listening, $0, length) }
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        _ = Self.withAddress(&address) { getsockname(listening, $0, &length) }
        listen(listening, 64)
        self.address = address
        addressBytes = length

        let quiet = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
        var settings = Config.Dashboard()
        settings.enabled = true
        settings.address = ListenAddress(host: "127.0.0.1", port: 0)
        let dashboard = Dashboard(settings, logger: quiet)
        token = dashboard.report.token ?? ""
        port = dashboard.listener?.address.port ?? 0
        let server = try ControlServer(
            configuration: .init(socketPath: ""), inherited: listening,
            status: { Self.status }, messages: MessageHandlers(ring: Self.ring),
            dashboard: dashboard, eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: quiet)
        Task { try await server.run() }
    }

    private static func withAddress<Result>(
        _ address: inout sockaddr_un, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }

    private static let status = StatusSnapshot(
        relayd: RelaydStatus(
            pid: 1, startedAt: Timestamp(millisecondsSince1970: 0), uptimeSeconds: 1),
        accessory: AccessoryStatus(
            kind: "sim", address: "sim:", state: .open, since: Timestamp(millisecondsSince1970: 0)),
        link: LinkStatus(state: .idle),
        server: ServerStatus(state: .listening, endpoints: ["127.0.0.1:2776"]),
        apps: [
            AppStatus(
                id: 1, peer: "127.0.0.1:40112", connectedAt: Timestamp(millisecondsSince1970: 0),
                state: .connected)
        ])

    private static let ring: MessageRing = {
        let ring = MessageRing()
        var decoder = TrafficDecoder()
        var entries: [TrafficEntry] = []
        let time = WallTime(nanoseconds: 1_795_257_067_000_000_000)
        let frames = (1...5).map { number in
            Frame.rpc(
                version: 5, sessionID: 1, messageID: number, type: .request, functionID: 13,
                correlationID: Int32(number), json: #"{"mainField1":"\u001b[31m \ud800"}"#)
        }
        decoder.receive(
            .frames(
                frames.map {
                    TappedFrame(
                        frame: $0, direction: .fromApp, app: AppID(rawValue: 1), time: time)
                }), into: &entries)
        ring.keep(entries)
        return ring
    }()

    /// Everything the server says to these bytes, until it closes or has nothing more to say.
    func exchange(_ request: [UInt8], overTCP: Bool) throws -> [UInt8] {
        let client = overTCP ? connectedOverTCP() : connected()
        defer { close(client) }
        guard send(client, request, request.count, Int32(MSG_NOSIGNAL)) == request.count
        else { return [] }
        shutdown(client, Int32(SHUT_WR))
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        var waiting = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
        // A stream goes on for ever; what comes at once is enough of it.
        while answer.count < 1 << 20, poll(&waiting, 1, 20) == 1 {
            let count = recv(client, &chunk, chunk.count, 0)
            guard count > 0 else { break }
            answer += chunk[..<count]
        }
        return answer
    }

    private func connected() -> Int32 {
        let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = address
        _ = Self.withAddress(&address) { connect(client, $0, addressBytes) }
        return client
    }

    private func connectedOverTCP() -> Int32 {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // Closed at once: a million connections must not wait for their last minute.
        var hurry = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            client, SOL_SOCKET, SO_LINGER, &hurry, socklen_t(MemoryLayout<linger>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return client
    }
}
