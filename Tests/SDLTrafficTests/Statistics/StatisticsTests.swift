import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import SDLTraffic

@Suite struct StatisticsTests {
    @Test("frames, RPCs, results and latencies are counted") func story() throws {
        var feed = TrafficFeed()
        feed.tellStory()
        let counter = TrafficStatistics()
        counter.consume(feed.entries)
        let statistics = counter.current

        let show = try #require(statistics.functions["Show"])
        #expect(show.usage.requests == 1 && show.usage.responses == 1 && show.usage.failed == 1)
        #expect(show.results == ["INVALID_DATA": 1])
        #expect(show.usage.latency.count == 1 && show.usage.latency.maximum == 5_000_000)
        #expect(statistics.functions["RegisterAppInterface"]?.usage.requests == 2)
        #expect(statistics.functions["OnHMIStatus"]?.usage.notifications == 1)

        let machine = TrafficStatistics.Counts.LatencyKind(
            requester: .fromApp, waitsForPeople: false)
        #expect(Array(statistics.latency.keys) == [machine])
        let counts = try #require(statistics.latency[machine]?.counts)
        // 5 ms, 8 ms and 1.5 s, of bounds 1, 2, 5, 10, … 2000 ms.
        #expect(counts == [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])

        let bulk = TrafficStatistics.Counts.Lane(app: "Music", service: .bulk, direction: .fromApp)
        #expect(statistics.lanes[bulk]?.frames == 1)
    }

    @Test("a request that waits for a person is counted apart") func people() {
        var feed = TrafficFeed()
        feed.request(.alert, 1, #"{"alertText1":"Hi"}"#)
        feed.milliseconds += 20_000
        feed.response(.alert, 1)
        let counter = TrafficStatistics()
        counter.consume(feed.entries)
        let person = TrafficStatistics.Counts.LatencyKind(requester: .fromApp, waitsForPeople: true)
        #expect(counter.current.latency[person]?.counts.last == 1)
    }

    @Test("the function decides who answers, also where its request could not be read")
    func unreadable() {
        var feed = TrafficFeed()
        feed.request(.show, 1, #"{"mainField1":"#)
        feed.milliseconds += 5
        feed.response(.show, 1)
        feed.request(.alert, 2, #"{"duration":0}"#)
        feed.milliseconds += 700
        feed.response(.alert, 2)
        let counter = TrafficStatistics()
        counter.consume(feed.entries)
        func slowest(waitsForPeople: Bool) -> Int64? {
            let kind = TrafficStatistics.Counts.LatencyKind(
                requester: .fromApp, waitsForPeople: waitsForPeople)
            return counter.current.latency[kind]?.maximum
        }
        #expect(slowest(waitsForPeople: false) == 5_000_000)
        #expect(slowest(waitsForPeople: true) == 700_000_000)
    }

    @Test("names, functions and result codes are bounded, whatever peers say") func bounded() {
        var feed = TrafficFeed()
        for number in 0..<200 {
            feed.session = UInt8(number + 1)
            feed.app = AppID(rawValue: UInt64(number + 1))
            feed.request(
                .registerAppInterface, 1, #"{"appName":"App \#(number)","appID":"\#(number)"}"#)
            let letters = String(repeating: "A", count: number % 100 + 1)
            feed.response(
                .registerAppInterface, 1, #"{"success":false,"resultCode":"\#(letters)"}"#)
            feed.request(FunctionID(rawValue: UInt32(900_000 + number)), 2)
        }
        let counter = TrafficStatistics()
        counter.consume(feed.entries)
        let statistics = counter.current
        let names = Set(statistics.lanes.keys.map(\.app))
        #expect(names.count == TrafficStatistics.Counts.maximumNames + 1 && names.contains("other"))
        // Words of up to 40 letters are kept.
        let results = statistics.functions["RegisterAppInterface"]?.results ?? [:]
        #expect(results.keys.count == 41 && results["other"] == 120)
        #expect(Set(statistics.functions.keys) == ["RegisterAppInterface", "other"])
        #expect(statistics.functions["other"]?.usage.requests == 200)
    }

    @Test("each app's use of an RPC is counted apart, and with the others'") func byApp() throws {
        var feed = TrafficFeed()
        func use(_ app: UInt64, _ name: String, answeredAfter milliseconds: Int64) {
            (feed.app, feed.session) = (AppID(rawValue: app), UInt8(app))
            feed.request(.registerAppInterface, 1, #"{"appName":"\#(name)","appID":"\#(app)"}"#)
            feed.response(.registerAppInterface, 1)
            feed.request(.show, 2)
            feed.milliseconds += milliseconds
            feed.response(.show, 2)
        }
        use(1, "Music", answeredAfter: 4)
        use(2, "Maps", answeredAfter: 40)
        // Another connection of the app with the same name.
        use(3, "Music", answeredAfter: 8)
        let counter = TrafficStatistics()
        counter.consume(feed.entries)
        let show = try #require(counter.current.functions["Show"])
        #expect(show.usage.latency.count == 3 && show.usage.latency.maximum == 40_000_000)
        #expect(show.apps.keys.sorted() == ["Maps", "Music"])
        #expect(show.apps["Maps"]?.latency.quantile(percent: 50) == 40_000_000)
        #expect(show.apps["Music"]?.latency.count == 2)
        #expect(show.apps["Music"]?.latency.maximum == 8_000_000)
        #expect(!show.waitsForPeople)
    }

    @Test("memory is bounded, whatever apps are called and how long they wait") func memory() throws
    {
        let counter = TrafficStatistics()
        var feed = TrafficFeed()
        let functions = FunctionID.all.map(\.id).filter { $0 != .registerAppInterface }
        for app in 1...UInt64(TrafficStatistics.Counts.maximumNames + 8) {
            (feed.app, feed.session) = (AppID(rawValue: app), UInt8(app))
            feed.request(.registerAppInterface, 1, #"{"appName":"App \#(app)","appID":"\#(app)"}"#)
            feed.response(.registerAppInterface, 1)
            for (number, function) in functions.enumerated() {
                feed.request(function, Int32(number + 2))
                feed.response(function, Int32(number + 2))
            }
        }
        counter.consume(feed.entries)
        let counted = counter.current.functions
        let pairs = counted.flatMap { function in function.value.apps.map { (function.key, $0.key) }
        }
        let apart = pairs.count { $0.1 != "other" }
        #expect(apart <= TrafficStatistics.Counts.maximumPairs)
        #expect(apart > TrafficStatistics.Counts.maximumPairs - functions.count)
        #expect(pairs.count - apart <= counted.count)
        // Counting apps together loses nothing.
        let requests = counted.values.map(\.usage.requests).reduce(0, +)
        let byApp = counted.values.flatMap(\.apps.values).map(\.requests).reduce(0, +)
        let fed = feed.entries.count {
            if case .rpc(let rpc) = $0.content { rpc.message.type == .request } else { false }
        }
        #expect(requests == byApp && requests == UInt64(fed))
    }
}
