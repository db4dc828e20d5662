import CShims
import Synchronization

/// What a transport knows about its links beyond their bytes: which device is open, and what was lost when links
/// ended. The transport writes it, on any thread; the status reads it.
package final class LinkDetails: Sendable {
    package struct Values: Hashable, Sendable {
        /// The device that is open, in words: `OpenXC Vehicle Interface at port 1-2`.
        package var device: String?
        /// Bytes that the transport had read from the accessory and could no longer hand over, of all links so far.
        package var lostBytesIn = 0
        /// Bytes handed over to the transport that are not known to have reached the accessory.
        package var lostBytesOut = 0
        /// When bytes were lost last: milliseconds since 1970-01-01T00:00:00Z.
        package var lostAt: Int64?

        fileprivate mutating func lost(in bytesIn: Int, out bytesOut: Int) {
            guard bytesIn > 0 || bytesOut > 0 else { return }
            lostBytesIn += bytesIn
            lostBytesOut += bytesOut
            lostAt = relay_milliseconds_since_1970()
        }
    }

    private let state = Mutex(Values())

    /// Whether losses are counted; if not, the numbers say nothing.
    package let countsLosses: Bool

    package init(countsLosses: Bool = true) { self.countsLosses = countsLosses }

    package var values: Values { state.withLock { $0 } }

    func opened(_ device: String) {
        state.withLock { $0.device = device }
    }

    /// Adds what the open device has told about itself since.
    func learnt(_ words: String) {
        state.withLock { values in
            values.device = values.device.map { "\($0), \(words)" }
        }
    }

    /// Counts lost bytes other than those given to `ended`.
    func lost(out bytes: Int) {
        state.withLock { $0.lost(in: 0, out: bytes) }
    }

    func ended(lostIn: Int, lostOut: Int) {
        state.withLock { values in
            values.device = nil
            values.lost(in: lostIn, out: lostOut)
        }
    }
}
