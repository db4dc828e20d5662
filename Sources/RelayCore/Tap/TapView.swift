import NIOCore
import SDLProtocol

/// What one sink gets of a batch, in the storage that all sinks share: put into a `TapQueue` on the event
/// loop, unpacked by its reader.
struct TapView {
    private let payload: TapPayload
    private let entries: [TapBatch.Entry]
    private let copies: ByteBuffer
    /// Empty for a sink that does not get whole audio and video frames.
    private let streams: ByteBuffer
    /// Bytes of the frames on the wire.
    let wireBytes: Int
    /// Where the storage goes when all readers are done with it.
    let reserve: TapStorage?

    init(_ batch: TapBatch, _ payload: TapPayload, reserve: TapStorage? = nil) {
        self.payload = payload
        entries = batch.entries
        copies = batch.copies
        streams = payload == .everything ? batch.streams : ByteBuffer()
        wireBytes = batch.wireBytes
        self.reserve = reserve
    }

    var count: Int { entries.count }

    /// Bytes it keeps in memory, alone or with other sinks: storage may be up to twice as large as its
    /// contents, and so may the table.
    var occupiedBytes: Int {
        copies.storageCapacity + streams.storageCapacity
            + max(
                entries.capacity * MemoryLayout<TapBatch.Entry>.stride,
                entries.count * TapSink.overheadBytes)
    }

    /// The storage that is worth reusing.
    var storage: [ByteBuffer] {
        [copies, streams].filter { $0.storageCapacity >= TapStorage.minimumBytes }
    }

    /// The frames. They share the storage, which stays as long as one of them does.
    var frames: [TappedFrame] {
        entries.map { $0.frame(wire(of: $0) ?? ByteBuffer()) }
    }

    private func wire(of entry: TapBatch.Entry) -> ByteBuffer? {
        if payload == .everything, entry.stream.count > 0 { return entry.stream.slice(of: streams) }
        guard let copy = entry.copy.slice(of: copies) else { return nil }
        guard payload == .headers else { return copy }
        let header = min(Frame(checked: copy).headerBytes, copy.readableBytes)
        return copy.getSlice(at: copy.readerIndex, length: header)
    }
}

extension [TappedFrame] {
    /// Bytes that the frames of one view keep in memory, besides their table: the storage of whole audio and
    /// video frames, and that of all others. Frames that are told again have storage of their own.
    package var storageBytes: Int {
        if first?.isEarlier == true { return reduce(0) { $0 + $1.frame.wire.storageCapacity } }
        let stream = first(where: \.isWholeStream)?.frame.wire.storageCapacity ?? 0
        let other = first { !$0.isWholeStream }?.frame.wire.storageCapacity ?? 0
        return stream + other
    }
}

extension TappedFrame {
    fileprivate var isWholeStream: Bool {
        frame.service.isStream && frame.type != .control
            && frame.wire.readableBytes > frame.headerBytes
    }
}
