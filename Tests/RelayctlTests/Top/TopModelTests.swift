import ControlAPI
import MessageFilters
import NIOCore
import SDLProtocol
import Testing

@testable import relayctl

@Suite("What top's keys do") struct TopModelTests {
    private static func model(_ count: Int = 5) throws -> TopModel {
        var model = TopModel()
        for number in 1...count {
            model.take(.message(try TopSamples.message(number, "Show"), stream: 0))
        }
        return model
    }

    private static func press(_ keys: TopKey..., on model: inout TopModel) -> [TopModel.Action] {
        keys.flatMap { model.press($0) }
    }

    private static func type(_ text: String, on model: inout TopModel) {
        for letter in text { _ = model.press(.character(letter)) }
    }

    private static func numbers(_ model: TopModel) -> [Int] {
        model.messages.rows.compactMap { row in
            if case .message(let message) = row { message.number } else { nil }
        }
    }

    // MARK: Choosing

    @Test("the list stands still while a message is chosen, counts what comes, and goes on")
    func
        choosing() throws
    {
        var model = try Self.model()
        #expect(model.messages.chosen == 5 && !model.messages.isPaused)
        _ = Self.press(.up, on: &model)
        #expect(model.messages.chosen == 5 && model.messages.isPaused)
        _ = Self.press(.character("k"), .up, on: &model)
        #expect(model.messages.chosen == 3)

        model.take(.message(try TopSamples.message(6, "Alert"), stream: 0))
        #expect(Self.numbers(model) == [1, 2, 3, 4, 5] && model.messages.newer == 1)
        _ = Self.press(.down, on: &model)
        #expect(model.messages.chosen == 4)
        _ = Self.press(.home, on: &model)
        #expect(model.messages.chosen == 1)

        _ = Self.press(.end, on: &model)
        #expect(Self.numbers(model) == [1, 2, 3, 4, 5, 6] && !model.messages.isPaused)
        #expect(model.messages.newer == 0 && model.messages.chosen == 6)
    }

    @Test("below the last message the list goes on; above the first one nothing is") func ends()
        throws
    {
        var model = try Self.model(3)
        _ = Self.press(.down, on: &model)
        #expect(!model.messages.isPaused)
        _ = Self.press(.pageUp, .up, .up, on: &model)
        #expect(model.messages.chosen == 1)
        _ = Self.press(.pageDown, on: &model)
        #expect(model.messages.chosen == 3 && model.messages.isPaused)
        _ = Self.press(.character("j"), on: &model)
        #expect(!model.messages.isPaused)
    }

    @Test("p holds the list, and lets it go on") func pause() throws {
        var model = try Self.model(2)
        _ = Self.press(.character("p"), on: &model)
        model.take(.message(try TopSamples.message(3, "Alert"), stream: 0))
        #expect(Self.numbers(model) == [1, 2] && model.messages.newer == 1)
        _ = Self.press(.character("p"), on: &model)
        #expect(Self.numbers(model) == [1, 2, 3])
    }

    @Test("in a list that is held down chooses the last message, and then goes on")
    func downFromPause()
        throws
    {
        for key: TopKey in [.down, .pageDown, .character("j")] {
            var model = try Self.model(3)
            #expect(Self.press(.character("p"), key, .enter, on: &model) == [.open(3)])
            _ = Self.press(.escape, .down, on: &model)
            #expect(!model.messages.isPaused)
        }
    }

    @Test("repetitions are one row, also while the list is held") func folds() throws {
        var model = TopModel()
        func vehicleData(_ number: Int) throws -> TopModel.News {
            .message(
                try TopSamples.message(
                    number, "OnVehicleData", kind: "notification", second: Int64(number)),
                stream: 0)
        }
        for number in 1...3 { model.take(try vehicleData(number)) }
        #expect(Self.numbers(model) == [3])
        _ = Self.press(.character("p"), on: &model)
        for number in 4...5 { model.take(try vehicleData(number)) }
        #expect(Self.numbers(model) == [3] && model.messages.newer == 2)
        _ = Self.press(.character("p"), on: &model)
        #expect(Self.numbers(model) == [5])
    }

    @Test("only so many rows are kept") func bounds() throws {
        var model = TopModel()
        for number in 1...2500 {
            model.take(.message(try TopSamples.message(number, "Show"), stream: 0))
        }
        #expect(model.messages.rows.count < 2 * TopMessages.maximum)
        #expect(Self.numbers(model).last == 2500)
    }

    // MARK: Opening

