import RelayCore

/// Counts the events of a window that moves with the entries' time, in ten slots, for the limits
/// that head units have.
struct RateWindow: Sendable {
    private static let slotCount = 10

    /// Nanoseconds of the whole window.
    private let length: Int64
    private var slots = [Int](repeating: 0, count: RateWindow.slotCount)
    private var current = Int64.min
    private(set) var sum = 0

    init(milliseconds: Int64) {
        length = milliseconds * 1_000_000
    }

    /// Returns the sum with `count` in it.
    @discardableResult
    mutating func add(_ count: Int, at time: WallTime) -> Int {
        let slot = time.nanoseconds / (length / Int64(Self.slotCount))
        let steps = slot &- current
        if steps < 0 || steps >= Int64(Self.slotCount) {
            // Long ago, or a clock set back: start again.
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
