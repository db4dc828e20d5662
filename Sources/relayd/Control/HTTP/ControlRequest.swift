// A client's request, as far as it has arrived. `ControlClients` reads it; `ControlResponder` passes it to
// the function of its route.

import NIOCore
import NIOHTTP1

/// One request. Its body is read on demand: most answers do not need it.
struct ControlRequest {
    let head: HTTPRequestHead
    let body: RequestBody

    /// A header field; several of one name are joined with commas (RFC 9110, 5.2). Nil without any.
    func header(_ name: String) -> String? { head.headers.joined(name) }

    /// Without the query. Bytes, as `RequestTarget` reads them: followed by a combining mark, "?" would be
    /// another character.
    var path: String {
        String(decoding: head.uri.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// The host that `AccessControl` checks: several hosts are given as several, and a missing one in
    /// HTTP/1.1 (RFC 9112, 3.2) as one that is not a name.
    var authority: String? {
        let isOld = head.version == .http1_0 || head.version == .http0_9
        return header("Host") ?? (isOld ? nil : AccessControl.noHost)
    }
}

extension HTTPRequestHead {
    /// Whether a body follows.
    var hasBody: Bool {
        headers.joined("Content-Length") ?? "0" != "0"
            || headers.contains(name: "Transfer-Encoding")
    }
}

extension HTTPHeaders {
    fileprivate func joined(_ name: String) -> String? {
        let values = self[name]
        return values.isEmpty ? nil : values.map(Self.trimmed).joined(separator: ", ")
    }

    private static func trimmed(_ value: String) -> String {
        let bytes = value.utf8
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(value[first...last])
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}

/// The requests of one connection, one after the other.
///
/// Used by one task at a time.
final class RequestParts {
    private var iterator: NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator
    private var isInRequest = false

    init(_ stream: NIOAsyncChannelInboundStream<HTTPServerRequestPart>) {
        iterator = stream.makeAsyncIterator()
    }

    /// The head of the next request, skipping the unread rest of the one before; nil if there is none.
    ///
    /// - Throws: `HTTPParserError` if the input is not HTTP.
    func head() async throws -> HTTPRequestHead? {
        while isInRequest { _ = try await body() }
        guard case .head(let head)? = try await next() else { return nil }
        isInRequest = true
        return head
    }

    /// The next piece of the body; nil at its end.
    ///
    /// - Throws: `HTTPParserError` if the client leaves in the middle of the body, or the input is
    ///   not HTTP.
    func body() async throws -> ByteBuffer? {
        guard isInRequest else { return nil }
        if case .body(let bytes)? = try await next() { return bytes }
        isInRequest = false
        return nil
    }

    private func next() async throws -> HTTPServerRequestPart? {
        do {
            return try await iterator.next(isolation: #isolation)
        } catch {
            isInRequest = false
            throw error
        }
    }
}

/// The body of one request. It has to arrive within `ControlLimits.idle`, unless `piecewise` is
/// called.
struct RequestBody {
    private let parts: RequestParts
    private let deadline: BodyDeadline?

    init(_ parts: RequestParts, deadline: BodyDeadline?) {
        self.parts = parts
        self.deadline = deadline
    }

    /// The whole body.
    ///
    /// - Throws: `TooLong` if there are more than `limit` bytes; `HTTPParserError`.
    func whole(limit: Int) async throws -> ByteBuffer {
        var bytes = ByteBuffer()
        while let part = try await parts.body() {
            guard bytes.readableBytes + part.readableBytes <= limit else { throw TooLong() }
            bytes.writeImmutableBuffer(part)
        }
        deadline?.cancel()
        return bytes
    }

    struct TooLong: Error {}

    /// From now on the body may take any time, and is read with `next`.
    func piecewise() { deadline?.lift() }

    /// The next piece; nil at the end. Except for a few pieces, data not yet asked for waits at the client.
    ///
    /// - Throws: `HTTPParserError` when the client leaves in the middle of it.
    func next() async throws -> ByteBuffer? { try await parts.body() }

    /// Ends the body for its reader; can be called from anywhere.
    var cutOff: @Sendable () -> Void {
        { [deadline] in deadline?.cutOff() }
    }
}
