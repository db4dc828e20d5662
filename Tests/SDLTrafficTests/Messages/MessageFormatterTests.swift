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
}
