// Whole screens of top. After a change: RELAYD_REWRITE_EXPECTED=1 swift test --filter TopViewTests, and read
// the difference.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import relayctl

@Suite("Screens of top") struct TopViewTests {
    private static let isRewriting =
        ProcessInfo.processInfo.environment["RELAYD_REWRITE_EXPECTED"] != nil

    private static func check(_ name: String, _ text: String) throws {
        let file = Checkout.fixtures.appending(path: "golden/\(name).txt")
        if isRewriting { try text.write(to: file, atomically: true, encoding: .utf8) }
        #expect(try String(contentsOf: file, encoding: .utf8) == text, "\(name)")
    }

    static let screens = [(60, 24), (80, 24), (200, 50)]

    @Test("a bench at work", arguments: screens) func busy(columns: Int, rows: Int) throws {
        let text = TopSamples.text(try TopSamples.busy(), columns, rows)
        try Self.check("top-\(columns)", text)
    }

    @Test("a bench without its head unit", arguments: screens) func broken(
        columns: Int, rows: Int
    ) throws {
        try Self.check("top-broken-\(columns)", TopSamples.text(TopSamples.broken(), columns, rows))
    }

    @Test("the picture in the documentation is this screen") func documentation() throws {
        let page = try String(
            contentsOf: Checkout.root.appending(path: "Documentation/troubleshooting.md"),
            encoding: .utf8)
        #expect(page.contains(TopSamples.text(try TopSamples.busy(), 80, 24)))
    }

    // MARK: Whatever the size

