// Writes times of day: local ones for people, RFC 3339 for programs. Used by both log formats.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Which clock on the wall a text log shows.
package enum LogTimeZone: Hashable, Sendable {
    /// The machine's, daylight saving included.
    case local
    /// Seconds east of UTC; for tests.
    case fixed(seconds: Int)
}

/// Local time of day, 10:31:07.123. Asks the system once a minute, not once a line.
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
        // Offsets from UTC are whole minutes, so the second is the same everywhere.
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
        /// As relayd's own messages in the same log have it.
        case microseconds
        /// As the rest of the control API has it.
        case milliseconds
    }

    let precision: Precision
    private var day = Int64.min
    private var date: (year: Int64, month: UInt64, day: UInt64) = (1970, 1, 1)

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
        line.append(UInt64(max(0, date.year)), digits: 4)
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

    /// The proleptic Gregorian date of a day counted from 1970-01-01, by counting years from March
    /// so that the leap day is a year's last (Howard Hinnant, "chrono-compatible low-level date
    /// algorithms", civil_from_days).
    private static func date(ofDay day: Int64) -> (year: Int64, month: UInt64, day: UInt64) {
        let (era, dayOfEra) = floorDivide(day + 719_468, 146_097)
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            era * 400 + Int64(yearOfEra) + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }
}

extension WallTime {
    /// Whole seconds since 1970, and nanoseconds of the second.
    fileprivate var parts: (seconds: Int64, nanoseconds: UInt64) {
        let (seconds, rest) = floorDivide(nanoseconds, 1_000_000_000)
        return (seconds, rest)
    }
}

/// Rounds towards the past, so that times before 1970 come out right too.
private func floorDivide(
    _ dividend: Int64, _ divisor: Int64
) -> (quotient: Int64, remainder: UInt64) {
    let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0
        ? (quotient - 1, UInt64(remainder + divisor)) : (quotient, UInt64(remainder))
}
