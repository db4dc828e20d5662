// Requests over one app's connection, answered by an `AnsweringHeadUnit`, one in flight.

import Glibc

/// An app that asks and waits for the answer.
struct Pings {
    let socket: Socket
    let session: UInt8
    private var request: [UInt8]
    private var answer: [UInt8]
    private var correlation: UInt32 = 100

    init(_ socket: Socket, session: UInt8, bytes: Int) {
        self.socket = socket
        self.session = session
        request = Traffic.wire([Traffic.request(session: session, bytes: bytes)])
        answer = Self.answer(session: session, bytes: bytes)
    }

    /// The head unit's answer to it.
    static func answer(session: UInt8, bytes: Int) -> [UInt8] {
        Traffic.wire([Traffic.response(session: session, bytes: bytes)])
    }

    /// One round trip in nanoseconds.
    mutating func ping() throws -> Int64 {
        correlation += 1
        Traffic.setCorrelation(correlation, in: &request)
        let start = Clock.nanoseconds()
        try socket.write(request)
        try answer.withUnsafeMutableBytes { try socket.readExactly(into: $0) }
        let time = Clock.nanoseconds() - start
        guard answer[16..<20] == request[16..<20] else {
            throw BenchmarkError("session \(session) got the answer to another request")
        }
        return time
    }

    mutating func run(_ count: Int) throws -> [Double] {
        try (0..<count).map { _ in Double(try ping()) / 1000 }
    }
}
