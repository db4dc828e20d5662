import ControlAPI
import Glibc
import SDLProtocol

/// Numbers for people: sizes, durations, times of day. Used by `StatusText`.
enum Units {
    /// "0 B", "980 B", "297.6 KiB", "1.2 MiB", …
    static func bytes(_ count: Int) -> String { ByteSize(count).description }

    /// "0.3 ms", "12 ms", "1509 ms", "12.3 s".
    static func latency(_ milliseconds: Double) -> String {
        // Guarded because a Double that does not fit traps.
        let tenths = Int(min(max(0, milliseconds * 10), 1e15))
        if tenths < 100 { return "\(tenths / 10).\(tenths % 10) ms" }
        return tenths < 100_000 ? "\(tenths / 10) ms" : "\(tenths / 10_000).\(tenths / 1000 % 10) s"
    }

    /// The largest one or two units: "42 s", "2 min", "3 h 5 min", "2 d 3 h".
    static func duration(seconds: Int) -> String {
        let seconds = max(0, seconds)
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400)
        if minutes == 0 { return "\(seconds) s" }
        if hours == 0 { return "\(minutes) min" }
        if days == 0 { return "\(hours) h \(minutes % 60) min" }
        return "\(days) d \(hours % 24) h"
    }

    /// The duration of an answer, in six characters where possible: "0.05 ms", "4.3 ms", "812 ms",
    /// "3.0 s", "120 s".
    static func latency(milliseconds: Double) -> String {
        // NaN and values of no sensible size are the other end's fault.
        let microseconds = Int(min(max(0, milliseconds.isNaN ? 0 : milliseconds), 1e12) * 1000)
        func decimal(_ number: Int, of unit: Int, digits: Int) -> String {
            let scale = digits == 2 ? 100 : 10
            let parts = (number * scale + unit / 2) / unit
            let rest = String(parts % scale + scale).dropFirst()
            return "\(parts / scale).\(rest)"
        }
        switch microseconds {
        case ..<995: return decimal(microseconds, of: 1000, digits: 2) + " ms"
        case ..<9950: return decimal(microseconds, of: 1000, digits: 1) + " ms"
        case ..<999_500: return "\((microseconds + 500) / 1000) ms"
        case ..<99_950_000: return decimal(microseconds, of: 1_000_000, digits: 1) + " s"
        default: return "\((microseconds + 500_000) / 1_000_000) s"
        }
    }

    /// The sum, limited to what fits: the numbers come from an answer.
    static func sum(_ counts: some Sequence<Int>) -> Int {
        counts.reduce(0) { total, count in
            let (sum, overflow) = total.addingReportingOverflow(count)
            return overflow ? .max : sum
        }
    }

    /// "1 app", "2 apps".
    static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}

/// A time zone as a function, so that tests need no time zone database.
struct LocalTime: Sendable {
    /// Seconds to add to UTC at a moment.
    let offsetSeconds: @Sendable (Timestamp) -> Int

    /// The time zone of this process ($TZ, /etc/localtime).
    static let system = LocalTime { moment in
        var seconds = time_t(moment.millisecondsSince1970 / 1000)
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
    }
    static let utc = LocalTime { _ in 0 }

    /// "10:31:07" on the day of `now`, otherwise "2026-11-20 10:31".
    func text(_ moment: Timestamp, now: Timestamp) -> String {
        let (date, time) = parts(moment)
        return date == parts(now).date ? time : "\(date) \(time.prefix(5))"
    }

    /// "10:31:07", on any day.
    func timeOfDay(_ moment: Timestamp) -> String {
        parts(moment).time
    }

    /// "10:31:07.042", on any day.
    func exactTimeOfDay(_ moment: Timestamp) -> String {
        "\(parts(moment).time).\(Self.milliseconds(moment))"
    }

    /// "2026-11-21 10:31:07.042".
    func full(_ moment: Timestamp) -> String {
        let (date, time) = parts(moment)
        return "\(date) \(time).\(Self.milliseconds(moment))"
    }

    private static func milliseconds(_ moment: Timestamp) -> Substring {
        let milliseconds = moment.millisecondsSince1970 % 1000
        return String((milliseconds + 1000) % 1000 + 1000).dropFirst()
    }

    private func parts(_ moment: Timestamp) -> (date: String, time: String) {
        let local = Timestamp(
            millisecondsSince1970: moment.millisecondsSince1970
                + Int64(offsetSeconds(moment)) * 1000
        ).description
        return (String(local.prefix(10)), String(local.dropFirst(11).prefix(8)))
    }
}
