import Foundation
import MessageFilters
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@Suite("Filters, by the table that the dashboard is held to as well")
struct FilterTableTests {
    private static let table = try? FilterTable.read()
    private static let story = FilterTable.story

    private static func filter(_ text: String) throws -> MessageFilter {
        var filter = MessageFilter.everything
        filter.expression = try FilterExpression(text, names: FilterTable.names)
        return filter
    }

    @Test("there is a table, and its messages are those of the story") func isCurrent() throws {
        #expect((Self.table?.cases.count ?? 0) > 40 && (Self.table?.mistakes.count ?? 0) > 10)
        if ProcessInfo.processInfo.environment["RELAYD_REWRITE_EXPECTED"] != nil {
            try Data(FilterTable.lines.utf8).write(to: FilterTable.messagesFile)
        }
        let kept = try String(contentsOf: FilterTable.messagesFile, encoding: .utf8)
        #expect(kept == FilterTable.lines, "RELAYD_REWRITE_EXPECTED=1 writes them anew")
    }

    @Test("a filter shows what the table says", arguments: table?.cases ?? [])
    func shows(row: FilterTable.Case) throws {
        let shown = Self.story.messages(
            after: 0, matching: try Self.filter(row.filter), limit: .max
        ).entries.map(\.number)
        #expect(shown.sorted() == row.shows)
        let newest = Self.story.newest(.max, matching: try Self.filter(row.filter))
        #expect(newest.entries.map(\.number) == shown, "also from the end")
    }

    @Test("a mistake is where the table says", arguments: table?.mistakes ?? [])
    func mistake(row: FilterTable.Mistake) {
        #expect(throws: FilterError(row.start..<row.end, row.message)) {
            _ = try FilterExpression(row.filter, names: FilterTable.names)
        }
    }

    @Test("a request is shown right before the answer it is shown for") func pairs() throws {
        func numbers(_ text: String, limit: Int = .max) throws -> [UInt64] {
            let filter = try Self.filter(text)
            let reading = Self.story.messages(after: 0, matching: filter, limit: limit)
            #expect(reading.isAtEnd == (limit == .max))
            return reading.entries.map(\.number)
        }
        // Missed frames are always reported.
        let failed = try numbers("result:INVALID_DATA")
        #expect(failed.count == 3 && failed[0] < failed[1])
        #expect(try numbers("result:INVALID_DATA", limit: 1) == [failed[1]])
        // Two requests go out before their answers come.
        let vehicle = try numbers("rpc:getvehicledata ms<50").dropLast()
        let show = try numbers("rpc:Show ms<50").dropLast()
        let both = try numbers("(rpc:getvehicledata | rpc:show) ms<50").dropLast()
        #expect(both == show + vehicle && vehicle.count == 2)
        #expect(show.last ?? 0 > vehicle.first ?? .max)
    }

    @Test("the newest few of a filter with pairs are whole pairs, and the cursor leads to them")
    func newest() throws {
        let filter = try Self.filter("rpc:Show ms<50")
        let all = Self.story.messages(after: 0, matching: filter, limit: .max).entries
        // Two exchanges, and the report of missed frames.
        #expect(all.count == 5)
        let three = Self.story.newest(3, matching: filter).entries
        #expect(three.map(\.number) == all.suffix(3).map(\.number))
        #expect(Self.story.newest(4, matching: filter).entries.count == 3)
        let cursor = Self.story.cursor(beforeNewest: 3, matching: filter)
        let again = Self.story.messages(after: cursor, matching: filter, limit: .max).entries
        #expect(again.map(\.number) == three.map(\.number))
    }

    @Test("a request found unanswered is not shown again with a late answer") func late() throws {
        var feed = TrafficFeed()
        feed.request(.show, 2)
        feed.milliseconds += 60_000
        feed.pass()
        feed.response(.show, 2)
        let shown = feed.ring.messages(
            after: 0, matching: try Self.filter("!ok | ms>1"), limit: .max)
        #expect(shown.entries.map(\.number) == [1, 2, 3])
    }
}
