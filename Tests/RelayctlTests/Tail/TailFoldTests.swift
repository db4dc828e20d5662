import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayctl

@Suite struct TailFoldTests {
    /// A reader with a terminal of 80 columns that receives messages one at a time.
    private struct Reader {
        var text = TailText(style: .plain, localTime: .utc, isFolding: true)

        init(columns: Int? = 80) {
            text.fit(columns: columns)
        }

        /// The text written when these entries arrive together.
        mutating func take(_ entries: [TrafficEntry]) throws -> String {
            for json in try TailSamples.json(entries) { text.add(json) }
            return text.takePage()
        }
    }

    private static func data(_ count: Int, every milliseconds: Int64 = 1000) -> [TrafficEntry] {
        var feed = TrafficFeed()
        for number in 1...count {
            feed.notification(.onVehicleData, #"{"rpm":\#(800 + number)}"#)
            feed.milliseconds += milliseconds
        }
        return feed.entries
    }

    private static let removal = "\u{1B}[A\u{1B}[2K"

    @Test("a notification that comes again takes the place of the line before") func folds() throws
    {
        var reader = Reader()
        let data = Self.data(3)
        #expect(
            try reader.take([data[0]])
                == "    1 10:31:07 app 1        ← OnVehicleData     rpm=801                23\n")
        #expect(
            try reader.take([data[1]]) == Self.removal
                + "    2 10:31:08 app 1        ← OnVehicleData ×2 (1/s)  rpm=802          46\n")
        #expect(
            try reader.take([data[2]]) == Self.removal
                + "    3 10:31:09 app 1        ← OnVehicleData ×3 (1/s)  rpm=803          69\n")
    }

    @Test("what came together is written as it looks in the end") func together() throws {
        var reader = Reader()
        let data = Self.data(30)
        let page = try reader.take(Array(data.prefix(10)))
        #expect(page.contains("×10 (1/s)  rpm=810") && page.split(separator: "\n").count == 1)
        #expect(!page.contains(Self.removal))
        let next = try reader.take(Array(data.dropFirst(10)))
        #expect(next.hasPrefix(Self.removal) && next.contains("×30 (1/s)  rpm=830"))
        #expect(next.split(separator: "\n").count == 1)
    }

    @Test(
        "the rate is that of the whole run",
        arguments: [
            (Int64(1000), "×5 (1/s)"), (25, "×5 (40/s)"), (400, "×5 (2.5/s)"),
            (5000, "×5 (12/min)"),
            (59_000, "×5 (1/min)"), (0, "×5"),
        ])
    func rates(milliseconds: Int64, text: String) throws {
        var reader = Reader()
        #expect(
            try reader.take(Self.data(5, every: milliseconds)).contains("OnVehicleData \(text)  "))
    }

    @Test("anything in between begins a new line") func ends() throws {
        var feed = TrafficFeed()
        for _ in 1...2 { feed.notification(.onVehicleData) }
        feed.request(.show, 1)
        for _ in 1...2 { feed.notification(.onVehicleData) }
        feed.notification(.onHashChange)
        feed.app = AppID(rawValue: 2)
        feed.notification(.onHashChange)
        var reader = Reader()
        #expect(try reader.take(feed.entries).split(separator: "\n").count == 5)
        #expect(try reader.take([feed.entries[0]]).hasPrefix(Self.removal) == false)
        reader.text.endFold()
        #expect(try reader.take([feed.entries[1]]).hasPrefix(Self.removal) == false)
        #expect(try reader.take([feed.entries[1]]).hasPrefix(Self.removal))
        reader.text.fit(columns: 90)
        #expect(try reader.take([feed.entries[1]]).hasPrefix(Self.removal) == false)
    }

    @Test("a minute later it is news") func pause() throws {
        var reader = Reader()
        #expect(
            try reader.take(Self.data(2, every: 61_000)).split(separator: "\n").count == 2)
    }

    @Test(
        "what tells a state, what somebody did or a mistake is never folded",
        arguments: [
            (FunctionID.onHMIStatus, #"{"hmiLevel":"FULL"}"#), (.onButtonPress, "{}"),
            (.onCommand, "{}"), (.onAppInterfaceUnregistered, "{}"),
            (.onVehicleData, #"{"speed":"fast"}"#),
        ])
    func single(function: FunctionID, json: String) throws {
        var feed = TrafficFeed()
        for _ in 1...3 { feed.notification(function, json) }
        var reader = Reader()
        #expect(try reader.take(feed.entries).split(separator: "\n").count == 3)
    }

    @Test("requests and answers are never folded, nor anything where nobody looks") func others()
        throws
    {
        var feed = TrafficFeed()
        for _ in 1...3 { feed.request(.show, 1) }
        var reader = Reader()
        #expect(try reader.take(feed.entries).split(separator: "\n").count == 3)
        var pipe = Reader(columns: nil)
        #expect(try pipe.take(Self.data(3)).split(separator: "\n").count == 3)
        var narrow = Reader(columns: 39)
        #expect(try narrow.take(Self.data(3)).split(separator: "\n").count == 3)
    }

    @Test("a stream is one line for as long as it flows") func streams() throws {
        func second(_ number: Int, final: Bool = false) -> String {
            """
            {"n":\(number),"time":"2026-11-21T10:31:\(10 + number).000Z","kind":"stream",\
            "priority":"info","app":"#1","from":"app","service":"video","bytes":1024,\
            "summary":"30 frames 1.7 Mbit/s"}
            """
        }
        var reader = Reader()
        for number in 1...12 {
            reader.text.add(try JSONObject(ByteBuffer(string: second(number))))
        }
        let page = reader.text.takePage()
        #expect(page.split(separator: "\n").count == 1)
        #expect(
            page.contains("→ video for 11 s    30 frames 1.7 Mbi…")
                && page.hasSuffix("  12.0K\n"))
        #expect(page.contains(" 12K") || page.contains("12.0K"))
        reader.text.add(try JSONObject(ByteBuffer(string: second(20))))
        #expect(!reader.text.takePage().hasPrefix(Self.removal), "it had stopped")
    }
}
