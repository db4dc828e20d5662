// What is known of the link besides its traffic; kept by `Switchboard`.

package import SDLProtocol

/// What status shows of the link and its head unit.
package struct LinkRecord {
    package var counters = TrafficCounters()
    package var garbageBytes: UInt64 = 0
    /// What the other side seems to speak if it is not SDL.
    package var recognised: WrongProtocol?
    package var openedCount = 0
    package var openedAt = WallTime(nanoseconds: 0)
    /// From the latest grant.
    package var make: String?
    package var model: String?
    package var protocolVersion: String?
}
