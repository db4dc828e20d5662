import NIOCore
import SDLProtocol
import SimulatedAccessory
import Testing

@Suite struct JSONTests {
    @Test("names with quotes, escapes and other scripts come through both ways")
    func escapes() throws {
        var link = try PaperLink()
        _ = try link.registers("A", appID: "1")
        _ = link.requests(
            .putFile,
            #"{"syncFileName":"a\"b\u00e9\ud83d\ude97 \u4f60\n","fileType":"BINARY"}"#, bulk: [1])
        let names = try #require(link.requests(.listFiles).first?.parameters.array("filenames"))
        #expect(names.elements.compactMap(names.string) == ["a\"bé🚗 你\n"])
    }

    @Test("deep nesting is refused, not followed")
    func depth() throws {
        var link = try PaperLink()
        _ = try link.registers("A", appID: "1")
        let deep = #"{"a":"# + String(repeating: "[", count: 100_000)
        #expect(link.requests(.show, deep).map(\.result) == ["INVALID_DATA"])
    }
}
