// Helpers with which the tests of the message and event routes send requests and read answers.

import Foundation
import Glibc
import NIOCore
import NIOPosix
import RelayTesting
import SDLProtocol
import SDLTraffic

enum Answer {
    /// The body, with its chunks joined.
    static func body(_ answer: String) -> String {
        let parts = answer.components(separatedBy: "\r\n\r\n")
        guard parts[0].lowercased().contains("transfer-encoding: chunked") else {
            return parts.dropFirst().joined()
        }
        let chunks = parts.dropFirst().joined(separator: "\r\n\r\n").components(separatedBy: "\r\n")
        return chunks.enumerated().filter { $0.offset % 2 == 1 }.map(\.element).joined()
    }

    static func json(_ answer: String) throws -> JSONObject {
        try JSONObject(ByteBuffer(string: body(answer)))
    }
}

extension MessageRing {
    /// A ring that has seen `TrafficFeed.tellStory`.
    static var story: MessageRing {
        var feed = TrafficFeed()
        feed.tellStory()
        return feed.ring
    }
}

/// A client of the stream that reads on request, on a thread that starts at once: relayd drops clients that
/// read nothing for 10 s, and a busy machine's thread pool may be later than that.
struct StreamListener: Sendable {
    let descriptor: Int32

    init(_ test: ControlTestServer, _ query: String = "") throws {
        descriptor = try test.connect()
        test.send(
            "GET /v1/messages/stream\(query) HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n\r\n",
            to: descriptor)
    }

    /// Reads until the answer contains `text`.
    func until(_ text: String) async throws -> String {
        let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String.self)
        let descriptor = descriptor
        Thread.detachNewThread {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while !String(decoding: bytes, as: UTF8.self).contains(text) {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return promise.fail(Silent(before: text)) }
                bytes += buffer[..<count]
            }
            promise.succeed(String(decoding: bytes, as: UTF8.self))
        }
        return try await promise.futureResult.get()
    }

    /// The stream ended or was silent for too long.
    struct Silent: Error { let before: String }

    func close() { Glibc.close(descriptor) }
}
