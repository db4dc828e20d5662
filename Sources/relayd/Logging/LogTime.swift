import Glibc
import RelayCore

// Wall-clock times as text, without Foundation's formatters: they cost more than the line they
// stamp. Used by everything that writes log lines.

/// A moment on the wall clock.
package struct LogTime: Sendable, Equatable {
    /// Seconds since 1970, and the nanoseconds on top.
    package var seconds: Int
    package var nanoseconds: Int

    package init(seconds: Int, nanoseconds: Int) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    package static func now() -> LogTime {
        let (seconds, rest) = WallTime.now().nanoseconds.quotientAndRemainder(
            dividingBy: 1_000_000_000)
        return LogTime(seconds: Int(seconds), nanoseconds: Int(rest))
    }

    /// Local time of day for people: `10:31:07.123`.
    package var clock: String {
        var fields = tm()
        var seconds = seconds
        localtime_r(&seconds, &fields)
        return Self.clock(fields) + "." + Self.padded(nanoseconds / 1_000_000, 3)
    }

    /// UTC for machines, as in RFC 3339: `2026-11-21T10:31:07.123456Z`.
    package var rfc3339: String {
        var fields = tm()
        var seconds = seconds
        gmtime_r(&seconds, &fields)
        let date =
            "\(Self.padded(Int(fields.tm_year) + 1900, 4))-\(Self.padded(Int(fields.tm_mon) + 1, 2))"
            + "-\(Self.padded(Int(fields.tm_mday), 2))"
        return "\(date)T\(Self.clock(fields)).\(Self.padded(nanoseconds / 1_000, 6))Z"
    }

    private static func clock(_ fields: tm) -> String {
        "\(padded(Int(fields.tm_hour), 2)):\(padded(Int(fields.tm_min), 2))"
            + ":\(padded(Int(fields.tm_sec), 2))"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
