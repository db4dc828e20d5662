import Foundation
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayctl

@Suite struct TailRowTests {
    // MARK: A recorded session

    /// Set to rewrite the expected files after looking at every changed line.
    private static let isRewriting =
        ProcessInfo.processInfo.environment["RELAYD_REWRITE_EXPECTED"] != nil

    @Test("a recorded session looks like this on a terminal", arguments: [60, 80, 200])
    func session(width: Int) throws {
        let lines = try TailSamples.lines(Capture.entries("js-full-1"), width: width)
        let text = lines.joined(separator: "\n") + "\n"
        let file = Checkout.fixtures.appending(path: "golden/tail-\(width).txt")
        if Self.isRewriting { try text.write(to: file, atomically: true, encoding: .utf8) }
        let expected = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        // Line by line, so that a failure shows the line and not the file.
        for (line, expected) in zip(lines, expected) { #expect(line == expected) }
        #expect(lines.count == expected.count)
    }

    private static let session = Result { try Capture.entries("js-full-1") }

    @Test("no line is wider than the terminal", arguments: Array(24...210))
    func fits(width: Int) throws {
        for line in try TailSamples.lines(Self.session.get(), width: width) {
            #expect(line.columns <= width, "\(line)")
        }
    }

    // MARK: Columns

    @Test(
        "the next column begins where it should, whatever an app is called",
        arguments: [
            "A", "Bench Navigation", "Radio Südwest – das Programm", "地図アプリケーション", "한국어 라디오 방송국",
            "e\u{301}e\u{301}\u{302}", "Z\u{334}\u{335}\u{336}algo", "👩‍🚀🚀🇩🇪 Space", "क्षि रेडियो",
            "\u{202E}Maps\u{1B}[31m", "\u{301}\u{301}", "a\tb\nc\r", "\u{200B}\u{200D}", "ﾗｼﾞｵ", "",
        ])
    func appColumn(name: String) throws {
        var feed = TrafficFeed()
        let json = try #require(
            String(data: JSONSerialization.data(withJSONObject: ["appName": name]), encoding: .utf8)
        )
        feed.request(.registerAppInterface, 1, json)
        for (width, start) in [(60, 23), (80, 28), (100, 36), (200, 36)] {
            let line = try #require(TailSamples.lines(feed.entries, width: width).first)
            let arrow = try #require(line.firstIndex(of: "→"))
            #expect(String(line[..<arrow]).columns == start, "\(line)")
            #expect(line.columns <= width)
        }
    }

