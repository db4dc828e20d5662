// Watchers of a relayd at work: they ask what `relayctl tail`, a script and the dashboard ask.

import ControlAPI
import Foundation
import Glibc
import Synchronization

/// HTTP/1.1 as far as a benchmark needs it.
enum HTTP {
    /// The body of an answer, after which relayd closes the connection.
    static func get(_ path: String, from socket: Socket) throws -> [UInt8] {
        try socket.write(request(path, "Connection: close\r\n"))
        return try answer(path, from: socket)
    }

    /// The same for a request with a body.
    static func post(_ path: String, _ body: [UInt8], to socket: Socket) throws -> [UInt8] {
        let head =
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        try socket.write(Array(head.utf8) + body)
        return try answer(path, from: socket)
    }

    private static func answer(_ path: String, from socket: Socket) throws -> [UInt8] {
        let answer = try socket.readToEnd()
        guard let head = answer.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw BenchmarkError("the answer to \(path) has no end of its head")
        }
        guard answer.starts(with: Array("HTTP/1.1 200".utf8)) else {
            throw BenchmarkError(
                "\(path) was answered with \(String(decoding: answer.prefix(12), as: UTF8.self))")
        }
        return Array(answer[head.upperBound...])
    }

    static func request(_ path: String, _ more: String = "") -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(more)\r\n".utf8)
    }
}

/// Sends the same requests again and again, in a thread of its own.
final class Poller: Sendable {
    private let isStopping = Atomic(false)
    private let isDone = DispatchSemaphore(value: 0)
    private let answered = Atomic(0)

    /// The number of answers so far, all of them whole and with status 200.
    var answers: Int { answered.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - paths: requested one after the other, then again after `seconds`.
    ///   - connect: opens a connection for one request.
    init(
        _ paths: [String], every seconds: Double, _ connect: @escaping @Sendable () throws -> Socket
    ) {
        let thread = Thread { [self] in
            var due = Clock.now()
            loop: while true {
                for path in paths {
                    guard (try? HTTP.get(path, from: connect())) != nil else { break loop }
                    answered.add(1, ordering: .relaxed)
                }
                due += seconds
                while Clock.now() < due {
                    if isStopping.load(ordering: .relaxed) { break loop }
                    usleep(20_000)
                }
            }
            isDone.signal()
        }
        thread.start()
    }

    func stop() {
        isStopping.store(true, ordering: .relaxed)
        isDone.wait()
        isDone.signal()
    }
}

/// Reads a stream of lines as the page does, and counts them.
final class LineReader: Sendable {
    private let socket: Socket
    private let isDone = DispatchSemaphore(value: 0)
    private let counted = Atomic(0)

    /// The number of lines so far, notes included.
    var lines: Int { counted.load(ordering: .relaxed) }

    init(_ path: String, _ socket: Socket) throws {
        self.socket = socket
        try socket.write(HTTP.request(path))
        let thread = Thread { [self] in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
            defer { buffer.deallocate() }
            var previous: UInt8 = 0
            while let count = try? socket.read(into: buffer), count > 0 {
                var lines = 0
                for byte in buffer[..<count] {
                    // Lines of head and chunks end with CR LF, those of the stream with LF.
                    if byte == 10, previous != 13 { lines += 1 }
                    previous = byte
                }
                counted.add(lines, ordering: .relaxed)
            }
            isDone.signal()
        }
        thread.start()
    }

    func stop() {
        socket.shutDown()
        isDone.wait()
        isDone.signal()
    }
}

/// The requests of an open dashboard: the messages as they come, and each second the status and what
/// is known of each app (`Control/Dashboard/Page/main.js`).
struct DashboardPage {
    let stream: LineReader
    let poller: Poller

    /// The page's interval between requests, in seconds.
    private static let pace = 1.0
    /// The number of past messages that it begins with.
    private static let past = 2000

    /// - Parameter apps: numbers of the connected apps.
    init(port: UInt16, apps: [Int]) throws {
        stream = try LineReader(
            "\(Routes.messageStream)?last=\(Self.past)", .connect(port: port))
        poller = Poller(
            [Routes.status] + apps.map { Routes.path(Routes.app, "\($0)") }, every: Self.pace
        ) { try .connect(port: port) }
    }

    func close() {
        stream.stop()
        poller.stop()
    }
}
