// Entries that may be kept: they do not hold on to the buffers into which the traffic was read. Used by
// `MessageRing`.

import NIOCore
import SDLProtocol

extension TrafficEntry {
    /// The same entry in storage of its own: parameters copied, bulk data left out, frames reduced to their
    /// header.
    ///
    /// - Parameters:
    ///   - maximumBytes: Larger parameters are left out, like those of messages that are too large to
    ///     assemble.
    ///   - recent: Parameters that are already kept.
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
        // Values, or bytes already in storage of their own.
        case .stream, .encrypted, .undecodable, .event: break
        }
        return entry
    }

    /// Maximum bytes that a detached entry occupies, including allocations; parameters shared with others are
    /// counted for each.
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

/// Large parameters that came recently. A head unit sends every app much the same when it registers, 30 KB
/// and more of capabilities and permissions, which are kept once.
struct RecentDocuments {
    private var documents: [JSONObject] = []
    private var oldest = 0

    /// Comparing smaller documents costs more than it saves.
    private static let leastBytes = 1 << 10
    /// Larger documents are rare, and these outlive the ring's own limit.
    private static let mostBytes = 64 << 10
    /// The simulated head unit sends three to a registering app.
    private static let count = 8

    /// The same document, in storage that keeps nothing else alive.
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

/// Sizes that cannot be measured, as estimates on the high side.
private enum Footprint {
    /// The header of an allocation and the overhead of malloc.
    static let allocation = 32
    /// A dozen BSON keys and values.
    static let document = 1024
    static let text = 128
    /// Texts of a problem with an RPC: path, what was found, what was expected, a hint.
    static let problem = 4 * 64
    /// The storage object of a `ByteBuffer`.
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
