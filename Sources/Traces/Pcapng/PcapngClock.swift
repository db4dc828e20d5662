/// The resolution and offset of an interface's clock (`if_tsresol`, `if_tsoffset`).
package struct PcapngClock: Hashable, Sendable {
    /// As in the file: a negative power of ten, or of two if the highest bit is set. Microseconds if the file
    /// does not say.
    package var resolution: UInt8 = 6
    /// Seconds to add.
    package var offset: Int64 = 0

    static let nanoseconds: UInt8 = 9
    private static let perSecond: UInt64 = 1_000_000_000

    package init() {}

    /// Nanoseconds since 1970; nil when they do not fit in 64 bits.
    package func nanoseconds(_ ticks: UInt64) -> Int64? {
        guard let time = Self.scaled(ticks, resolution).flatMap(Int64.init(exactly:)) else {
            return nil
        }
        let (shift, isTooFar) = offset.multipliedReportingOverflow(by: Int64(Self.perSecond))
        let (sum, overflow) = time.addingReportingOverflow(shift)
        return isTooFar || overflow ? nil : sum
    }

    private static func scaled(_ ticks: UInt64, _ resolution: UInt8) -> UInt64? {
        if resolution == nanoseconds { return ticks }
        let power = Int(resolution & 0x7F)
        return resolution & 0x80 == 0 ? decimal(ticks, power) : binary(ticks, power)
    }

    private static func decimal(_ ticks: UInt64, _ power: Int) -> UInt64? {
        guard power <= 19 else { return nil }
        var factor: UInt64 = 1
        for _ in 0..<abs(power - 9) { factor *= 10 }
        guard power < 9 else { return ticks / factor }
        let (product, overflow) = ticks.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }

    private static func binary(_ ticks: UInt64, _ power: Int) -> UInt64? {
        guard power < 64 else { return nil }
        let unit = UInt64(1) << power
        let (whole, overflow) = (ticks / unit).multipliedReportingOverflow(by: perSecond)
        // Less than a second, so the quotient fits.
        let part = unit.dividingFullWidth((ticks % unit).multipliedFullWidth(by: perSecond))
        let (sum, isTooLarge) = whole.addingReportingOverflow(part.quotient)
        return overflow || isTooLarge ? nil : sum
    }
}
