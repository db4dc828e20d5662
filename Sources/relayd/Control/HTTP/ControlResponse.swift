// The answer to a client. Handlers create it, `ControlClients` writes it.

import ControlAPI
import NIOCore
import NIOHTTP1

/// One answer.
struct ControlResponse: Sendable {
    enum Body: Sendable {
        case whole(ByteBuffer)
        /// Written piece by piece; ends when the function does.
        case pieces(@Sendable (ResponseWriter) async throws -> Void)
    }

    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var body: Body

    init(
        _ status: HTTPResponseStatus = .ok, _ headers: HTTPHeaders = [:],
        body: Body = .whole(ByteBuffer())
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        if case .whole(let bytes) = body {
            self.headers.replaceOrAdd(name: "Content-Length", value: "\(bytes.readableBytes)")
        }
    }

    /// The same without a body, for HEAD.
    var withoutBody: ControlResponse {
        var response = self
        response.body = .whole(ByteBuffer())
        // Without a length NIO would write the end of a chunked body.
        if !headers.contains(name: "Content-Length") {
            response.headers.add(name: "Content-Length", value: "0")
        }
        return response
    }
}

extension ControlResponse {
    /// A complete answer; never cached, since it describes this moment.
    static func json(
        _ value: some Encodable, status: HTTPResponseStatus = .ok
    ) throws -> ControlResponse {
        json(bytes: try APICoding.encode(value), status: status)
    }

    /// An answer that is already encoded as JSON.
    static func json(bytes: [UInt8], status: HTTPResponseStatus = .ok) -> ControlResponse {
        ControlResponse(
            status, .ofMoment("application/json; charset=utf-8"),
            body: .whole(ByteBuffer(bytes: bytes)))
    }
}

extension HTTPHeaders {
    /// The headers of an answer that describes this moment and must not be cached.
    static func ofMoment(_ contentType: String) -> HTTPHeaders {
        ["Content-Type": contentType, "Cache-Control": "no-store"]
    }
}

/// Writes a body piece by piece.
struct ResponseWriter: Sendable {
    private let outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

    init(_ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>) {
        self.outbound = outbound
    }

    /// Waits until the client has taken most of what was written before.
    ///
    /// - Throws: if the client has left.
    func write(_ bytes: ByteBuffer) async throws {
        try await outbound.write(.body(.byteBuffer(bytes)))
    }

    /// Writes a whole answer, including its end.
    func write(_ response: ControlResponse) async throws {
        let head = HTTPServerResponsePart.head(
            HTTPResponseHead(
                version: .http1_1, status: response.status, headers: response.headers))
        switch response.body {
        case .whole(let bytes) where bytes.readableBytes == 0:
            try await outbound.write(contentsOf: [head, .end(nil)])
        case .whole(let bytes):
            try await outbound.write(contentsOf: [head, .body(.byteBuffer(bytes)), .end(nil)])
        case .pieces(let write):
            try await outbound.write(head)
            try await write(self)
            try await outbound.write(.end(nil))
        }
    }
}