    @Test("size and latency end where the terminal ends, with units where there is room")
    func right() throws {
        let answer = """
            "time":"2026-11-21T10:31:07.042Z","kind":"response","from":"accessory","app":"#3",\
            "app_name":"Radio","bytes":300442,"function":"PutFile","correlation_id":499,\
            "success":true,"result_code":"SUCCESS","latency_ms":1509.25,"summary":"SUCCESS  99 MiB free"
            """
        let message = try TailSamples.message(answer)
        #expect(
            TailSamples.row(60).line(message)
                == "  17 10:31:07 Radio    ✓ PutFile  99 MiB free    293K   1.5s")
        #expect(
            TailSamples.row(80).line(message)
                == "   17 10:31:07 Radio        ✓ PutFile           99 MiB free          293K   1.5s"
        )
        #expect(
            TailSamples.row(140).line(message)
                == "   17 10:31:07.042 Radio            ✓ PutFile corr 499                  "
                + "SUCCESS  99 MiB free                              293.4 KiB  1509 ms")
        #expect(
            TailSamples.row(nil).line(message)
                == "   17 10:31:07.042 Radio            ✓ PutFile corr 499                  "
                + "SUCCESS  99 MiB free                              293.4 KiB  1509 ms")
    }

    @Test("what does not fit is left out, the latency first") func narrow() throws {
        let answer = """
            "time":"2026-11-21T10:31:07.042Z","kind":"response","from":"accessory","app":"#3",\
            "app_name":"Radio","bytes":61,"function":"Show","correlation_id":499,"success":false,\
            "result_code":"REJECTED","latency_ms":5,"summary":"REJECTED  \\"not in this level\\""
            """
        let message = try TailSamples.message(answer)
        let expected = [
            (60, "  17 10:31:07 Radio    ✗ Show  REJECTED  \"not…     61  5.0ms"),
            (59, "  17 10:31:07 Radio    ✗ Show  REJECTED  \"not in th…     61"),
            (49, "  17 10:31:07 Radio    ✗ Show  REJECTED  \"not in…"),
            (39, "  17 Radio    ✗ Show  REJECTED  \"not i…"), (24, "  17 Radio    ✗ Show"),
        ]
        for (width, line) in expected { #expect(TailSamples.row(width).line(message) == line) }
    }

    @Test("a number that is too long moves its line only") func longNumber() throws {
        let json = "\"kind\":\"request\",\"from\":\"app\",\"bytes\":5,\"function\":\"Show\""
        var message = try TailSamples.message(json)
        message.number = 1_234_567
        let line = TailSamples.row(80).line(message)
        #expect(
            line
                == "1234567 -            → Show                                             5")
    }

    @Test("nobody is app 7 until it has a name; relayd speaks for itself") func nobody() throws {
        var feed = TrafficFeed()
        feed.app = .init(rawValue: 7)
        feed.request(.show, 1)
        feed.receive(.linkClosed(reason: "cable pulled", time: feed.time))
        let lines = try TailSamples.lines(feed.entries, width: 80)
        #expect(lines[0].contains(" app 7        → Show"))
        #expect(lines[1] == "    2 10:31:07 relayd       · link closed: cable pulled")
    }

    @Test(
        "sizes and latencies are short where room is",
        arguments: [
            (0, "0"), (1023, "1023"), (9_626, "9.4K"), (300_442, "293K"), (1_048_575, "1.0M"),
            (104_857_600, "100M"),
        ])
    func sizes(bytes: Int, text: String) {
        #expect(TailRow.compact(bytes: bytes) == text)
    }

    @Test(
        "latencies have the unit that keeps them short",
        arguments: [
            (0.04, "0.0ms"), (0.3, "0.3ms"), (12.9, "12ms"), (999.9, "999ms"), (1509, "1.5s"),
            (99_999, "99.9s"), (123_456, "123s"), (1e300, "100000000000000s"),
        ])
    func latencies(milliseconds: Double, text: String) {
        #expect(TailRow.compact(milliseconds: milliseconds) == text)
    }

    // MARK: Colours

    @Test("each app has its colour, and none when colours are off") func appColours() throws {
        func line(_ app: Int, _ style: Style) throws -> String {
            let message = try TailSamples.message("\"app\":\"#\(app)\",\"app_name\":\"Maps\"")
            return TailSamples.row(80, style: style).line(message)
        }
        let coloured = try (1...8).map { try line($0, .coloured) }
        #expect(Set(coloured).count == 8)
        #expect(try coloured[0] == line(1, .coloured) && coloured[0] == line(9, .coloured))
        #expect(coloured[0].contains("\u{1B}[38;5;130mMaps\u{1B}[0m         "))
        #expect(try !line(1, .plain).contains("\u{1B}"))
    }

    @Test("relayd's colours in the words are kept, and not counted as columns") func wordColours()
        throws
    {
        var feed = TrafficFeed()
        feed.tellStory()
        for width in [40, 60, 80, 100, 140, 200] {
            let row = TailSamples.row(width, style: .coloured)
            let plain = try TailSamples.lines(feed.entries, width: width)
            let coloured = try TailSamples.json(feed.entries, colours: true).map { json in
                row.line(try #require(TailMessage(json, keepingColours: true)))
            }
            #expect(coloured.map { $0.replacing(#/\u{1B}\[[0-9;]*m/#, with: "") } == plain)
            #expect(coloured[3].contains("\u{1B}[1;31mINVALID_"))
        }
    }

    // MARK: Kinds

    @Test("every kind says what it is") func kinds() throws {
        let cases = [
            (
                #""kind":"control","from":"app","service":"rpc","control":"StartService""#,
                "→ StartService rpc"
            ),
            (
                #""kind":"control","from":"accessory","service":"control","control":"HeartbeatACK""#,
                "← HeartbeatACK"
            ),
            (
                #""kind":"stream","from":"app","service":"video","summary":"30 frames""#,
                "→ video             30 frames"
            ),
            (
                #""kind":"security","from":"accessory","service":"control","query":"SendHandshakeData""#,
                "← SendHandshakeData"
            ),
            (#""kind":"encrypted","from":"app","service":"rpc""#, "→ encrypted rpc"),
            (
                #""kind":"undecodable","from":"app","service":"rpc","summary":"3 bytes""#,
                "→ rpc message       undecodable: 3 bytes"
            ),
            (
                #""kind":"dropped","from":"app","function":"Show","summary":"no link""#,
                "→ Show              dropped: no link"
            ),
            (
                #""kind":"dropped","from":"app","frames":3,"summary":"no link""#,
                "→ 3 frames          dropped: no link"
            ),
            (
                #""kind":"event","event":"unanswered_start","service":"rpc","summary":"has no answer for 10.0 s""#,
                "· StartService rpc  has no answer for 10.0 s"
            ),
            (#""kind":"novelty","from":"app","summary":"x""#, "→ novelty           x"),
            ("\"x\":1", "·"),
        ]
        for (json, end) in cases {
            let line = TailSamples.row(80).line(try TailSamples.message(json))
            #expect(line.hasSuffix(" " + end), "\(line)")
        }
    }
}

@Suite struct ColouredTextTests {
    private func shortened(_ text: String, _ width: Int) -> String {
        ColouredText(text).shortened(to: width).text(.coloured)
    }

    @Test("cutting counts what is seen") func cuts() {
        let text = "\u{1B}[31mred\u{1B}[0m and \u{1B}[1;32mgreen\u{1B}[0m"
        #expect(ColouredText(text).columns == 13)
        #expect(ColouredText(text).text(.coloured) == text)
        #expect(ColouredText(text).text(.plain) == "red and green")
        #expect(shortened(text, 13) == text)
        #expect(shortened(text, 11) == "\u{1B}[31mred\u{1B}[0m and \u{1B}[1;32mgr…\u{1B}[0m")
        #expect(shortened(text, 3) == "\u{1B}[31mre…\u{1B}[0m")
        #expect(shortened(text, 1) == "\u{1B}[31m…\u{1B}[0m" && shortened(text, 0).isEmpty)
        #expect(shortened("地図地図", 4) == "地…" && shortened("地図", 4) == "地図")
    }

    @Test("a mark behind a colour belongs to no letter of it") func marks() {
        let text = ColouredText("\u{1B}[31m\u{301}a\u{1B}[0m")
        #expect(text.columns == 1 && text.text(.plain) == "\u{301}a")
    }

    @Test("the first word goes, and only as a word") func firstWord() {
        func rest(_ text: String) -> String {
            ColouredText(text).dropping(first: "SUCCESS").text(.plain)
        }
        #expect(rest("SUCCESS  2 files") == "2 files" && rest("SUCCESS").isEmpty)
        #expect(rest("\u{1B}[32mSUCCESS\u{1B}[0m  2 files") == "2 files")
        #expect(rest("SUCCESSFUL  2") == "SUCCESSFUL  2" && rest("a SUCCESS") == "a SUCCESS")
    }
}
