import ControlAPI
import MessageFilters
import SDLProtocol

/// The state of `relayctl top`: takes news and keys, returns actions. It does not depend on terminals;
/// `TopView` draws it, and `TopSession` carries out the actions.
struct TopModel: Sendable {
    /// Something for the session to do.
    enum Action: Equatable, Sendable {
        case quit
        /// Draw everything again: something else has written on the terminal.
        case redraw
        /// Read other messages: those of `query`.
        case follow
        case open(Int)
    }

    /// The receiver of the keys.
    enum Focus: Sendable {
        case list
        case filter(TopFilterLine)
        case page(TopPage)
    }

    private(set) var focus = Focus.list
    /// nil while relayd is gone.
    private(set) var status: StatusSnapshot?
    /// Why relayd is gone, and since when.
    private(set) var gone: (words: String, since: Timestamp)?
    /// Start time of the relayd that was asked last, also while it is gone.
    private var startedAt: Timestamp?
    private(set) var advice: [AdviceReport] = []
    private(set) var rates = TopRates()
    private(set) var latencies = TopLatencies()
    private(set) var messages = TopMessages()
    /// Why there are no messages.
    private(set) var refusal: String?
    /// As it was typed; empty for all messages.
    private(set) var filterText = ""
    private(set) var isFailedOnly = false
    private var filter = FilterExpression.everything
    /// Number of the stream being read; anything still coming from an earlier one is ignored.
    private(set) var stream = 0
    /// Rows that PgUp and PgDn move by.
    var pageRows = 10

    init(filter text: String = "", filter: FilterExpression = .everything) {
        filterText = text
        self.filter = filter
    }

    // MARK: News

    /// News from relayd.
    enum News: Sendable {
        case status(StatusSnapshot, Timestamp)
        case stats(StatsReport)
        case advice([AdviceReport])
        /// relayd cannot be asked: the reason, and since when.
        case gone(String, since: Timestamp)
        case message(TailMessage, stream: Int)
        case missed(Int, stream: Int)
        case restarted(stream: Int)
        /// relayd refuses to show messages: the reason.
        case refused(String, stream: Int)
        /// An answer that the filter hides.
        case answer(TailMessage)
        /// A message with its request or response, or why it is missing.
        case opened(Int, JSONObject)
        case notOpened(Int, String)
    }

    mutating func take(_ news: News) {
        switch news {
        case .status(let status, let time):
            if let start = startedAt, start != status.relayd.startedAt {
                (rates, latencies) = (TopRates(), TopLatencies())
            }
            startedAt = status.relayd.startedAt
            self.status = status
            gone = nil
            rates.add(status, at: time)
        case .stats(let stats):
            rates.add(stats)
            latencies.forget(before: stats.at)
        case .advice(let advice): self.advice = advice
        case .gone(let words, let time): markGone(words, since: time)
        case .message(let message, let stream) where stream == self.stream:
            messages.add(message)
            if !isNarrowed { latencies.add(message) }
        case .missed(let count, let stream) where stream == self.stream: messages.missed(count)
        case .restarted(let stream) where stream == self.stream:
            messages.startAnew("relayd was restarted; its messages count from 1 again")
            latencies = TopLatencies()
        case .refused(let words, let stream) where stream == self.stream: refusal = words
        case .answer(let message) where isNarrowed: latencies.add(message)
        case .opened(let number, let whole): show(.message(number, whole), of: number)
        case .notOpened(let number, let words): show(.words(number, words), of: number)
        case .message, .missed, .restarted, .refused, .answer: break
        }
    }

    private mutating func markGone(_ words: String, since time: Timestamp) {
        gone = (words, time)
        status = nil
        advice = []
        rates = TopRates()
    }

    /// Shows the content, unless the user has moved on to something else.
    private mutating func show(_ content: TopPage.Content, of number: Int) {
        guard case .page(let page) = focus, case .loading(number) = page.content else { return }
        focus = .page(TopPage(content))
    }

    // MARK: Which messages

    /// Whether some messages are filtered out; answers are then read separately, for the latencies.
    var isNarrowed: Bool { isFailedOnly || !filter.isEverything }

    /// The query sent to relayd.
    var query: MessageQuery {
        let level = FilterExpression(
            .term(.priority(isFailedOnly ? .warning : .info, isExact: false)))
        var query = MessageQuery()
        query.add(.filter, filter.and(level).description)
        query.add(.format, "summary")
        return query
    }

    private mutating func follow() -> [Action] {
        stream += 1
        refusal = nil
        messages = TopMessages()
        return [.follow]
    }

    // MARK: Keys

    mutating func press(_ key: TopKey) -> [Action] {
        switch focus {
        case .list: return pressInList(key)
        case .filter(let line): return press(key, in: line)
        case .page(let page): return press(key, in: page)
        }
    }

    private mutating func pressInList(_ key: TopKey) -> [Action] {
        switch key {
        case .character("q"): return [.quit]
        case .redraw: return [.redraw]
        case .character("/"): focus = .filter(TopFilterLine(filterText))
        case .character("f"):
            isFailedOnly.toggle()
            return follow()
        case .character("p"), .character(" "): messages.togglePause()
        case .up, .character("k"): messages.select(by: -1)
        case .down, .character("j"): messages.select(by: 1)
        case .pageUp: messages.select(by: -pageRows)
        case .pageDown: messages.select(by: pageRows)
        case .home, .character("g"): messages.select(by: -.max)
        case .end, .character("G"): messages.goOn()
        case .enter: return open()
        case .character("a"): focus = .page(TopPage(.advice))
        case .character("?"), .character("h"): focus = .page(TopPage(.help))
        case .escape: return escape()
        default: break
        }
        return []
    }