    @Test("Enter opens the chosen message, Esc leads back to it") func opening() throws {
        var model = try Self.model()
        #expect(Self.press(.up, .up, .enter, on: &model) == [.open(4)])
        guard case .page(let loading) = model.focus, case .loading(4) = loading.content else {
            Issue.record("not asked for")
            return
        }
        let whole = try JSONObject(ByteBuffer(string: #"{"message":{"n":4}}"#))
        model.take(.opened(3, whole))
        guard case .page(let still) = model.focus, case .loading = still.content else {
            Issue.record("another message was shown")
            return
        }
        model.take(.opened(4, whole))
        guard case .page(let page) = model.focus, case .message(4, _) = page.content else {
            Issue.record("not shown")
            return
        }
        #expect(Self.press(.escape, on: &model).isEmpty)
        guard case .list = model.focus else {
            Issue.record("not left")
            return
        }
        #expect(model.messages.chosen == 4 && model.messages.isPaused)
        model.take(.opened(4, whole))
        guard case .list = model.focus else {
            Issue.record("what came too late was shown")
            return
        }
    }

    @Test("a message that relayd has no more says so; without messages Enter does nothing")
    func
        notKept() throws
    {
        var empty = TopModel()
        #expect(Self.press(.enter, on: &empty).isEmpty)
        var model = try Self.model(1)
        #expect(Self.press(.enter, on: &model) == [.open(1)])
        model.take(.notOpened(1, "relayd keeps no message 1"))
        #expect(TopSamples.text(model, 80, 24).contains("relayd keeps no message 1"))
    }

    @Test("pages are scrolled no farther than they go") func scrolling() throws {
        var model = TopModel()
        _ = Self.press(.character("?"), .end, on: &model)
        let frame = TopSamples.view(80, 12).frame(model, now: TopSamples.now)
        model.clampPage(to: frame.lastOffset)
        let bottom = TopSamples.text(model, 80, 12)
        #expect(bottom.contains("relayd started.") && !bottom.contains("filter the messages"))
        _ = Self.press(.up, on: &model)
        #expect(TopSamples.text(model, 80, 12) != bottom)
        _ = Self.press(.home, on: &model)
        #expect(TopSamples.text(model, 80, 12).contains("filter the messages"))
        _ = Self.press(.character("q"), on: &model)
        #expect(Self.press(.character("q"), on: &model) == [.quit])
    }

    // MARK: Filters

    @Test("a filter is asked of relayd; what comes of the earlier stream is not shown")
    func
        filter() throws
    {
        var model = try Self.model()
        #expect(!model.isNarrowed)
        #expect(model.query.path("/") == "/?filter=priority%3Ainfo&format=summary")
        _ = Self.press(.character("/"), on: &model)
        Self.type("rpc:show ok", on: &model)
        #expect(Self.press(.enter, on: &model) == [.follow])
        #expect(model.isNarrowed && model.filterText == "rpc:show ok")
        #expect(model.query.path("/").contains("rpc%3A") && model.messages.rows.isEmpty)
        #expect(
            TopSamples.text(model, 80, 24).contains("no message has matched the filter yet"))

        model.take(.message(try TopSamples.message(6, "Alert"), stream: 0))
        #expect(model.messages.rows.isEmpty)
        model.take(.message(try TopSamples.message(7, "Show"), stream: 1))
        #expect(Self.numbers(model) == [7])

        #expect(Self.press(.escape, on: &model) == [.follow])
        #expect(!model.isNarrowed && model.filterText.isEmpty)
        #expect(Self.press(.escape, on: &model).isEmpty)
    }

    @Test("f is one more term") func failed() {
        var model = TopModel()
        #expect(Self.press(.character("f"), on: &model) == [.follow])
        #expect(model.query.path("/").contains("priority%3Awarning"))
        #expect(Self.press(.character("f"), on: &model) == [.follow])
        #expect(!model.isNarrowed && model.stream == 2)
    }

    @Test("a mistake is pointed at, and can be corrected") func mistake() throws {
        var model = TopModel()
        _ = Self.press(.character("/"), on: &model)
        Self.type("app:ünï rcp:Show", on: &model)
        #expect(Self.press(.enter, on: &model).isEmpty)
        let lines = TopSamples.text(model, 80, 24).split(separator: "\n").suffix(3)
        #expect(
            Array(lines) == [
                "/app:ünï rcp:Show", "         ^^^", " there is no key 'rcp'; did you mean 'rpc'?",
            ])
        // The cursor is after the mistake.
        _ = Self.press(.backspace, .backspace, on: &model)
        Self.type("pc", on: &model)
        #expect(Self.press(.enter, on: &model) == [.follow])
        #expect(model.filterText == "app:ünï rpc:Show")
    }

