// Entries that may be kept: nothing in them holds on to the buffers the traffic was read into.
// Used by `MessageRing`.

import NIOCore
import SDLProtocol

extension TrafficEntry {
    /// The same entry in storage of its own: parameters copied, bulk data left out, frames cut
    /// down to their header.
    ///
    /// - Parameters:
    ///   - maximumBytes: Parameters larger than this are left out, as those of messages that are
    ///     too large to assemble.
    ///   - recent: Parameters that are kept already.
    func detached(maximumBytes: Int, sharing recent: inout RecentDocuments) -> TrafficEntry {
        var entry = self
        switch content {
        case .rpc(var rpc):
            rpc.message = rpc.message.detached(maximumBytes: maximumBytes, sharing: &recent)
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
            dropped.rpc = dropped.rpc?.detached(maximumBytes: maximumBytes, sharing: &recent)
            entry.content = .dropped(dropped)
        // Values, or bytes in storage of their own already.
        case .stream, .encrypted, .undecodable, .event: break
        }
        return entry
    }

    /// Bytes that a detached entry occupies at most, allocations included; those of parameters that
    /// it shares with others are counted for each.
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

/// Large parameters that came lately. A head unit tells every app much the same when it registers,
/// 30 KB and more of capabilities and permissions, which are kept once.
struct RecentDocuments {
    private var documents: [JSONObject] = []
    private var oldest = 0

    /// Comparing smaller ones costs more than it saves.
    private static let leastBytes = 1 << 10
    /// Larger ones are rare, and these outlive the ring's own bound.
    private static let mostBytes = 64 << 10
    /// The simulated head unit sends three to an app that registers.
    private static let count = 8

    /// The same document, in storage that holds nothing else alive.
    mutating func detached(_ document: JSONObject) -> JSONObject {
        guard (Self.leastBytes...Self.mostBytes).contains(document.bytes.readableBytes) else {
            return document.detached()
        }
        if let known = documents.first(where: { $0.bytes == document.bytes }) { return known }
        let kept = document.detached()
        if documents.count < Self.count {
            documents.append(kept)
        } else {
            documents[oldest] = kept
            oldest = (oldest + 1) % Self.count
        }
        return kept
    }
}

/// What cannot be measured, as estimates on the high side.
private enum Footprint {
    /// Header of an allocation and what malloc adds.
    static let allocation = 32
    /// A dozen BSON keys and values.
    static let document = 1024
    static let text = 128
    /// Texts of a problem with an RPC: path, what was found, what was expected, a hint.
    static let problem = 4 * 64
    /// Of a `ByteBuffer`: its storage object.
    static let buffer = 64
}

extension RPCMessage {
    fileprivate func detached(
        maximumBytes: Int, sharing recent: inout RecentDocuments
    ) -> RPCMessage {
        var message = self
        if parameters.bytes.readableBytes <= maximumBytes {
            message.parameters = recent.detached(parameters)
        } else {
            message.parameters = .empty
            message.isTruncated = true
        }
        message.bulk = ByteBuffer()
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