    /// Goes one step back: first from a chosen message, then from a filter.
    private mutating func escape() -> [Action] {
        if messages.isPaused {
            messages.goOn()
            return []
        }
        guard isNarrowed else { return [] }
        (filterText, filter, isFailedOnly) = ("", .everything, false)
        return follow()
    }

    private mutating func open() -> [Action] {
        guard let number = messages.chosen else { return [] }
        focus = .page(TopPage(.loading(number)))
        return [.open(number)]
    }

    private mutating func press(_ key: TopKey, in line: TopFilterLine) -> [Action] {
        var line = line
        switch key {
        case .escape:
            focus = .list
            return []
        case .redraw: return [.redraw]
        case .enter:
            do throws(FilterError) {
                filter = try FilterArgument.filter(typed: line.text)
            } catch {
                line.show(error)
                focus = .filter(line)
                return []
            }
            filterText = filter.isEverything ? "" : line.text
            focus = .list
            return follow()
        default:
            line.press(key)
            focus = .filter(line)
            return []
        }
    }

    private mutating func press(_ key: TopKey, in page: TopPage) -> [Action] {
        var page = page
        switch key {
        case .redraw: return [.redraw]
        case .escape, .enter, .left, .backspace, .character("q"):
            focus = .list
            return []
        case .up, .character("k"): page.scroll(by: -1)
        case .down, .character("j"): page.scroll(by: 1)
        case .pageUp: page.scroll(by: -pageRows)
        case .pageDown, .character(" "): page.scroll(by: pageRows)
        case .home, .character("g"): page.scroll(by: -.max)
        case .end, .character("G"): page.scroll(by: .max)
        default: break
        }
        focus = .page(page)
        return []
    }

    /// Keeps the page from being scrolled beyond its end.
    mutating func clampPage(to last: Int) {
        guard case .page(var page) = focus else { return }
        page.clamp(to: last)
        focus = .page(page)
    }
}

/// A key of the terminal.
enum TopKey: Equatable, Sendable {
    case character(Character)
    case enter, escape, up, down, left, right, pageUp, pageDown, home, end
    case backspace, delete
    /// ^U deletes everything before the cursor, ^W the word before it.
    case deleteLine, deleteWord
    /// ^L.
    case redraw
}

/// A page that fills the screen in place of the list.
struct TopPage: Sendable {
    enum Content: Sendable {
        case help
        case advice
        /// The message has been requested.
        case loading(Int)
        case message(Int, JSONObject)
        /// Why the message is missing.
        case words(Int, String)
    }

    let content: Content
    /// Lines scrolled off the top.
    private(set) var offset = 0

    init(_ content: Content) {
        self.content = content
    }

    mutating func scroll(by lines: Int) {
        let (sum, overflow) = offset.addingReportingOverflow(lines)
        offset = overflow ? .max : max(0, sum)
    }

    mutating func clamp(to last: Int) {
        offset = min(offset, max(0, last))
    }
}

/// The filter while it is being typed.
struct TopFilterLine: Sendable {
    private(set) var letters: [Character]
    /// Letters before the cursor.
    private(set) var cursor: Int
    /// The error, and its range in letters.
    private(set) var problem: (words: String, range: Range<Int>)?

    /// Maximum number of letters.
    private static let maximumLength = 1000

    init(_ text: String) {
        letters = Array(text)
        cursor = letters.count
    }

    var text: String { String(letters) }

    mutating func press(_ key: TopKey) {
        problem = nil
        switch key {
        case .character(let letter) where letters.count < Self.maximumLength:
            letters.insert(letter, at: cursor)
            cursor += 1
        case .backspace where cursor > 0:
            cursor -= 1
            letters.remove(at: cursor)
        case .delete where cursor < letters.count: letters.remove(at: cursor)
        case .left: cursor = max(0, cursor - 1)
        case .right: cursor = min(letters.count, cursor + 1)
        case .home: cursor = 0
        case .end: cursor = letters.count
        case .deleteLine:
            letters.removeSubrange(..<cursor)
            cursor = 0
        case .deleteWord:
            var start = cursor
            while start > 0, letters[start - 1] == " " { start -= 1 }
            while start > 0, letters[start - 1] != " " { start -= 1 }
            letters.removeSubrange(start..<cursor)
            cursor = start
        default: break
        }
    }

    /// Puts the cursor after the mistake.
    mutating func show(_ error: FilterError) {
        // The error counts Unicode scalars.
        var ends: [Int] = []
        var count = 0
        for letter in letters {
            count += letter.unicodeScalars.count
            ends.append(count)
        }
        func letter(_ scalar: Int) -> Int { ends.firstIndex { $0 > scalar } ?? letters.count }
        let start = letter(error.range.lowerBound)
        let last = letter(max(error.range.lowerBound, error.range.upperBound - 1))
        let end = max(start, min(letters.count, last + 1))
        problem = (error.message, start..<end)
        cursor = end
    }
}
