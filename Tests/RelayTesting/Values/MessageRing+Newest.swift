package import SDLTraffic

// What relayd looks for step by step, at once.
extension MessageRing {
    /// The newest `limit` entries that the filter accepts, in order.
    package func newest(_ limit: Int, matching filter: MessageFilter = .everything) -> Reading {
        var look = LookBack(self, limit, matching: filter)
        while look.step() {}
        return look.reading
    }

    /// The cursor after which the newest `limit` entries come that the filter accepts.
    package func cursor(beforeNewest limit: Int, matching filter: MessageFilter) -> UInt64 {
        var look = LookBack(self, limit, matching: filter, keepsEntries: false)
        while look.step() {}
        return look.cursor
    }
}
