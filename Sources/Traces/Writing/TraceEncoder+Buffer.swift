package import NIOCore
package import RelayCore

/// Variants for callers that need the bytes in one buffer.
extension TraceEncoder {
    package mutating func begin(
        started: String, at time: WallTime, into buffer: inout ByteBuffer
    ) {
        TraceBlocks.appending(to: &buffer) { begin(started: started, at: time, into: &$0) }
    }

    package mutating func end(
        because reason: String, at time: WallTime, into buffer: inout ByteBuffer
    ) {
        TraceBlocks.appending(to: &buffer) { end(because: reason, at: time, into: &$0) }
    }

    /// - Parameter time: The time of items that have none.
    package mutating func append(
        _ item: TapItem, at time: WallTime, into buffer: inout ByteBuffer
    ) {
        TraceBlocks.appending(to: &buffer) { append(item, at: time, into: &$0) }
    }

    /// Appends a record about an event that does not come through the tap.
    package mutating func append(
        _ record: TraceRecord, at time: WallTime, to buffer: inout ByteBuffer
    ) {
        TraceBlocks.appending(to: &buffer) { append(record, at: time, to: &$0) }
    }
}
