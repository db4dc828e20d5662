// Writes times of day: local ones for people, RFC 3339 for programs. Used by both log formats, and by
// relayd for its own lines in the same log.

import Glibc
package import RelayCore

/// The time zone of a text log.
package enum LogTimeZone: Hashable, Sendable {
    /// The machine's time zone, including daylight saving.
    case local
    /// Seconds east of UTC; for tests.
    case fixed(seconds: Int)
}

/// Local time of day, 10:31:07.123. Asks the system once a minute rather than for each line.
struct LocalTimeText: Sendable {
    let zone: LogTimeZone
    private var minute = Int64.min
    private var hoursAndMinutes: (UInt64, UInt64) = (0, 0)

    init(zone: LogTimeZone) {
        self.zone = zone
    }

    mutating func append(_ time: WallTime, to line: inout LineBuilder) {
        let (seconds, nanoseconds) = time.parts
        let thisMinute = floorDivide(seconds, 60).quotient
        if thisMinute != minute {
            minute = thisMinute
            hoursAndMinutes = timeOfDay(seconds)
        }
        line.append(hoursAndMinutes.0, digits: 2)
        line.append(ascii: ":")
        line.append(hoursAndMinutes.1, digits: 2)
        line.append(ascii: ":")
        // Offsets from UTC are whole minutes, so the seconds are the same in every zone.
        line.append(floorDivide(seconds, 60).remainder, digits: 2)
        line.append(ascii: ".")
        line.append(nanoseconds / 1_000_000, digits: 3)
    }

    private func timeOfDay(_ seconds: Int64) -> (UInt64, UInt64) {
        switch zone {
        case .fixed(let offset):
            let ofDay = floorDivide(seconds + Int64(offset), 86_400).remainder
            return (ofDay / 3600, ofDay / 60 % 60)
        case .local:
            var time = time_t(seconds)
            var parts = tm()
            localtime_r(&time, &parts)
            return (UInt64(max(0, parts.tm_hour)), UInt64(max(0, parts.tm_min)))
        }
    }
}

/// RFC 3339 in UTC: 2026-11-21T10:31:07.123456Z.
struct UTCTimeText: Sendable {
    enum Precision: Sendable {
        /// The precision of relayd's own messages in the same log.
        case microseconds
        /// The precision of the rest of the control API.
        case milliseconds
    }

    let precision: Precision
    private var day = Int64.min
    private var date: (year: UInt64, month: UInt64, day: UInt64) = (1970, 1, 1)

    init(_ precision: Precision) {
        self.precision = precision
    }

    mutating func append(_ time: WallTime, to line: inout LineBuilder) {
        let (seconds, nanoseconds) = time.parts
        let (thisDay, ofDay) = floorDivide(seconds, 86_400)
        if thisDay != day {
            day = thisDay
            date = Self.date(ofDay: thisDay)
        }
        line.append(date.year, digits: 4)
        line.append(ascii: "-")
        line.append(date.month, digits: 2)
        line.append(ascii: "-")
        line.append(date.day, digits: 2)
        line.append(ascii: "T")
        line.append(ofDay / 3600, digits: 2)
        line.append(ascii: ":")
        line.append(ofDay / 60 % 60, digits: 2)
        line.append(ascii: ":")
        line.append(ofDay % 60, digits: 2)
        line.append(ascii: ".")
        switch precision {
        case .microseconds: line.append(nanoseconds / 1000, digits: 6)
        case .milliseconds: line.append(nanoseconds / 1_000_000, digits: 3)
        }
        line.append(ascii: "Z")
    }

    /// The date of a day counted from 1970-01-01; nanoseconds in `Int64` range from 1677 to 2262.
    private static func date(ofDay day: Int64) -> (year: UInt64, month: UInt64, day: UInt64) {
        var midnight = time_t(day * 86_400)
        var parts = tm()
        gmtime_r(&midnight, &parts)
        return (
            UInt64(max(0, Int(parts.tm_year) + 1900)), UInt64(max(0, parts.tm_mon)) + 1,
            UInt64(max(0, parts.tm_mday))
        )
    }
}

extension WallTime {
    /// Local time of day for people: "10:31:07.123".
    package var clock: String {
        var text = LocalTimeText(zone: .local)
        var line = LineBuilder()
        text.append(self, to: &line)
        return String(decoding: line.bytes, as: UTF8.self)
    }

    /// UTC for programs, with microseconds: "2026-11-21T10:31:07.123456Z".
    package var rfc3339: String {
        var text = UTCTimeText(.microseconds)
        var line = LineBuilder()
        text.append(self, to: &line)
        return String(decoding: line.bytes, as: UTF8.self)
    }

    /// Whole seconds since 1970, and nanoseconds of the second.
    fileprivate var parts: (seconds: Int64, nanoseconds: UInt64) {
        let (seconds, rest) = floorDivide(nanoseconds, 1_000_000_000)
        return (seconds, rest)
    }
}

/// Rounds towards the past, so that times before 1970 are right too.
private func floorDivide(
    _ dividend: Int64, _ divisor: Int64
) -> (quotient: Int64, remainder: UInt64) {
    let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0
        ? (quotient - 1, UInt64(remainder + divisor)) : (quotient, UInt64(remainder))
}
