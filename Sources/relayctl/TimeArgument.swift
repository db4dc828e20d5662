import ControlAPI
import Glibc

/// Durations and times as people type them behind an option: `--since 30s`, `--since 10:31`,
/// `--slower-than 200ms`.
enum TimeArgument {
    private static let units = [("ms", 1.0), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]

    /// Longest duration taken, in milliseconds: 30 days.
    private static let maximum = 30 * 86_400_000.0

    /// "200ms", "1.5s", "5m", "2h"; nil for the rest, for a number without a unit, and for what is too long.
    static func milliseconds(_ text: String) -> Int64? {
        duration(text).flatMap { $0 <= maximum ? Int64($0) : nil }
    }

    /// Whether it is a duration, but longer than is taken.
    static func isTooLong(_ text: String) -> Bool { duration(text).map { $0 > maximum } ?? false }

    /// What to say of one.
    static let tooLong = "at most 720h (30 days) can be asked for"

    /// In milliseconds.
    private static func duration(_ text: String) -> Double? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(digits.count)
        guard let factor = units.first(where: { $0.0 == unit })?.1, let number = Double(digits)
        else { return nil }
        return number * factor
    }

    /// A duration back or a time, as relayd takes it: "-30000ms", "2026-11-21T10:31:00.000Z".
    ///
    /// A time of day without a date is the last one there was.
    static func start(_ text: String, now: Timestamp = .now) -> String? {
        if let milliseconds = milliseconds(text) { return "-\(milliseconds)ms" }
        if let moment = Timestamp(text) { return moment.description }
        return local(text, now: now)?.description
    }

    /// "10:31", "10:31:07", "2026-11-21 10:31", "2026-11-21T10:31:07" in the time zone of this
    /// process.
    private static func local(_ text: String, now: Timestamp) -> Timestamp? {
        let parts = text.split { $0 == " " || $0 == "T" }
        guard let time = parts.last.flatMap({ fields($0, separator: ":", counts: 2...3) }),
            (0...23).contains(time[0]), (0...59).contains(time[1]),
            (0...60).contains(time.count > 2 ? time[2] : 0)
        else { return nil }
        var seconds = time_t(now.millisecondsSince1970 / 1000)
        var moment = tm()
        guard localtime_r(&seconds, &moment) != nil else { return nil }
        (moment.tm_hour, moment.tm_min) = (time[0], time[1])
        moment.tm_sec = time.count > 2 ? time[2] : 0
        // Whether it is summer time is for the system to find out.
        moment.tm_isdst = -1
        switch parts.count {
        case 1: break
        case 2:
            guard let date = fields(parts[0], separator: "-", counts: 3...3),
                (1970...9999).contains(date[0]), (1...12).contains(date[1]),
                (1...Timestamp.days(ofMonth: date[1], in: date[0])).contains(date[2])
            else { return nil }
            (moment.tm_year, moment.tm_mon, moment.tm_mday) = (date[0] - 1900, date[1] - 1, date[2])
        default: return nil
        }
        var found = Int64(mktime(&moment)) * 1000
        if parts.count == 1, found > now.millisecondsSince1970 {
            moment.tm_mday -= 1
            moment.tm_isdst = -1
            found = Int64(mktime(&moment)) * 1000
        }
        return Timestamp(millisecondsSince1970: found)
    }

    private static func fields(
        _ text: Substring, separator: Character, counts: ClosedRange<Int>
    ) -> [Int32]? {
        let words = text.split(separator: separator, omittingEmptySubsequences: false)
        guard counts.contains(words.count) else { return nil }
        let numbers = words.compactMap { word in
            word.allSatisfy { $0.isASCII && $0.isNumber } ? Int32(word) : nil
        }
        return numbers.count == words.count ? numbers : nil
    }
}
