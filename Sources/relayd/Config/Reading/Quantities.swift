/// Durations and sizes as people write them ("20s", "16 MiB"), read and written. Used by the
/// readers of the configuration.
package enum Quantity {
    /// Milliseconds per unit, smallest first.
    private static let durationUnits: [(name: String, milliseconds: Int)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000),
    ]

    /// Bytes per unit, smallest first. Powers of 1024 only: "MB" means two different things.
    private static let byteUnits: [(name: String, bytes: Int)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
    ]

    /// Reads "500ms", "20s", "2m", "1h"; a space before the unit is fine. `nil` for anything else.
    package static func duration(_ text: String) -> Duration? {
        guard let (number, unit) = split(text),
            let factor = durationUnits.first(where: { $0.name == unit })?.milliseconds
        else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// Reads "16 MiB", "256KiB", "4096"; a number alone is bytes. `nil` for anything else.
    package static func bytes(_ text: String) -> Int? {
        guard let (number, unit) = split(text),
            let factor = unit.isEmpty ? 1 : byteUnits.first(where: { $0.name == unit })?.bytes
        else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : bytes
    }

    /// The size unit a person probably meant: `MB` → `MiB`.
    package static func byteUnitHint(_ text: String) -> String? {
        guard let (number, unit) = split(text), let initial = unit.first?.uppercased(),
            let meant = byteUnits.first(where: { $0.name.hasPrefix(initial) })
        else { return nil }
        return "write \(number) \(meant.name)"
    }

    /// Whole milliseconds, clamped to the range of `Int`.
    package static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = Int(seconds).multipliedReportingOverflow(by: 1_000)
        let (sum, carry) = whole.addingReportingOverflow(
            Int(attoseconds / 1_000_000_000_000_000))
        return overflow || carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in the largest unit that divides it.
    package static func text(_ duration: Duration) -> String {
        let milliseconds = milliseconds(duration)
        let unit = durationUnits.last {
            milliseconds.isMultiple(of: $0.milliseconds) && milliseconds >= $0.milliseconds
        }
        guard let unit else { return "0s" }
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }

    /// The size in the largest unit that divides it; plain bytes without a unit. Exact, unlike `ByteSize`:
    /// people copy it into their configuration.
    package static func text(bytes: Int) -> String {
        let unit = byteUnits.last { bytes.isMultiple(of: $0.bytes) && bytes >= $0.bytes }
        guard let unit, unit.bytes > 1 else { return "\(bytes)" }
        return "\(bytes / unit.bytes) \(unit.name)"
    }

    /// Leading digits, and the unit after them without the spaces between.
    private static func split(_ text: String) -> (Int, String)? {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard let number = Int(digits) else { return nil }
        let unit = text[digits.endIndex...].drop { $0 == " " }
        return (number, String(unit))
    }
}
