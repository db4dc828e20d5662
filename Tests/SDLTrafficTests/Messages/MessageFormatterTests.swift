import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import SDLTraffic

@Suite struct MessageFormatterTests {
    private func lines(_ content: MessageFormatter.Content, colours: Bool = false) -> [String] {
        var feed = TrafficFeed()
        feed.tellStory()
        var formatter = MessageFormatter(
            content, hasColours: colours, timeZone: .fixed(seconds: 0))
        return feed.ring.messages(after: 0, limit: .max).entries.map { entry in
            var buffer = ByteBuffer()
            formatter.append(entry, to: &buffer)
            return String(buffer: buffer)
        }
    }

    @Test("as text a message is its number and its line in the log") func text() {
        #expect(
            lines(.text)[5] == """
                {"n":6,"text":"10:31:08.513  Music             ←  response  \
                PutFile #3                   SUCCESS  51 B  1500 ms slow"}
                """)
    }

    @Test("both forms together are one object") func both() throws {
        let (json, text) = (lines(.json), lines(.text))
        for (index, line) in lines(.both).enumerated() {
            #expect(line.hasPrefix(json[index].dropLast()))
            let object = try JSONObject(ByteBuffer(string: line))
            let alone = try JSONObject(ByteBuffer(string: text[index]))
            #expect(object.string("text") == alone.string("text"))
            #expect(object.integer("n") == alone.integer("n"))
            _ = try JSONSerialization.jsonObject(with: Data(line.utf8))
        }
    }

    @Test("colours travel as JSON escapes, and what peers send is never one") func colours() throws
    {
        let line = lines(.text, colours: true)[3]
        #expect(!line.contains("\u{1B}") && line.contains(#"\u001B[1;31mINVALID_DATA!\u001B[0m"#))
        let text = try JSONObject(ByteBuffer(string: line)).string("text")
        #expect(
            text?.contains("\u{1B}[1;31mINVALID_DATA!\u{1B}[0m  \"alignment [31mis wrong\"") == true
        )
    }

    @Test("a summary is what the line says besides what is a field, the result first")
    func summary() throws {
        let words = try lines(.summary).map {
            try #require(try JSONObject(ByteBuffer(string: $0)).string("summary"))
        }
        #expect(
            words == [
                "\"Music\" appID m-1 RPC 7.0.0", "SUCCESS",
                "\"Hello\"  ⚠ unknown value \"MIDDLE\" of alignment, expected one of "
                    + "LEFT_ALIGNED, RIGHT_ALIGNED, CENTERED",
                "INVALID_DATA  \"alignment [31mis wrong\"",
                "\"icon.png\" GRAPHIC_PNG  bulk 24 B PNG 70×70", "SUCCESS  slow",
                "FULL AUDIBLE MAIN", "session 1", "\"Maps\" appID m-2 RPC 7.0.0",
                "link closed: cable pulled",
            ])
    }

    @Test("with a summary come the fields, but not what makes a message long") func brief() throws {
        let whole = try lines(.both).map { try JSONObject(ByteBuffer(string: $0)) }
        let brief = try lines(.summary).map { try JSONObject(ByteBuffer(string: $0)) }
        func keys(_ object: JSONObject) -> Set<String> {
            Set(object.members.compactMap { object.string($0.key) })
        }
        let left: Set = ["params", "payload", "problems", "text", "message"]
        for (whole, brief) in zip(whole, brief) {
            #expect(keys(whole).subtracting(left) == keys(brief))
            #expect(whole.string("summary") == brief.string("summary"))
        }
        #expect(keys(whole[2]).isSuperset(of: ["params", "problems", "text"]))
    }

    @Test("what is unanswered is named by its fields, not in the summary") func unanswered() throws
    {
        var feed = TrafficFeed()
        feed.request(.show, 7, #"{"mainField1":"Hello"}"#)
        feed.silence(15_000)
        var formatter = MessageFormatter(.summary)
        var buffer = ByteBuffer()
        formatter.append(try #require(feed.entries.last), to: &buffer)
        let object = try JSONObject(buffer)
        #expect(object.string("summary") == "has no answer for 15.0 s")
        #expect(object.string("function") == "Show" && object.integer("correlation_id") == 7)
    }
}
