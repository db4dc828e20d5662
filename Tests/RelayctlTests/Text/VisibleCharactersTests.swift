import RelayTesting
import SDLProtocol
import Testing

@testable import relayctl
@testable import relayd

// The log, the tool and the control API hide the same characters in text from peers.

@Suite("Visible characters")
struct VisibleCharactersTests {
    /// Every character of Unicode; only some of planes 4 to 13, where nothing is assigned.
    private static let all = (0...0x10FFFF as ClosedRange<UInt32>)
        .filter { !(0x40000..<0xE0000).contains($0) || Effort.isFull || $0.isMultiple(of: 61) }
        .compactMap(Unicode.Scalar.init)

    @Test("what one of them hides, all hide; what one shows, all show")
    func agreement() async {
        await onOwnThread {
            var hidden = 0
            var disagreements: [String] = []
            for scalar in Self.all where scalar != "\u{1B}" {
                let isInvisible = VisibleScalars.isInvisible(scalar)
                if isInvisible { hidden += 1 }
                let text = "a\(String(scalar))b"
                let shown = [
                    PrintableText.string(text), SafeText.clean(text), SafeText.line(text),
                    LogText.oneLine(text),
                ].map { $0.unicodeScalars.contains(scalar) }
                // A variation selector belongs to an emoji, and "a" is not an emoji.
                let isVariation = (0xFE0E...0xFE0F).contains(scalar.value)
                if !shown.allSatisfy({ $0 == !(isInvisible || isVariation) }) {
                    disagreements.append("U+\(String(scalar.value, radix: 16)): \(shown)")
                }
            }
            #expect(disagreements.isEmpty && hidden > 4000)
        }
    }

    @Test(
        "names that look like another one become the other one",
        arguments: [
            "Mu\u{200B}sic", "\u{200F}Music", "Music\u{061C}", "Mu\u{2060}sic", "Music\u{2064}",
            "\u{FEFF}Music", "Mu\u{AD}sic", "Music\u{E0041}\u{E007F}", "\u{202E}Music\u{202C}",
            "\u{2066}Music\u{2069}", "Mu\u{200D}sic", "Music\u{3164}", "Mu\u{34F}sic",
            "Music\u{FE0F}", "Music\u{E0100}",
        ])
    func lookAlikes(name: String) {
        #expect(PrintableText.string(name) == "Music")
        #expect(SafeText.clean(name) == "Music")
        #expect(LogText.oneLine(name) != "Music" && LogText.oneLine(name).contains("\\u{"))
        #expect(LogText.oneLine(name).utf8.count == LogText.oneLine(name).count)
    }

    @Test("emoji stay whole", arguments: ["👩‍🚀", "❤️", "🏳️‍🌈 Nav", "👨‍👩‍👧", "1️⃣", "👍🏽"])
    func emoji(name: String) {
        #expect(PrintableText.string(name) == name)
        #expect(SafeText.clean(name) == name && SafeText.line(name) == name)
        #expect(LogText.oneLine(name) == name)
    }

    @Test("a joiner that joins nothing is hidden", arguments: ["😀\u{200D}", "😀\u{200D}a"])
    func joiner(name: String) {
        for shown in [PrintableText.string(name), SafeText.clean(name), SafeText.line(name)] {
            #expect(shown.unicodeScalars.count == name.unicodeScalars.count - 1)
            #expect(!shown.unicodeScalars.contains("\u{200D}"))
        }
        #expect(LogText.oneLine(name).contains("\\u{200d}"))
    }

    @Test("JSON keeps the meaning of every character, and shows none that is invisible")
    func json() {
        for scalar in Self.all where VisibleScalars.isInvisible(scalar) {
            let text = "a\(String(scalar))b"
            let json = PrintableText.jsonString(text)
            #expect(json.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(json)")
        }
        #expect(PrintableText.jsonString("\u{E0001}") == #""\uDB40\uDC01""#)
    }
}
