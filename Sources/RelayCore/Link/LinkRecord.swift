// What is known of the link besides its traffic; kept by `Switchboard`.

import SDLProtocol

/// What status shows of the link and its head unit.
struct LinkRecord {
    var counters = TrafficCounters()
    var garbageBytes: UInt64 = 0
    /// What the other side seems to speak if it is not SDL.
    var recognised: WrongProtocol?
    var openedCount = 0
    var openedAt = WallTime(nanoseconds: 0)
    /// From the latest grant.
    var make: String?
    var model: String?
    var protocolVersion: String?
}
