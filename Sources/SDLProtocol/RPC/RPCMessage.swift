// Reads an RPC from a message: header, parameters, bulk data. Called by decoders off the hot path.

public import NIOCore

/// A request, response or notification (SDL protocol spec, "RPC payload").
public struct RPCMessage: Hashable, Sendable {
    public var type: RPCType
    public var functionID: FunctionID
    /// Set when a v1 message names a function that the table does not know; its ID is 0 then.
    public var unknownName: String?
    /// Pairs a response with its request; 0 or −1 by custom in notifications, nil in v1 ones.
    public var correlationID: Int32?
    /// Empty when there are none, and when `isTruncated` cuts through them.
    public var parameters: JSONObject
    /// Bytes of JSON as announced.
    public var jsonBytes: Int
    /// What was kept of the bulk data.
    public var bulk: ByteBuffer
    /// Bytes of bulk data that travelled.
    public var bulkBytes: Int
    /// The message is so large that its JSON was not kept whole.
    public var isTruncated: Bool

    /// The specification's name, or what stands for it.
    public var functionName: String { unknownName ?? functionID.description }

    public init(_ message: Message) throws(RPCError) {
        if message.version == 1 {
            try self.init(wrapped: message)
        } else {
            try self.init(binary: message)
        }
    }

    /// A request without correlation ID and bulk data, to be judged before it is sent or answered.
    public init(request functionID: FunctionID, parameters: JSONObject) {
        type = .request
        self.functionID = functionID
        self.parameters = parameters
        jsonBytes = parameters.bytes.readableBytes
        bulk = ByteBuffer()
        bulkBytes = 0
        isTruncated = false
    }

    /// v2 and later: 12-byte header, JSON, bulk data.
    private init(binary message: Message) throws(RPCError) {
        let payload = message.payload
        let start = payload.readerIndex
        guard payload.readableBytes >= RPCHeader.bytes else {
            throw .tooShort(bytes: message.payloadBytes)
        }
        guard let header = RPCHeader(payload) else {
            throw .unknownType((payload.getInteger(at: start, as: UInt8.self) ?? 0) >> 4)
        }
        let available = message.payloadBytes - RPCHeader.bytes
        guard header.jsonBytes <= available else {
            throw .jsonTooLong(declared: header.jsonBytes, available: available)
        }
        type = header.type
        functionID = FunctionID(rawValue: header.functionID)
        correlationID = header.correlationID
        jsonBytes = header.jsonBytes
        bulkBytes = available - header.jsonBytes
        let jsonStart = start + RPCHeader.bytes
        isTruncated = header.jsonBytes > payload.readableBytes - RPCHeader.bytes
        parameters = .empty
        bulk = ByteBuffer()
        guard !isTruncated else { return }
        if header.jsonBytes > 0,
            let json = payload.getSlice(at: jsonStart, length: header.jsonBytes)
        {
            do {
                parameters = try JSONObject(json)
            } catch {
                throw .notJSON(error)
            }
        }
        if bulkBytes > 0 {
            let bulkStart = jsonStart + header.jsonBytes
            bulk =
                payload.getSlice(at: bulkStart, length: payload.writerIndex - bulkStart)
                ?? ByteBuffer()
        }
    }

    /// v1: everything is one JSON object; sdl_core ends it with a NUL byte.
    private init(wrapped message: Message) throws(RPCError) {
        var payload = message.payload
        while payload.readableBytes > 0,
            payload.getInteger(at: payload.writerIndex - 1, as: UInt8.self) == 0
        {
            payload.moveWriterIndex(to: payload.writerIndex - 1)
        }
        let wrapper: JSONObject
        do {
            wrapper = try JSONObject(payload)
        } catch {
            throw .notJSON(error)
        }
        guard
            let type = RPCType.allCases.first(where: { wrapper.value($0.name) != nil }),
            let content = wrapper.object(type.name)
        else { throw .noWrapper }
        guard let name = content.string("name") else { throw .noName }
        self.type = type
        functionID = FunctionID(name: name) ?? FunctionID(rawValue: 0)
        // Names from peers are shown and compared, never kept for long.
        unknownName = functionID.rawValue == 0 ? PrintableText.string(name, limit: 100) : nil
        correlationID = content.integer("correlationID").flatMap { Int32(exactly: $0) }
        if let parameters = content.value("parameters"), parameters.kind != .object,
            parameters.kind != .null
        {
            throw .notJSON(
                JSONError(
                    reason: .wrongKind(parameters.kind), offset: parameters.range.lowerBound))
        }
        parameters = content.object("parameters") ?? .empty
        jsonBytes = payload.readableBytes
        bulk = ByteBuffer()
        bulkBytes = 0
        isTruncated = false
    }
}

extension RPCType {
    /// As logs, filters and the v1 wrapper name it.
    public var name: String {
        switch self {
        case .request: "request"
        case .response: "response"
        case .notification: "notification"
        }
    }

    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// What a response says about its request.
public struct RPCOutcome: Hashable, Sendable {
    public var success: Bool
    /// SUCCESS, REJECTED, INVALID_DATA, …; empty when the response names none.
    public var resultCode: String

    /// Nil unless `message` is a response.
    public init?(_ message: RPCMessage) {
        guard message.type == .response else { return nil }
        resultCode = message.parameters.string("resultCode") ?? ""
        success =
            message.parameters.bool("success") ?? Self.successCodes.contains(resultCode)
    }

    /// Result codes that mean the RPC was carried out, or the app registered, for responses that
    /// leave out the mandatory `success`.
    private static let successCodes: Set<String> = [
        "SUCCESS", "WARNINGS", "WRONG_LANGUAGE", "RESUME_FAILED", "SAVED", "TRUNCATED_DATA",
    ]

    /// Whether the request was done, but not as wanted: WARNINGS, WRONG_LANGUAGE, …
    public var isWarning: Bool { success && resultCode != "SUCCESS" }
}
