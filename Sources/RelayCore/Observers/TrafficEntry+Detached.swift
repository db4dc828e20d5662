// Entries that may be kept: nothing in them holds on to the buffers the traffic was read into.
// Used by `MessageRing`.

import NIOCore
import SDLProtocol

extension TrafficEntry {
    /// The same entry in storage of its own: parameters copied, bulk data left out but for its
    /// beginning, frames cut down to their header.
    ///
    /// - Parameter maximumBytes: Parameters larger than this are left out, as those of messages
    ///   that are too large to assemble.
    func detached(maximumBytes: Int) -> TrafficEntry {
        var entry = self
        switch content {
        case .rpc(var rpc):
            rpc.message = rpc.message.detached(maximumBytes: maximumBytes)
            entry.content = .rpc(rpc)
        case .control(var control):
            if case .unreadable(let bytes, let error) = control.payload {
                control.payload = .unreadable(bytes.detached(), error)
                entry.content = .control(control)
            }
        case .security(var query):
            query.json = query.json?.detached()
            entry.content = .security(query)
        case .dropped(var dropped):
            dropped.frame = dropped.frame?.headerOnly
            dropped.rpc = dropped.rpc?.detached(maximumBytes: maximumBytes)
            entry.content = .dropped(dropped)
        // Values, or bytes in storage of their own already.
        case .stream, .encrypted, .undecodable, .event: break
        }
        return entry
    }

    /// Bytes that a detached entry occupies, allocations included.
    var footprint: Int {
        let fixed = MemoryLayout<TrafficEntry>.stride
        switch content {
        case .rpc(let rpc): return fixed + rpc.message.footprint + rpc.validation.footprint
        case .control(let control):
            guard case .unreadable(let bytes, _) = control.payload else {
                return fixed + Footprint.document
            }
            return fixed + bytes.footprint
        case .security(let query): return fixed + (query.json?.footprint ?? 0)
        case .dropped(let dropped):
            return fixed + (dropped.frame?.wire.footprint ?? 0) + (dropped.rpc?.footprint ?? 0)
        case .undecodable(let undecodable): return fixed + undecodable.firstBytes.footprint
        case .event: return fixed + Footprint.text
        case .stream, .encrypted: return fixed
        }
    }
}

/// What cannot be measured, as estimates on the high side.
private enum Footprint {
    /// Header of an allocation and what malloc adds.
    static let allocation = 32
    /// A dozen BSON keys and values.
    static let document = 1024
    /// A line of text.
    static let text = 128
    /// Texts of a problem with an RPC: path, what was found, what was expected, a hint.
    static let problem = 4 * 64
    /// Of a `ByteBuffer`: its storage object.
    static let buffer = 64
}

extension RPCMessage {
    fileprivate func detached(maximumBytes: Int) -> RPCMessage {
        var message = self
        if parameters.bytes.readableBytes <= maximumBytes {
            message.parameters = parameters.detached()
        } else {
            message.parameters = .empty
            message.isTruncated = true
        }
        let start = bulk.getSlice(
            at: bulk.readerIndex, length: min(bulk.readableBytes, BulkKind.bytesNeeded))
        message.bulk = start?.detached() ?? ByteBuffer()
        return message
    }

    fileprivate var footprint: Int {
        parameters.footprint + bulk.footprint + (unknownName == nil ? 0 : Footprint.text)
    }
}

extension [ValidationProblem] {
    fileprivate var footprint: Int {
        guard !isEmpty else { return 0 }
        return Footprint.allocation
            + count * (MemoryLayout<ValidationProblem>.stride + Footprint.problem)
    }
}

extension JSONObject {
    fileprivate var footprint: Int {
        guard !members.isEmpty else { return 0 }
        return bytes.footprint + Footprint.allocation
            + members.capacity * MemoryLayout<Member>.stride
    }
}

extension ByteBuffer {
    fileprivate var footprint: Int {
        readableBytes == 0 ? 0 : Footprint.buffer + Footprint.allocation + storageCapacity
    }
}