    @Test("the line is edited with the usual keys, and left without consequence") func editing() {
        var line = TopFilterLine("app:radio ok")
        for key: TopKey in [.deleteWord, .character("!"), .home, .delete, .right, .backspace] {
            line.press(key)
        }
        #expect(line.text == "p:radio !" && line.cursor == 0)
        line.press(.end)
        line.press(.deleteLine)
        #expect(line.text.isEmpty)

        var model = TopModel()
        _ = Self.press(.character("/"), on: &model)
        Self.type("quit", on: &model)
        #expect(Self.press(.escape, on: &model).isEmpty && !model.isNarrowed)
        #expect(Self.press(.character("q"), on: &model) == [.quit])
    }

    @Test("a filter may be longer than the screen is wide") func longFilter() throws {
        var model = TopModel()
        _ = Self.press(.character("/"), on: &model)
        Self.type(String(repeating: "app:radio ", count: 20) + "rcp:On*", on: &model)
        var frame = TopSamples.view(60, 24).frame(model, now: TopSamples.now)
        #expect(frame.lines[22].hasSuffix("rcp:On*"))
        #expect(try #require(frame.cursor).column < 60)
        _ = Self.press(.enter, on: &model)
        frame = TopSamples.view(60, 24).frame(model, now: TopSamples.now)
        #expect(frame.lines.contains { $0.contains("^^^") })
        #expect(frame.lines.allSatisfy { $0.columns <= 60 })
    }

    // MARK: relayd goes and comes

    @Test("while relayd is gone that is said, with no numbers of before") func gone() throws {
        var model = try TopSamples.busy()
        model.take(.gone("not running", since: TopSamples.now))
        let text = TopSamples.text(model, 80, 24)
        #expect(text.hasPrefix("relayd       not running for 0 s\n"))
        #expect(!text.contains("─ App ─") && !text.contains("putfile"))
        #expect(text.contains("Messages"))
        model.take(.status(Samples.snapshot(), TopSamples.now))
        #expect(TopSamples.text(model, 80, 24).hasPrefix("Head unit    open"))
    }

    @Test("after a restart of relayd messages of before cannot be opened") func restart() throws {
        var model = try Self.model()
        model.take(.restarted(stream: 0))
        #expect(TopSamples.text(model, 80, 24).contains("relayd was restarted"))
        #expect(Self.press(.enter, on: &model).isEmpty)
        _ = Self.press(.up, .up, on: &model)
        #expect(Self.press(.enter, on: &model).isEmpty)
        model.take(.message(try TopSamples.message(1, "Show"), stream: 0))
        _ = Self.press(.end, on: &model)
        #expect(Self.press(.enter, on: &model) == [.open(1)])
    }

    @Test("latencies begin anew with another relayd, also when the stream is another one by then")
    func latenciesAfterRestart() throws {
        var model = TopModel()
        func answer(_ number: Int, _ milliseconds: Double) throws -> TopModel.News {
            .message(
                try TopSamples.message(
                    number, "Show", kind: "response", milliseconds: milliseconds),
                stream: model.stream)
        }
        func status(since second: Int64) -> TopModel.News {
            let start = TopSamples.seconds(second)
            let status = StatusSnapshot(
                relayd: RelaydStatus(pid: 42, startedAt: start, uptimeSeconds: 1),
                accessory: TopSamples.status([]).accessory, link: LinkStatus(state: .idle),
                server: ServerStatus(state: .listening))
            return .status(status, TopSamples.seconds(second + 1))
        }
        model.take(status(since: 0))
        model.take(try answer(5000, 10))
        model.take(.gone("not running", since: TopSamples.seconds(2)))
        _ = Self.press(.character("f"), .character("f"), on: &model)
        model.take(status(since: 3))
        model.take(try answer(1, 3))
        #expect(model.latencies.quantiles(app: "Radio", function: "Show")?.p95 == 3)
    }

    @Test("what was missed, and why there are no messages, is said") func notes() throws {
        var model = try Self.model(1)
        model.take(.missed(17, stream: 0))
        #expect(TopSamples.text(model, 80, 24).contains("17 messages were missed"))
        var other = TopModel()
        other.take(.refused("relayd keeps no messages: limits.ring is 0", stream: 0))
        #expect(TopSamples.text(other, 80, 24).contains("limits.ring is 0"))
    }
}

@Suite("What waits for the screen of top") struct TopInboxTests {
    @Test("a terminal that stands still for hours costs no more memory") func bounds() throws {
        let inbox = TopInbox(wake: {})
        let status = TopSamples.status([])
        let message = try TopSamples.message(1, "Show")
        for second in 0..<20_000 as Range<Int64> {
            inbox.put([.status(status, TopSamples.seconds(second)), .missed(1, stream: 0)])
            if second % 2 == 0 { inbox.put([.message(message, stream: 0)]) }
        }
        inbox.put([.notOpened(7, "gone")])
        let news = inbox.take()
        #expect(news.count < 3 * TopInbox.maximumMessages)
        let last = news.last { if case .status = $0 { true } else { false } }
        guard case .status(_, TopSamples.seconds(19_999)) = last else {
            Issue.record("the latest report is not there")
            return
        }
        #expect(inbox.take().isEmpty)
    }
}

