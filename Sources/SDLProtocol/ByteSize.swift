/// A number of bytes for people: "980 B", "297.6 KiB", "1.2 MiB". Units are powers of 1024, with one decimal,
/// rounded to the nearest. The log and relayctl write all sizes with it.
public struct ByteSize: Sendable, CustomStringConvertible {
    /// Whole units.
    public let whole: Int
    /// The digit after the point; nil for bytes, which have no fraction.
    public let tenth: Int?
    public let unit: StaticString

    private static let units: [StaticString] = ["KiB", "MiB", "GiB", "TiB"]

    public init(_ bytes: Int) {
        guard bytes >= 1024 else {
            (whole, tenth, unit) = (bytes, nil, "B")
            return
        }
        // The unit below the one to show, so that one decimal can be rounded in whole numbers.
        var below = bytes
        var units = Self.units[...]
        // 1023.95 and more is rounded to 1024.0, which is the next unit's 1.0.
        while units.count > 1, below >= 1024 * 1024 - 51 {
            below /= 1024
            units = units.dropFirst()
        }
        let tenths = (below * 10 + 512) / 1024
        (whole, tenth, unit) = (tenths / 10, tenths % 10, units[units.startIndex])
    }

    public var description: String {
        "\(whole)" + (tenth.map { ".\($0)" } ?? "") + " \(unit)"
    }
}
