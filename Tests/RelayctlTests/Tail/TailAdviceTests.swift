import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayctl

@Suite struct TailAdviceTests {
    private func advice(_ members: String = "") throws -> TailAdvice {
        let json = """
            {"kind":"advice","time":"2026-11-21T10:31:07.042Z","priority":"warning","level":"warning",\
            "message":"Radio: PutFile #12 carries no bulk data; the file would be empty",\
            "code":"putfile_length","remedy":"send the file's bytes as bulk data of the request",\
            "app":"#3","app_name":"Radio","count":61,"entry":17\(members)}
            """
        return try #require(TailAdvice(JSONObject(ByteBuffer(string: json))))
    }

    private func lines(_ width: Int?) throws -> [String] {
        try advice().lines(TailLayout(width: width), style: .plain, localTime: .utc)
    }

    @Test("in a pipe it is one line; on a terminal nothing of it is cut off") func columns() throws
    {
        #expect(
            try lines(nil) == [
                "      10:31:07.042 Radio            ! PutFile #12 carries no bulk data; the file would "
                    + "be empty → send the file's bytes as bulk data of the request  "
                    + "(putfile_length, ×61)"
            ])
        #expect(
            try lines(80) == [
                "      10:31:07 Radio        ! PutFile #12 carries no bulk data; the file would",
                "                              be empty → send the file's bytes as bulk data of",
                "                              the request (putfile_length, ×61)",
            ])
        #expect(
            try lines(60) == [
                "     10:31:07 Radio    ! PutFile #12 carries no bulk data;",
                "      the file would be empty → send the file's bytes as",
                "      bulk data of the request (putfile_length, ×61)",
            ])
    }

    @Test("no line is wider than the terminal", arguments: Array(24...140))
    func fits(width: Int) throws {
        for line in try lines(width) { #expect(line.columns <= width, "\(line)") }
    }

    @Test("other notes are none") func others() throws {
        for note in [#"{"instance":"7e11"}"#, #"{"next":17}"#, #"{"kind":"advice"}"#] {
            #expect(TailAdvice(try JSONObject(ByteBuffer(string: note))) == nil)
        }
    }

    // MARK: Between messages

    private func text(
        _ text: TailText, _ add: (inout TailText) throws -> Void
    ) rethrows -> [String] {
        var text = text
        try add(&text)
        text.finish()
        return text.takePage().split(separator: "\n").map(String.init)
    }

    @Test("a line that goes on ends with advice, and another begins behind it") func folding()
        throws
    {
        var feed = TrafficFeed()
        for speed in 0..<4 {
            feed.rpc(.fromAccessory, .notification, .onVehicleData, 0, #"{"speed":\#(speed)}"#)
        }
        let json = try TailSamples.json(feed.entries)
        var tail = TailText(style: .plain, localTime: .utc, isFolding: true)
        tail.fit(columns: 200)
        let lines = try text(tail) { tail in
            for message in json.prefix(2) { tail.add(message) }
            tail.add(try advice())
            for message in json.suffix(2) { tail.add(message) }
        }
        #expect(lines.count == 3)
        #expect(lines.first?.contains("OnVehicleData ×2") == true)
        #expect(lines.dropFirst().first?.contains("! PutFile") == true)
        #expect(lines.last?.contains("OnVehicleData ×2") == true)
    }

    @Test("with pairs it waits for the line of its request") func pairs() throws {
        var feed = TrafficFeed()
        feed.request(.putFile, 12, #"{"syncFileName":"a.png"}"#)
        feed.request(.show, 13)
        feed.response(.putFile, 12, #"{"success":true,"resultCode":"SUCCESS"}"#)
        let json = try TailSamples.json(feed.entries)
        let note = try #require(
            TailAdvice(
                JSONObject(
                    ByteBuffer(
                        string:
                            #"{"kind":"advice","message":"no data","code":"c","remedy":"r","entry":1}"#
                    ))))
        let lines = text(TailText(style: .plain, localTime: .utc, isPairing: true)) { tail in
            tail.add(json[0])
            tail.add(note)
            #expect(tail.takePage().isEmpty)
            for message in json.dropFirst() { tail.add(message) }
        }
        #expect(lines.count == 3)
        #expect(lines.first?.contains("PutFile") == true)
        #expect(lines.dropFirst().first?.contains("! no data") == true)
        #expect(lines.last?.contains("Show") == true)
    }
}
