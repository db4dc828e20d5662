import Testing

@testable import DidYouMean

@Suite("Spelling")
struct SpellingTests {
    @Test("one slip is recognised, another word is not")
    func spelling() {
        #expect(Spelling.distance("kitten", "sitting") == 3)
        #expect(Spelling.distance("sokcet", "socket") == 1)
        #expect(Spelling.distance("", "abc") == 3)
        #expect(Spelling.nearest("sokcet", in: ["mode", "socket"]) == "socket")
        #expect(Spelling.nearest("holdTimeout", in: ["hold_timeout"]) == "hold_timeout")
        #expect(Spelling.nearest("banana", in: ["mode", "socket"]) == nil)
        #expect(Spelling.nearest("", in: ["mode"]) == nil)
        #expect(Spelling.nearest("x", in: ["n", "y"]) == nil)
        #expect(Spelling.nearest("m", in: ["ms", "n"]) == "ms")
    }

    @Test("absurdly long words are not compared")
    func longWords() {
        let long = String(repeating: "a", count: 100_000)
        #expect(Spelling.nearest(long, in: ["status"]) == nil)
        #expect(Spelling.nearest("status", in: [long]) == nil)
    }
}
