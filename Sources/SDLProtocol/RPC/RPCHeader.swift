// The binary header of an RPC message, v2 and later; read by decoders, built by the simulator.

public import NIOCore

/// Request, response or notification (SDL protocol spec, "RPC payload").
public enum RPCType: UInt8, Hashable, Sendable, CaseIterable {
    case request = 0
    case response = 1
    case notification = 2
}

/// The 12 bytes in front of an RPC's JSON.
public struct RPCHeader: Hashable, Sendable {
    public static let bytes = 12

    public var type: RPCType
    /// 28 bits; the names are in `FunctionID`.
    public var functionID: UInt32
    /// Pairs a response with its request; 0 or −1 by custom in notifications.
    public var correlationID: Int32
    /// JSON bytes behind the header; the rest of the message is bulk data.
    public var jsonBytes: Int

    @inlinable
    public init(type: RPCType, functionID: UInt32, correlationID: Int32, jsonBytes: Int) {
        self.type = type
        self.functionID = functionID
        self.correlationID = correlationID
        self.jsonBytes = jsonBytes
    }

    /// Reads the header at the start of a message; nil when it is too short or of an unknown type.
    public init?(_ message: ByteBuffer) {
        self.init(message, at: message.readerIndex)
    }

    /// - Parameter index: Where in the buffer the header begins.
    @inlinable
    @inline(__always)
    public init?(_ buffer: ByteBuffer, at index: Int) {
        guard let first = buffer.getInteger(at: index, as: UInt64.self),
            let jsonBytes = buffer.getInteger(at: index + 8, as: UInt32.self),
            let type = RPCType(rawValue: UInt8(truncatingIfNeeded: first >> 60))
        else { return nil }
        self.init(
            type: type, functionID: UInt32(truncatingIfNeeded: first >> 32) & 0x0FFF_FFFF,
            correlationID: Int32(truncatingIfNeeded: first), jsonBytes: Int(jsonBytes))
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt32(type.rawValue) << 28 | functionID)
        buffer.writeInteger(correlationID)
        buffer.writeInteger(UInt32(jsonBytes))
    }
}

extension Frame {
    /// The header of the RPC that begins with this frame, if its protocol version has one; read without slicing
    /// the payload, because it is read for most frames.
    @inlinable
    @inline(__always)
    public var rpcHeader: RPCHeader? {
        version > 1 ? RPCHeader(wire, at: wire.readerIndex + headerBytes) : nil
    }

    /// A single frame with one RPC: header, JSON and bulk data.
    ///
    /// v1 has no binary header; use `rpcV1` for it.
    public static func rpc(
        version: UInt8, service: ServiceType = .rpc, sessionID: UInt8, messageID: UInt32,
        type: RPCType, functionID: UInt32, correlationID: Int32, json: String = "{}",
        bulk: ByteBuffer = ByteBuffer()
    ) -> Frame {
        var payload = ByteBuffer()
        let header = RPCHeader(
            type: type, functionID: functionID, correlationID: correlationID,
            jsonBytes: json.utf8.count)
        header.write(to: &payload)
        payload.writeString(json)
        payload.writeImmutableBuffer(bulk)
        return Frame(
            version: version, type: .single, service: service, sessionID: sessionID,
            messageID: messageID, payload: payload)
    }

    /// A v1 single frame: the whole RPC is one JSON object with its name inside.
    public static func rpcV1(
        sessionID: UInt8, type: RPCType, name: String, correlationID: Int32,
        parameters: String = "{}"
    ) -> Frame {
        let key = "\(type)"
        let correlation = type == .notification ? "" : "\"correlationID\":\(correlationID),"
        let text = "{\"\(key)\":{\"name\":\"\(name)\",\(correlation)\"parameters\":\(parameters)}}"
        return Frame(
            version: 1, type: .single, service: .rpc, sessionID: sessionID,
            payload: ByteBuffer(string: text))
    }
}
