import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayctl

@Suite struct TailPairsTests {
    /// The lines shown on 110 columns, and those shown at the end.
    private func lines(
        _ feed: TrafficFeed, width: Int = 110
    ) throws -> (shown: [String], rest: [String]) {
        var pairs = TailPairs()
        let row = TailSamples.row(width)
        let shown = try TailSamples.messages(feed.entries).flatMap { pairs.add($0) }
        return (shown.map(row.line), pairs.rest().map(row.line))
    }

    @Test("a request and its answer are one line, when the answer comes") func pairs() throws {
        var feed = TrafficFeed()
        feed.request(.show, 1, #"{"mainField1":"Hello"}"#)
        feed.notification(.onDriverDistraction, #"{"state":"DD_OFF"}"#)
        feed.milliseconds += 5
        feed.response(.show, 1)
        feed.request(.getVehicleData, 2, #"{"speed":true}"#)
        feed.response(
            .getVehicleData, 2, #"{"success":true,"resultCode":"SUCCESS","speed":52.5}"#)
        feed.request(.alert, 3, #"{"alertText1":"Mind the gap"}"#)
        feed.response(
            .alert, 3, #"{"success":false,"resultCode":"REJECTED","info":"another one is shown"}"#)
        #expect(
            try lines(feed).shown.map { String($0.dropFirst(34)) } == [
                "  ← OnDriverDistraction     DD_OFF                             30 B",
                "  ✓ Show                    \"Hello\" → SUCCESS                  85 B   5.0 ms",
                "  ✓ GetVehicleData          speed → SUCCESS  speed=52.5        90 B   0.0 ms",
                "  ✗ Alert                   \"Mind th… → REJECTED  \"anot…      124 B   0.0 ms",
            ])
        #expect(try lines(feed, width: 80).shown[1].contains("✓ Show              \"Hello\"  "))
    }

    @Test("an unanswered request is shown when relayd says so, and once more when it is answered")
    func unanswered() throws {
        var feed = TrafficFeed()
        feed.request(.show, 1, #"{"mainField1":"Hello"}"#)
        feed.silence(15_000)
        feed.response(.show, 1)
        let shown = try lines(feed).shown
        #expect(shown.count == 2)
        #expect(shown[0].contains("· Show                    \"Hello\" → has no answer for 15.0 s"))
        #expect(shown[1].contains("✓ Show                    \"Hello\""))
        #expect(shown[1].hasSuffix("15.0 s"))
        #expect(try lines(feed).rest.isEmpty)
    }

    @Test("what an app leaves behind is shown when it leaves") func leaves() throws {
        var feed = TrafficFeed()
        feed.request(.show, 1, #"{"mainField1":"Hello"}"#)
        feed.app = AppID(rawValue: 2)
        feed.session = 2
        feed.request(.show, 1, #"{"mainField1":"Other"}"#)
        feed.receive(.appClosed(AppID(rawValue: 1), reason: "it left", time: feed.time))
        let (shown, rest) = try lines(feed)
        try #require(shown.count == 2 && rest.count == 1)
        #expect(shown[0].hasSuffix("→ no answer") || shown[0].contains("→ no answer  "))
        #expect(shown[0].contains("→ Show                    \"Hello\""))
        #expect(shown[1].hasSuffix("· app closed: it left"))
        #expect(
            rest[0].contains(
                "app 2            → Show                    \"Other\" → no answer yet"))
    }

    @Test("nothing answers a request any more when the link closes, or its ID is taken") func ends()
        throws
    {
        var feed = TrafficFeed()
        feed.request(.show, 1, #"{"mainField1":"first"}"#)
        feed.request(.show, 1, #"{"mainField1":"second"}"#)
        feed.receive(.linkClosed(reason: "cable pulled", time: feed.time))
        let (shown, rest) = try lines(feed)
        #expect(shown.count == 3 && rest.isEmpty)
        #expect(shown[0].contains("\"first\"") && shown[1].contains("\"second\""))
        #expect(shown[2].hasSuffix("· link closed: cable pulled"))
    }

    @Test("an answer whose request was not seen stands alone") func alone() throws {
        var feed = TrafficFeed()
        feed.request(.show, 1)
        feed.response(.show, 1)
        var pairs = TailPairs()
        let answer = try #require(TailSamples.messages(feed.entries).last)
        #expect(pairs.add(answer).map(\.asked) == [nil])
    }

    @Test("an app that is never answered does not fill the memory") func bounded() throws {
        var pairs = TailPairs()
        var request = try TailSamples.message(##""kind":"request","app":"#1","function":"Show""##)
        var shown = 0
        for number in 1...(5 * TailPairs.maximum) {
            request.number = number
            shown += pairs.add(request).count
        }
        #expect(shown == 4 * TailPairs.maximum)
        #expect(pairs.rest().map(\.number).first == 4 * TailPairs.maximum + 1)
    }
}
