import ControlAPI
import Testing

@testable import relayctl

@Suite struct TimeArgumentTests {
    @Test(
        "durations have a unit",
        arguments: [
            ("200ms", 200), ("1.5s", 1500), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000),
            ("0s", 0), ("200", nil), ("", nil), ("s", nil), ("-1s", nil), ("1 s", nil),
            ("1d", nil), ("1.2.3s", nil), ("99999999h", nil), ("1e3s", nil), ("٣s", nil),
            ("720h", 2_592_000_000), ("720.1h", nil),
        ])
    func durations(text: String, milliseconds: Int64?) {
        #expect(TimeArgument.milliseconds(text) == milliseconds)
    }

    @Test("a duration and a time in UTC are passed on") func passedOn() {
        #expect(TimeArgument.start("30s") == "-30000ms")
        #expect(
            TimeArgument.start("2026-11-21T10:31:07.5Z") == "2026-11-21T10:31:07.500Z")
    }

    @Test("durations and days are also typed as for journalctl") func words() throws {
        #expect(TimeArgument.start("10 minutes ago") == "-600000ms")
        #expect(TimeArgument.start("1 hour ago") == "-3600000ms")
        #expect(TimeArgument.start("2 Days ago") == "-172800000ms")
        for (text, days) in [("today", 0), ("Yesterday", 1)] {
            let start = try #require(
                TimeArgument.start(text, now: Samples.now).flatMap { Timestamp($0) })
            #expect(LocalTime.system.timeOfDay(start).hasPrefix("00:00:00"))
            let hours = Samples.now.seconds(since: start) / 3600
            #expect((days * 24 - 1...days * 24 + 25).contains(hours))
        }
    }

    @Test("local times are of this machine's zone, and of the last such moment") func local() throws
    {
        let now = Samples.now
        for text in ["10:31", "10:31:07", "23:59:59", "00:00"] {
            let start = try #require(
                TimeArgument.start(text, now: now).flatMap { Timestamp($0) })
            #expect(LocalTime.system.timeOfDay(start).hasPrefix(text))
            #expect(start <= now && now.seconds(since: start) < 25 * 3600)
        }
        for text in ["2026-11-20 22:15", "2026-11-20T22:15:00"] {
            let start = try #require(
                TimeArgument.start(text, now: now).flatMap { Timestamp($0) })
            #expect(LocalTime.system.full(start) == "2026-11-20 22:15:00.000")
        }
    }

    @Test(
        "what is no time is refused",
        arguments: [
            "", "tomorrow", "ten minutes ago", "5 ago", "9999 hours ago", "25:00", "10:60",
            "10:31:61", "10", "1:2:3:4", "2026-13-01 10:00",
            "2026-11-21", "10:31 2026-11-21 x", ":", "-30s", "2026-02-31 10:00",
            "2026-02-29T10:00:00", "2026-04-31T10:00:00Z",
        ])
    func refused(text: String) {
        #expect(TimeArgument.start(text) == nil)
        #expect(!TimeArgument.isTooLong(text))
    }

    @Test("too long a time is refused with the limit", arguments: ["--since", "--slower-than"])
    func tooLong(option: String) async {
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["tail", option, "721h", "--socket", "/nonexistent/c.sock"],
            output: recorder.output())
        #expect(code == 64)
        #expect(
            recorder.text(.error).contains(
                "\(option) is \"721h\"; at most 720h (30 days) can be asked for"))
    }
}
