import ControlAPI
import Glibc

/// Durations and times as people type them after an option: `--since 30s`, `--since 10:31`,
/// `--since "10 minutes ago"`, `--slower-than 200ms`.
enum TimeArgument {
    private static let units = [("ms", 1.0), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]

    /// Longest duration accepted, in milliseconds: 30 days.
    private static let maximum = 30 * 86_400_000.0

    /// Parses "200ms", "1.5s", "5m", "2h". Returns nil for anything else, for a number without a unit,
    /// and for a duration that is too long.
    static func milliseconds(_ text: String) -> Int64? {
        duration(text).flatMap { $0 <= maximum ? Int64($0) : nil }
    }

    /// Whether the text is a duration above the maximum.
    static func isTooLong(_ text: String) -> Bool { duration(text).map { $0 > maximum } ?? false }

    /// The error message for a duration that is too long.
    static let tooLong = "at most 720h (30 days) can be asked for"

    /// A duration of any length, in milliseconds.
    private static func duration(_ text: String) -> Double? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(digits.count)
        guard let factor = units.first(where: { $0.0 == unit })?.1, let number = Double(digits)
        else { return nil }
        return number * factor
    }

    /// The start as relayd accepts it, a duration back or a time: "-30000ms", "2026-11-21T10:31:00.000Z".
    static func start(_ text: String, now: Timestamp = .now) -> String? {
        if let milliseconds = milliseconds(text) ?? ago(text) { return "-\(milliseconds)ms" }
        return (moment(text, now: now) ?? day(text, now: now))?.description
    }

    /// The error message for a text that `start` does not accept.
    static func problem(_ text: String) -> String {
        guard !isTooLong(text) else { return tooLong }
        return """
            expected a duration back such as 30s, 5m or "10 minutes ago", or \
            a time such as 10:31, today, "2026-11-21 10:31" or 2026-11-21T10:31:07Z
            """
    }

    /// The start for journalctl, whose own expressions ("1 hour ago", yesterday) are left as they are,
    /// including those that `start` does not know.
    static func journalStart(_ text: String, now: Timestamp = .now) -> String {
        if milliseconds(text) != nil { return "-\(text)" }
        guard let moment = moment(text, now: now) else { return text }
        return moment.description.replacing("T", with: " ").replacing(".000Z", with: "Z")
            .replacing("Z", with: " UTC")
    }

    /// A time; a time of day without a date is the most recent one.
    static func moment(_ text: String, now: Timestamp = .now) -> Timestamp? {
        Timestamp(text) ?? local(text, now: now)
    }

    private static let spelledUnits: [(names: Set<String>, milliseconds: Int64)] = [
        (["s", "sec", "second", "seconds"], 1000),
        (["m", "min", "minute", "minutes"], 60_000), (["h", "hour", "hours"], 3_600_000),
        (["d", "day", "days"], 86_400_000),
    ]

    /// "10 minutes ago", as journalctl accepts it, in milliseconds.
    private static func ago(_ text: String) -> Int64? {
        let words = text.lowercased().split(separator: " ")
        guard words.count == 3, words[2] == "ago",
            words[0].allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int64(words[0]),
            let unit = spelledUnits.first(where: { $0.names.contains(String(words[1])) }),
            count <= Int64(maximum) / unit.milliseconds
        else { return nil }
        return count * unit.milliseconds
    }

    /// The midnight of "today" or "yesterday".
    private static func day(_ text: String, now: Timestamp) -> Timestamp? {
        let back: Int32
        switch text.lowercased() {
        case "today": back = 0
        case "yesterday": back = 1
        default: return nil
        }
        var seconds = time_t(now.millisecondsSince1970 / 1000)
        var moment = tm()
        guard localtime_r(&seconds, &moment) != nil else { return nil }
        (moment.tm_hour, moment.tm_min, moment.tm_sec, moment.tm_isdst) = (0, 0, 0, -1)
        moment.tm_mday -= back
        return Timestamp(millisecondsSince1970: Int64(mktime(&moment)) * 1000)
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
        // Leaves it to the system to find out whether it is summer time.
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
