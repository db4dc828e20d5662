import ControlAPI
import Testing

@testable import relayctl

@Suite struct TextTests {
    @Test(
        "escape sequences and control characters are removed, text stays",
        arguments: [
            ("Relay Test App", "Relay Test App"), ("Müller 地図 👩‍🚀", "Müller 地図 👩‍🚀"),
            ("a\u{1B}[31;1mb\u{1B}[0mc", "abc"), ("a\u{1B}]0;title\u{07}b", "ab"),
            ("a\u{1B}]8;;http://x\u{1B}\\b", "ab"), ("a\u{1B}Pq#0\u{9C}b", "ab"),
            ("a\u{9B}2Jb", "ab"), ("a\u{1B}(0b", "ab"), ("a\u{1B}", "a"), ("a\u{1B}[", "a"),
            ("a\tb\nc\r", "a b c "), ("a\u{0}\u{8}\u{7F}b", "ab"),
            ("a\u{202E}b\u{200B}c\u{FEFF}", "abc"), ("a\u{2028}b", "a b"),
        ])
    func cleans(text: String, clean: String) {
        #expect(SafeText.clean(text) == clean)
    }

    @Test("a line of relayd keeps its length, and colours only when they are wanted") func lines() {
        let line = "a\u{1B}[1;31mred\u{1B}[0m\u{1B}[2J\u{1B}]0;t\u{7}\u{9B}1m\nb\u{1B}[31"
        #expect(SafeText.line(line) == "ared b")
        #expect(
            SafeText.line(line, keepingColours: true) == "a\u{1B}[1;31mred\u{1B}[0m b")
        let long = String(repeating: "x", count: 5000)
        #expect(SafeText.line(long) == long)
    }

    @Test("a name without end is cut, and shows that it was") func cuts() {
        let cut = SafeText.clean("a" + String(repeating: "\u{301}", count: 9_999))
        #expect(cut.unicodeScalars.count == 256 && cut.unicodeScalars.last == "…")
        let whole = String(repeating: "x", count: 256)
        #expect(SafeText.clean(whole) == whole)
    }

    @Test(
        "width counts columns, not characters",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("地図", 4), ("ｶﾅ", 2), ("한국", 4),
            ("👩‍🚀", 2), ("❤\u{FE0F}", 2), ("–…→", 3), ("क्षि", 3), ("\u{1112}\u{1161}\u{11AB}", 2),
        ])
    func columns(text: String, columns: Int) {
        #expect(text.columns == columns)
    }

    @Test("shortening keeps to the width, wide characters included") func shortens() {
        #expect("abcdef".shortened(to: 4) == "abc…")
        #expect("abcd".shortened(to: 4) == "abcd")
        #expect("地図地図".shortened(to: 4) == "地…")
        #expect("serial:/dev/ttyUSB0".shortenedInMiddle(to: 11) == "seria…yUSB0")
        #expect("abc".shortened(to: 0) == "")
        #expect("地".padded(to: 4) == "地  " && "7".padded(to: 3, alignRight: true) == "  7")
    }

    @Test(
        "sizes are read at a glance",
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (304_742, "297.6 KiB"),
            (1_048_570, "1.0 MiB"), (1_048_576, "1.0 MiB"), (1_610_612_736, "1.5 GiB"),
            (5_497_558_138_880, "5.0 TiB"), (Int.max, "8388608.0 TiB"),
        ])
    func bytes(count: Int, text: String) {
        #expect(Units.bytes(count) == text)
    }

    @Test(
        "durations show the units that matter",
        arguments: [
            (-5, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "59 min"), (11_100, "3 h 5 min"),
            (183_600, "2 d 3 h"),
        ])
    func durations(seconds: Int, text: String) {
        #expect(Units.duration(seconds: seconds) == text)
    }

    @Test("JSON is compacted outside strings only") func compactsJSON() {
        let json = "{\n  \"a b\" : [ 1,\t2 ],\r\n \"c\\\" d\" : \"\\\\\" , \"e\" : \" \"\n}\n"
        #expect(JSONText.compact(json) == #"{"a b":[1,2],"c\" d":"\\","e":" "}"#)
    }

    @Test("JSON keeps its meaning and loses what a terminal would obey") func escapesJSON() throws {
        let json = "[\"a\u{9B}2J\u{202E}\u{2028}\u{E0001}é\"]\n"
        let safe = JSONText.safe(json)
        #expect(safe == "[\"a\\u009B2J\\u202E\\u2028\\uDB40\\uDC01é\"]\n")
        let before = try APICoding.decode([String].self, from: Array(json.utf8))
        #expect(try APICoding.decode([String].self, from: Array(safe.utf8)) == before)
    }
}
