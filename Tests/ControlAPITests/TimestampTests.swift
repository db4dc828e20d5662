import ControlAPI
import Testing

@Suite struct TimestampTests {
    @Test(
        "a time is written as RFC 3339 with milliseconds and read back",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_795_257_067_042, "2026-11-21T10:31:07.042Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ])
    func roundTrips(milliseconds: Int64, text: String) {
        let timestamp = Timestamp(millisecondsSince1970: milliseconds)
        #expect(timestamp.description == text)
        #expect(Timestamp(text) == timestamp)
    }

    @Test("every day of four centuries is written and read back in order")
    func everyDay() async {
        var previous = ""
        for day in Int64(-36_525)..<109_575 {
            if day.isMultiple(of: 1000) { await Task.yield() }
            let timestamp = Timestamp(millisecondsSince1970: day * 86_400_000)
            let text = timestamp.description
            #expect(text > previous && Timestamp(text) == timestamp)
            previous = text
        }
    }

    @Test(
        "fractions of any length are read",
        arguments: [
            ("2026-11-21T10:31:07Z", 0), ("2026-11-21T10:31:07.5Z", 500),
            ("2026-11-21T10:31:07.0421234Z", 42),
        ])
    func fractions(text: String, millisecond: Int64) {
        #expect(Timestamp(text)?.millisecondsSince1970 == 1_795_257_067_000 + millisecond)
    }

    @Test(
        "what is no UTC time is refused",
        arguments: [
            "", "now", "2026-11-21", "2026-11-21 10:31:07Z", "2026-11-21T10:31:07",
            "2026-11-21T10:31:07+01:00", "2026-13-21T10:31:07Z", "2026-11-21T24:31:07Z",
            "2026-11-21T10:31:07.Z", "2026-11-21T10:31:07.1x3Z", "2026-11-2xT10:31:07Z",
            "٢٠٢٦-11-21T10:31:07Z", "2026-02-29T10:31:07Z", "2100-02-29T00:00:00Z",
            "2026-04-31T10:31:07Z", "2026-11-00T10:31:07Z", "2026-12-32T10:31:07Z",
        ])
    func refuses(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test("ages are whole seconds") func ages() {
        let start = Timestamp(millisecondsSince1970: 1_000)
        #expect(Timestamp(millisecondsSince1970: 3_900).seconds(since: start) == 2)
        #expect(Timestamp.now > start)
    }
}
