/// What one peer has sent and received; counted on the event loop.
package struct TrafficCounters: Sendable, Equatable {
    /// Frames and bytes that came from the peer.
    package var framesIn: UInt64 = 0
    package var bytesIn: UInt64 = 0
    /// Frames and bytes that were passed on to the peer.
    package var framesOut: UInt64 = 0
    package var bytesOut: UInt64 = 0

    package init() {}

    @inline(__always)
    mutating func received(_ bytes: Int) {
        framesIn &+= 1
        bytesIn &+= UInt64(bytes)
    }

    @inline(__always)
    mutating func sent(_ bytes: Int) {
        framesOut &+= 1
        bytesOut &+= UInt64(bytes)
    }
}
