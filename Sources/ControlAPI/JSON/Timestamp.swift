import Glibc

/// A moment as the control API writes it: RFC 3339, UTC, milliseconds ("2026-11-21T10:31:07.042Z").
///
/// relayd sets it from the wall clock when something happens; relayctl turns it into local time and an
/// age. A whole number inside, so that equality and ordering are exact.
package struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted (as Unix time).
    package let millisecondsSince1970: Int64

    package init(millisecondsSince1970: Int64) {
        self.millisecondsSince1970 = millisecondsSince1970
    }

    /// The moment of the call, by the wall clock.
    package static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Whole seconds from `earlier` to this moment; negative when the clock was set back between.
    package func seconds(since earlier: Timestamp) -> Int {
        Int((millisecondsSince1970 - earlier.millisecondsSince1970) / 1000)
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }
}

// MARK: - RFC 3339

extension Timestamp: CustomStringConvertible {
    package var description: String {
        // Rounded down and never negative, before 1970 as well.
        let millisecond = (millisecondsSince1970 % 1000 + 1000) % 1000
        var seconds = time_t((millisecondsSince1970 - millisecond) / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return Self.padded(Int(parts.tm_year) + 1900, 4) + "-" + Self.padded(parts.tm_mon + 1, 2)
            + "-" + Self.padded(parts.tm_mday, 2) + "T" + Self.padded(parts.tm_hour, 2) + ":"
            + Self.padded(parts.tm_min, 2) + ":" + Self.padded(parts.tm_sec, 2) + "."
            + Self.padded(millisecond, 3) + "Z"
    }

    /// Reads what `description` writes; any number of fraction digits, but only UTC ("Z").
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z") else { return nil }
        let separators: [(Int, Unicode.Scalar)] = [
            (4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"),
        ]
        for (index, scalar) in separators where bytes[index] != UInt8(ascii: scalar) { return nil }
        guard let year = Self.number(bytes[0..<4]),
            let month = Self.number(bytes[5..<7]), (1...12).contains(month),
            let day = Self.number(bytes[8..<10]),
            (1...Self.days(ofMonth: month, in: year)).contains(day),
            let hour = Self.number(bytes[11..<13]), hour < 24,
            let minute = Self.number(bytes[14..<16]), minute < 60,
            let second = Self.number(bytes[17..<19]), second < 61
        else { return nil }
        var milliseconds: Int64 = 0
        let fraction = bytes[19..<(bytes.count - 1)]
        if let dot = fraction.first {
            guard dot == UInt8(ascii: "."), fraction.count > 1,
                Self.number(fraction.dropFirst().prefix(9)) != nil
            else { return nil }
            let digits = fraction.dropFirst().prefix(3)
            guard let value = Self.number(digits) else { return nil }
            milliseconds = Int64(value) * [100, 10, 1][digits.count - 1]
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second)
        self.init(millisecondsSince1970: Int64(timegm(&parts)) * 1000 + milliseconds)
    }

    /// Days of a month of the Gregorian calendar.
    ///
    /// - Parameter month: From 1.
    package static func days(ofMonth month: Int32, in year: Int32) -> Int32 {
        switch month {
        case 2:
            year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
                ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func padded(_ value: some BinaryInteger, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int32? {
        guard !digits.isEmpty else { return nil }
        var value: Int32 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int32(digit - UInt8(ascii: "0"))
        }
        return value
    }
}

// MARK: - JSON

extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let timestamp = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription:
                    "\"\(text)\" is not a time like \"2026-11-21T10:31:07.042Z\" (RFC 3339, UTC)")
        }
        self = timestamp
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
