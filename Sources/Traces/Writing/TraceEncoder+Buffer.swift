package import NIOCore
package import RelayCore

/// For whoever needs the bytes in one piece.
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

    /// - Parameter time: Of items that have none.
    package mutating func append(
        _ item: TapItem, at time: WallTime, into buffer: inout ByteBuffer
    ) {
        TraceBlocks.appending(to: &buffer) { append(item, at: time, into: &$0) }
    }

    /// A record about something that does not come by the tap.
    package mutating func append(
        _ record: TraceRecord, at time: WallTime, to buffer: inout ByteBuffer
    ) {
        TraceBlocks.appending(to: &buffer) { append(record, at: time, to: &$0) }
    }
}