@Suite("The numbers of top") struct TopRatesTests {
    @Test("rates are of the last five seconds, and begin anew with relayd") func rates() {
        var rates = TopRates()
        rates.add(TopSamples.stats([TopSamples.call("Radio", "Show", requests: 100)], at: 0))
        #expect(rates.calls.first?.perSecond == nil && rates.messages(ofApp: "Radio") == nil)
        for second in 1...20 as ClosedRange<Int64> {
            let requests = 100 + Int(second <= 10 ? 0 : 3 * (second - 10))
            rates.add(
                TopSamples.stats(
                    [
                        TopSamples.call("Radio", "Show", requests: requests, failed: 7),
                        TopSamples.call("Radio", "OnHMIStatus", notifications: 2 * requests),
                    ], at: second))
        }
        #expect(rates.calls.map(\.function) == ["OnHMIStatus", "Show"])
        #expect(rates.calls.map(\.perSecond) == [6, 3])
        #expect(rates.calls.map(\.isFailing) == [false, false])
        #expect(rates.messages(ofApp: "Radio") == .init(fromApp: 3, toApp: 9))
        #expect(rates.messages(ofApp: "Nobody") == .init(fromApp: 0, toApp: 0))

        var other = TopSamples.stats([TopSamples.call("Radio", "Show", requests: 1)], at: 21)
        other.since = TopSamples.seconds(20)
        rates.add(other)
        #expect(rates.calls.map(\.perSecond) == [nil])
    }

    @Test("what the clock or a counter does backwards is no rate") func backwards() {
        var rates = TopRates()
        let status = { (bytes: Int) in TopSamples.status([TopSamples.app(1, "A", bytes: bytes)]) }
        rates.add(status(5000), at: TopSamples.seconds(10))
        rates.add(status(1000), at: TopSamples.seconds(12))
        #expect(rates.bytes(ofApp: 1) == 0)
        rates.add(status(9000), at: TopSamples.seconds(3))
        #expect(rates.bytes(ofApp: 1) == nil)
        rates.add(status(.max), at: TopSamples.seconds(4))
        #expect(rates.bytes(ofApp: 1) ?? 0 > 1e15)
        #expect(rates.bytes(ofApp: 2) == nil)
    }

    @Test("an app that came later has a rate of its own") func laterApp() {
        var rates = TopRates()
        rates.add(TopSamples.status([]), at: TopSamples.seconds(0))
        rates.add(
            TopSamples.status([TopSamples.app(1, "A", bytes: 1000)]), at: TopSamples.seconds(2))
        rates.add(
            TopSamples.status([TopSamples.app(1, "A", bytes: 3000)]), at: TopSamples.seconds(4))
        #expect(rates.bytes(ofApp: 1) == 1000)
    }

    @Test("latencies are of the last minute; those that wait for people are not the app's")
    func latencies() throws {
        var latencies = TopLatencies()
        for number in 1...100 {
            latencies.add(
                try TopSamples.message(
                    number, "Show", kind: "response", milliseconds: Double(number),
                    second: Int64(number / 2)))
        }
        latencies.add(
            try TopSamples.message(
                101, "Alert", kind: "response", milliseconds: 3000, second: 50, people: true))
        latencies.add(try TopSamples.message(102, "Show", milliseconds: 9, second: 50))
        #expect(latencies.quantiles(app: "Radio") == .init(p50: 50, p95: 95))
        #expect(latencies.quantiles(app: "Radio", function: "Alert") == .init(p50: 3000, p95: 3000))
        #expect(latencies.quantiles(app: "Maps") == nil)
        latencies.forget(before: TopSamples.seconds(100))
        #expect(latencies.quantiles(app: "Radio") == .init(p50: 90, p95: 99))
        latencies.forget(before: TopSamples.seconds(1000))
        #expect(latencies.quantiles(app: "Radio") == nil)
    }

    @Test("a filter leaves the latencies whole") func besideFilter() throws {
        var model = TopModel()
        _ = model.press(.character("f"))
        let shown = try TopSamples.message(1, "Show", kind: "response", milliseconds: 7)
        model.take(.message(shown, stream: 1))
        #expect(model.latencies.quantiles(app: "Radio") == nil)
        model.take(.answer(shown))
        #expect(model.latencies.quantiles(app: "Radio")?.p50 == 7)
    }
}
