package import SDLTraffic

// Searches in one go where relayd searches step by step.
extension MessageRing {
    /// The newest `limit` entries that the filter accepts, in order.
    package func newest(_ limit: Int, matching filter: MessageFilter = .everything) -> Reading {
        var look = LookBack(self, limit, matching: filter)
        while look.step() {}
        return look.reading
    }

    /// The cursor just before the newest `limit` entries that the filter accepts.
    package func cursor(beforeNewest limit: Int, matching filter: MessageFilter) -> UInt64 {
        var look = LookBack(self, limit, matching: filter, keepsEntries: false)
        while look.step() {}
        return look.cursor
    }
}
