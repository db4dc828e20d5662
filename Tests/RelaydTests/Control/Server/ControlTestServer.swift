import ControlAPI
import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import ServiceLifecycle
import Testing

@testable import relayd

/// A running control server in a directory of its own, for the Control tests.
struct ControlTestServer {
    let directory: String
    var path: String { directory + "/c.sock" }

    static let snapshot = StatusSnapshot.oneApp

    /// Ten messages.
    static var messages: MessageHandlers {
        var feed = TrafficFeed()
        feed.tellStory()
        return MessageHandlers(ring: feed.ring)
    }

    static var quiet: Logger {
        Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    }

    init() throws {
        var template = Array("/tmp/relayd-control-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        directory = String(cString: made)
    }

    func cleanUp() {
        unlink(path)
        rmdir(directory)
    }

    func make(
        mode: UInt16 = 0o660, group: String? = nil,
        messages: MessageHandlers = Self.messages, actions: ControlActions = .none,
        log: LogControl = .none, events: EventRing = EventRing(instance: "e"),
        eventHandlers: EventHandlers? = nil,
        reports: ReportHandlers? = nil, dashboard: DashboardEndpoint? = nil,
        devices: DeviceHandlers = DeviceHandlers(), records: RecordHandlers = .none,
        vehicle: VehicleHandlers = .none,
        overflow: ControlOverflow = ControlOverflow(),
        limits: (socket: ControlShares.Limits, port: ControlShares.Limits) =
            (.init(Config.Control()), .init(Config.Dashboard())),
        identify: @escaping @Sendable (any Channel) async throws -> ControlPeer? = ControlPeer.of,
        endPatience: EndPatience = EndPatience(),
        on loops: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger = Self.quiet,
        status: @escaping @Sendable () async throws -> StatusSnapshot = { Self.snapshot }
    ) throws -> ControlServer {
        try ControlServer(
            configuration: .init(socketPath: path, mode: mode, group: group), status: status,
            messages: messages, events: eventHandlers ?? EventHandlers(ring: events),
            reports: reports,
            actions: actions, log: log, devices: devices, records: records,
            vehicle: vehicle, dashboard: dashboard,
            overflow: overflow,
            limits: limits, identify: identify, endPatience: endPatience, eventLoopGroup: loops,
            logger: logger)
    }

    /// Runs a server around `body`, then stops it as the daemon does.
    ///
    /// - Parameter peer: The peer that the kernel is to report for the Unix socket; nil for the real one.
    static func with(
        answering status: StatusSnapshot = snapshot, failing error: (any Error)? = nil,
        messages: MessageHandlers = Self.messages, actions: ControlActions = .none,
        log: LogControl = .none, events: EventRing = EventRing(instance: "e"),
        eventHandlers: EventHandlers? = nil,
        reports: ReportHandlers? = nil, dashboard: DashboardEndpoint? = nil,
        devices: DeviceHandlers = DeviceHandlers(), vehicle: VehicleHandlers = .none,
        overflow: ControlOverflow = ControlOverflow(),
        asIf peer: ControlPeer? = nil,
        on loops: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger = Self.quiet,
        _ body: (ControlTestServer) async throws -> Void
    ) async throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let identify: @Sendable (any Channel) async throws -> ControlPeer? = { channel in
            if let peer { return peer }
            return try await ControlPeer.of(channel)
        }
        let server = try test.make(
            messages: messages, actions: actions, log: log, events: events,
            eventHandlers: eventHandlers, reports: reports, dashboard: dashboard, devices: devices,
            vehicle: vehicle, overflow: overflow, identify: identify, on: loops,
            logger: logger,
            status: {
                if let error { throw error }
                return status
            })
        let group = ServiceGroup(services: [server], logger: quiet)
        async let running: Void = group.run()
        do {
            try await body(test)
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running
        #expect(access(test.path, F_OK) != 0, "the socket is gone after shutdown")
    }

    // MARK: - A client that sends any bytes

    /// Returns a blocking socket connected to the server. Waits, on a thread of its own, while the server's
    /// queue is full.
    func connected() async throws -> Int32 {
        let test = self
        return try await blocking { try test.connect() }
    }

    /// The same on the calling thread, which may block.
    func connect() throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0, "connect: errno \(errno)")
        // Nothing here may take this long; without the limit a failing test would hang.
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return descriptor
    }

    func send(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns everything until the server closes; nil if it does not close.
    func readToEnd(_ descriptor: Int32) -> String? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            // Stopping and continuing this process interrupts a receive that has a deadline.
            if count < 0 && errno == EINTR { continue }
            if count == 0 || (count < 0 && errno == ECONNRESET) {
                return String(decoding: bytes, as: UTF8.self)
            }
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    /// The same on a thread of its own.
    func rest(of descriptor: Int32) async throws -> String? {
        let test = self
        return try await blocking { test.readToEnd(descriptor) }
    }

    /// Reads until `words` have arrived.
    func read(_ descriptor: Int32, until words: String) async throws -> String {
        try await blocking {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let text = String(decoding: bytes, as: UTF8.self)
                if text.contains(words) { return text }
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count < 0 && errno == EINTR { continue }
                try #require(count > 0, "never came: \(words); so far: \(text)")
                bytes += buffer[..<count]
            }
        }
    }

    /// Returns a blocking socket connected to a TCP port of this machine.
    static func connect(toPort port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(status == 0, "connect: errno \(errno)")
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return descriptor
    }

    /// Sends `text` and reads the answer to the end, on a thread of its own.
    ///
    /// - Parameter port: The dashboard's port; nil for the Unix socket.
    func exchange(_ text: String, port: Int? = nil) async throws -> String {
        let test = self
        return try await blocking {
            let descriptor = try port.map(Self.connect(toPort:)) ?? test.connect()
            defer { close(descriptor) }
            test.send(text, to: descriptor)
            return try #require(test.readToEnd(descriptor), "the server did not close")
        }
    }

    /// Sends a request with a body; returns the status and body of the answer.
    func send(
        _ method: String, _ path: String, _ body: String = ""
    ) async throws -> (status: Int, body: String) {
        let answer = try await exchange(
            "\(method) \(path) HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1).map(String.init)
        let status = try #require(parts.first?.split(separator: " ").dropFirst().first)
        return (try #require(Int(status)), parts.count > 1 ? parts[1] : "")
    }

    func get(_ path: String, method: String = "GET", headers: String = "") async throws -> String {
        try await exchange(
            "\(method) \(path) HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n\(headers)\r\n")
    }

    /// The answers to several requests, one after another, all from one thread: on a busy machine getting there
    /// and back costs more than the request.
    func get(each paths: [String]) async throws -> [String] {
        let test = self
        // An issue recorded on a thread that belongs to no test counts against every running test.
        let answers = try await blocking {
            try paths.map { path in
                let descriptor = try test.connect()
                defer { close(descriptor) }
                test.send(
                    "GET \(path) HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n\r\n",
                    to: descriptor)
                return test.readToEnd(descriptor)
            }
        }
        return try zip(paths, answers).map { path, answer in
            try #require(answer, "the server did not close: \(path.prefix(100))")
        }
    }
}