    @Test("no screen is larger than the terminal, whatever is on it") func sizes() throws {
        var models = [try TopSamples.busy(), TopSamples.broken(), TopModel()]
        for keys: [TopKey] in [
            [.up, .up], [.character("/"), .character("x")], [.character("?")],
            [.character("a")], [.character("f")],
        ] {
            var model = try TopSamples.busy()
            for key in keys { _ = model.press(key) }
            models.append(model)
        }
        var gone = try TopSamples.busy()
        gone.take(.gone("not running", since: TopSamples.now))
        models.append(gone)
        for (columns, rows) in [
            (1, 1), (12, 3), (39, 24), (80, 9), (40, 10), (41, 11), (59, 17),
            (80, 24), (99, 30), (139, 25), (140, 12), (300, 90),
        ] {
            for (index, model) in models.enumerated() {
                let plain = TopSamples.view(columns, rows).frame(model, now: TopSamples.now)
                let name = "model \(index) at \(columns)×\(rows)"
                #expect(plain.lines.count <= rows, "\(name)")
                #expect(plain.lines.allSatisfy { $0.columns <= columns }, "\(name)")
                if let cursor = plain.cursor {
                    #expect(cursor.row < rows && cursor.column < columns, "\(name)")
                }
                let coloured = TopSamples.view(columns, rows, style: .coloured)
                    .frame(model, now: TopSamples.now)
                #expect(
                    coloured.lines.allSatisfy { ColouredText($0).columns <= columns }, "\(name)")
            }
        }
    }

    @Test("colours change nothing but colours") func colours() throws {
        var model = try TopSamples.busy()
        for _ in 0..<3 { _ = model.press(.up) }
        for (columns, rows) in Self.screens {
            let plain = TopSamples.text(model, columns, rows)
            let coloured = TopSamples.text(model, columns, rows, style: .coloured)
            let stripped = coloured.replacing(#/\u{1B}\[[0-9;]*m/#, with: "").split(
                separator: "\n", omittingEmptySubsequences: false
            ).map { line in String(line.reversed().drop { $0 == " " }.reversed()) }
            #expect(stripped.joined(separator: "\n") == plain)
            #expect(coloured.contains("\u{1B}[7m") && !plain.contains("\u{1B}"))
        }
    }

    @Test("a screen that is too small says how large it should be") func tooSmall() throws {
        let text = TopSamples.text(try TopSamples.busy(), 39, 24)
        #expect(text == "39×24 is too small:\ntop needs 40×10\nq quits\n")
        #expect(TopSamples.text(try TopSamples.busy(), 80, 9).hasPrefix("80×9 is too small:"))
        #expect(TopSamples.text(try TopSamples.busy(), 40, 10).contains("Messages"))
    }

    // MARK: Parts

    @Test("the chosen message is marked, and the title says that the list is held") func chosen()
        throws
    {
        var model = try TopSamples.busy()
        for _ in 0..<3 { _ = model.press(.up) }
        model.take(.message(try TopSamples.message(56, "Show"), stream: 0))
        let lines = TopSamples.text(model, 80, 24).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("   45›05:41:17 ") })
        #expect(
            lines.contains { $0.hasPrefix("─ Messages ──") && $0.hasSuffix(" paused, 1 newer ──") })
    }

    @Test("a long filter leaves room to say that the list is held", arguments: [40, 60, 80, 200])
    func longFilter(columns: Int) throws {
        var model = try TopSamples.busy()
        _ = model.press(.character("/"))
        for letter in String(repeating: "app:radio ", count: 20) {
            _ = model.press(.character(letter))
        }
        for key: TopKey in [.enter, .character("f")] { _ = model.press(key) }
        model.take(.message(try TopSamples.message(56, "Show"), stream: model.stream))
        _ = model.press(.character("p"))
        for number in 57...156 {
            model.take(.message(try TopSamples.message(number, "Show"), stream: model.stream))
        }
        let title = TopSamples.text(model, columns, 24).split(separator: "\n").last {
            $0.hasPrefix("─ M")
        }
        #expect(title?.hasSuffix("failed only · paused, 100 newer ──") == true)
        #expect((title?.contains("app:radio")) == (columns > 40))
    }

    @Test("apps that share a name have no numbers that are counted by name") func sharedName() {
        var model = TopModel()
        let apps = [
            TopSamples.app(1, "Radio", level: "FULL"), TopSamples.app(2, "Radio", level: "NONE"),
        ]
        for second in [0, 1] as [Int64] {
            model.take(.status(TopSamples.status(apps), TopSamples.seconds(second)))
            model.take(
                .stats(
                    TopSamples.stats(
                        [TopSamples.call("Radio", "Show", requests: Int(second))], at: second)))
        }
        let rows = TopSamples.text(model, 80, 24).split(separator: "\n").filter {
            $0.contains(" Radio ") && ($0.contains("FULL") || $0.contains("NONE"))
        }
        #expect(rows.count == 2 && rows.allSatisfy { $0.contains(" –       –") })
    }

    @Test("more apps than there is room for are counted") func manyApps() {
        var model = TopModel()
        let apps = (1...30).map { TopSamples.app($0, "App \($0)", level: "NONE") }
        model.take(.status(TopSamples.status(apps), TopSamples.now))
        #expect(TopSamples.text(model, 80, 24).contains("  and 21 more apps\n"))
        #expect(TopSamples.text(model, 80, 24).contains("─ Messages ─"))
    }

    @Test("what peers say cannot write on the terminal") func untrusted() throws {
        var model = TopModel()
        let name = "Ra\u{1B}[2Jdio\u{9B}31m\r\n\u{202E}x"
        model.take(
            .status(
                TopSamples.status([TopSamples.app(1, name, level: "\u{7}FULL")]), TopSamples.now))
        for second in [0, 1] as [Int64] {
            model.take(
                .stats(TopSamples.stats([TopSamples.call(name, "Sh\u{1B}]0;x\u{7}ow")], at: second))
            )
        }
        model.take(
            .advice([
                AdviceReport(
                    code: "c\u{1B}c", severity: AdviceReport.warning, at: TopSamples.now,
                    lastAt: TopSamples.now, app: 1, appName: name, text: "t\u{1B}[5m",
                    remedy: "r\n\nr",
                    entry: 1)
            ]))
        model.take(.refused("no\u{1B}[1;1H", stream: 0))
        for keys: [TopKey] in [[], [.character("a")]] {
            for key in keys { _ = model.press(key) }
            for line in TopSamples.view(80, 24).frame(model, now: TopSamples.now).lines {
                #expect(
                    line.unicodeScalars.allSatisfy {
                        $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0x9B
                    })
            }
        }
    }

    @Test("numbers at their ends are shown, whatever they mean") func extremes() {
        var model = TopModel()
        for (second, count) in [(0, 0), (1, Int.max)] as [(Int64, Int)] {
            model.take(
                .status(
                    TopSamples.status(
                        [TopSamples.app(1, "Radio", level: "FULL", bytes: count, queue: count)],
                        bytesIn: count, bytesOut: count), TopSamples.seconds(second)))
            model.take(
                .stats(
                    TopSamples.stats(
                        [
                            TopSamples.call(
                                "Radio", "Show", requests: count, notifications: count,
                                failed: count)
                        ],
                        at: second)))
        }
        for width in [40, 60, 80, 200] {
            let frame = TopSamples.view(width, 24).frame(model, now: TopSamples.now)
            #expect(frame.lines.allSatisfy { $0.columns <= width })
        }
    }

    @Test("a message is opened as show prints it, with long lines whole") func message() throws {
        var model = TopModel()
        model.take(.message(try TopSamples.message(17, "Show"), stream: 0))
        _ = model.press(.enter)
        let long = String(repeating: "Keep right ", count: 20)
        model.take(
            .opened(
                17,
                try JSONObject(
                    ByteBuffer(
                        string: """
                            {"message":{"n":17,"kind":"request","function":"Show",\
                            "params":{"mainField1":"\(long)"}}}
                            """))))
        let lines = TopSamples.text(model, 60, 24).split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix("─ Message 17 ──") && lines.last == " Esc back")
        #expect(lines.contains("RPC          Show"))
        #expect(lines.joined().contains(long))
    }
}
