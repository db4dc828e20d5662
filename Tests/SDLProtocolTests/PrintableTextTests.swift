import SDLProtocol
import Testing

@Suite struct PrintableTextTests {
    @Test(
        "control characters go, line breaks become spaces, everything else stays",
        arguments: [
            ("plain", "plain"),
            ("a\u{1B}[31mred\u{1B}[0m", "a[31mred[0m"),
            ("two\nlines\tand\rmore", "two lines and more"),
            ("C1 \u{9B}31m", "C1 31m"),
            ("abc\u{202E}fed", "abcfed"),
            ("bell\u{7}del\u{7F}nul\0", "belldelnul"),
            ("日本語 é 😀", "日本語 é 😀"),
        ])
    func strips(text: String, expected: String) {
        #expect(PrintableText.string(text) == expected)
    }

    @Test("long text is cut at a character, never within one")
    func shortens() {
        #expect(PrintableText.string("日本語テキスト", limit: 3) == "日本語…")
        #expect(PrintableText.string("abc", limit: 3) == "abc")
    }

    @Test("a JSON string of ours is valid JSON whatever is in it")
    func quotes() {
        var line: [UInt8] = []
        PrintableText.appendJSONString("a\"b\\c\n\u{1B}é\u{9B}", to: &line)
        #expect(String(decoding: line, as: UTF8.self) == #""a\"b\\c\u000A\u001Bé\u009B""#)
    }
}
