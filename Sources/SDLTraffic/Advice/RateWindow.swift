import RelayCore

/// Counts the events of a window that moves with the entries' time, in ten slots, for the limits of head
/// units.
struct RateWindow: Sendable {
    private static let slotCount = 10

    /// The length of the whole window in nanoseconds.
    private let length: Int64
    private var slots = [Int](repeating: 0, count: RateWindow.slotCount)
    private var current = Int64.min
    private(set) var sum = 0

    init(milliseconds: Int64) {
        length = milliseconds * 1_000_000
    }

    /// Returns the sum including `count`.
    @discardableResult
    mutating func add(_ count: Int, at time: WallTime) -> Int {
        let slot = time.nanoseconds / (length / Int64(Self.slotCount))
        let steps = slot &- current
        if steps < 0 || steps >= Int64(Self.slotCount) {
            // A long time has passed, or the clock was set back: start again.
            for index in slots.indices { slots[index] = 0 }
            sum = 0
        } else if steps > 0 {
            for step in 1...steps { clear(Self.index(current + step)) }
        }
        current = slot
        slots[Self.index(slot)] += count
        sum += count
        return sum
    }

    private mutating func clear(_ index: Int) {
        sum -= slots[index]
        slots[index] = 0
    }

    private static func index(_ slot: Int64) -> Int {
        let rest = Int(slot % Int64(slotCount))
        return rest < 0 ? rest + slotCount : rest
    }
}
