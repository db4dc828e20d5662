import CShims
import Synchronization

/// What a transport knows of its links beyond their bytes: which device is open, what was lost when
/// links ended. The transport writes it, on whatever thread it has; the status reads it.
package final class LinkDetails: Sendable {
    package struct Values: Hashable, Sendable {
        /// The device that is open, in words: `OpenXC Vehicle Interface at port 1-2`.
        package var device: String?
        /// Bytes the transport had read from the accessory and could not hand over any more, of all
        /// links so far.
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

    /// Whether it is known what was lost; without, the numbers say nothing.
    package let countsLosses: Bool

    package init(countsLosses: Bool = true) { self.countsLosses = countsLosses }

    package var values: Values { state.withLock { $0 } }

    func opened(_ device: String) {
        state.withLock { $0.device = device }
    }

    /// The open device has said more of itself.
    func learnt(_ words: String) {
        state.withLock { values in
            values.device = values.device.map { "\($0), \(words)" }
        }
    }

    /// Bytes that were lost besides those of `ended`.
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
