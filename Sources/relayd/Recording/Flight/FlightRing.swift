import NIOCore
package import RelayCore
import Traces

/// The latest traffic in memory: the oldest items make room for new ones, and leave behind whatever is
/// needed to understand the rest. A value, without a clock.
package struct FlightRing {
    /// Bytes that the ring may occupy in total.
    private let maximumBytes: Int
    private var items = CircularBuffer<Kept>()
    private var itemBytes = 0
    private var prologue: TapPrologue
    /// Frames that are kept.
    private(set) var frames = 0
    /// Frames that passed between the kept ones without being seen.
    private(set) var missedFrames = 0

    private struct Kept {
        var item: TapItem
        var bytes: Int
    }

    /// The kept traffic at one moment. It shares its bytes with the ring: what both have is in memory
    /// once.
    package struct Contents {
        var prologue: [TapItem]
        var items: CircularBuffer<TapItem>
        /// When the oldest item was seen, not counting the prologue.
        var began: WallTime
    }

    /// Overhead of an item besides its bytes: its slot, the header of its array, and what `malloc`
    /// adds.
    private static let overheadBytes = 256

    package init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
        prologue = TapPrologue(maximumBytes: maximumBytes / 16)
    }

    /// Bytes the ring occupies.
    package var occupiedBytes: Int { itemBytes + prologue.occupiedBytes }

    /// When the oldest item was seen; nil if there is none.
    package var began: WallTime? { items.lazy.compactMap(\.item.earliestTime).first }

    package func contents(at now: WallTime) -> Contents {
        Contents(
            prologue: prologue.items, items: CircularBuffer(items.map(\.item)),
            began: began ?? now)
    }

    package mutating func append(_ item: TapItem) {
        let bytes = Self.bytes(item)
        items.append(Kept(item: item, bytes: bytes))
        itemBytes += bytes
        count(item, 1)
        while occupiedBytes > maximumBytes, let oldest = items.popFirst() {
            itemBytes -= oldest.bytes
            count(oldest.item, -1)
            prologue.learn(oldest.item)
        }
    }

    private mutating func count(_ item: TapItem, _ sign: Int) {
        switch item {
        case .frames(let frames): self.frames += sign * frames.count
        case .missed(let frames, _): missedFrames += sign * frames
        default: break
        }
    }

    /// The frames of a batch share storage, which stays in memory as long as one of them does.
    private static func bytes(_ item: TapItem) -> Int {
        switch item {
        case .frames(let frames):
            frames.storageBytes + frames.count * MemoryLayout<TappedFrame>.stride + overheadBytes
        case .bytes(let run): run.bytes.storageCapacity + overheadBytes
        case .noticed(.garbage(let garbage), _, _): garbage.excerpt.utf8.count + overheadBytes
        case .noted(let note, _): note.text.utf8.count + overheadBytes
        case .appConnected(_, let text, _), .appClosed(_, let text, _), .linkOpened(_, let text, _),
            .linkClosed(let text, _):
            text.utf8.count + overheadBytes
        case .session, .missed, .noticed: overheadBytes
        }
    }
}

extension TapItem {
    fileprivate var earliestTime: WallTime? {
        if case .frames(let frames) = self { frames.first?.time } else { latestTime }
    }
}
