import Media
import Testing

@Suite("Names from the wire, as names of files") struct MediaNameTests {
    @Test(
        "lead nowhere, hide nothing and stay short",
        arguments: [
            ("../../etc/passwd", "etc-passwd"),
            ("/etc/passwd", "etc-passwd"),
            (#"..\..\boot.ini"#, "boot.ini"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("a\0b.png", "a-b.png"),
            ("icon\n.png", "icon-.png"),
            ("photo\u{202E}gnp.exe", "photo-gnp.exe"),
            ("\u{2066}x\u{2069}", "x"),
            ("a...png", "a.png"),
            ("name.", "name"),
            ("été 2026.jpg", "été-2026.jpg"),
            ("日本語.png", "日本語.png"),
            ("e\u{301}", "e"),
            // Device names of Windows, whatever their extension.
            ("CON.x", "_CON.x"),
            ("nul", "_nul"),
            ("Com1.tar.gz", "_Com1.tar.gz"),
            ("CONSOLE.x", "CONSOLE.x"),
            ("\u{1F600}", "fallback"),
            ("", "fallback"),
            ("....", "fallback"),
        ])
    func sanitised(text: String, name: String) {
        #expect(MediaName.sanitised(text, fallback: "fallback") == name)
    }

    @Test("are cut at a limit of bytes, whatever they are made of")
    func long() {
        for piece in ["a", "語", "é", "/", "\u{202E}", "..", "e\u{301}"] {
            let name = MediaName.sanitised(
                String(repeating: piece, count: 4096), maximumBytes: 100, fallback: "x")
            #expect(name.utf8.count <= 100)
            #expect(!name.isEmpty && !name.contains("/"))
        }
        let start = ContinuousClock.now
        _ = MediaName.sanitised(
            String(repeating: "/", count: 10_000_000), maximumBytes: 100, fallback: "x")
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test("keep their ending when they are cut, if it is one")
    func ending() {
        func cut(_ text: String) -> String {
            MediaName.sanitised(text, maximumBytes: 12, fallback: "x")
        }
        #expect(cut("a-long-icon-name.png") == "a-long-i.png")
        #expect(cut(String(repeating: "語", count: 4096) + ".jpeg") == "語語.jpeg")
        #expect(cut("CON." + String(repeating: "n", count: 99) + ".png") == "_CON.nnn.png")
        #expect(cut("a sentence. And one more") == "a-sentence")
        #expect(cut("nothing." + String(repeating: "n", count: 99)) == "nothing.nnnn")
    }

    @Test("get their number in front of the ending")
    func numbered() {
        #expect(MediaName.numbered("icon.png", 2) == "icon-2.png")
        #expect(MediaName.numbered("a.tar.gz", 3) == "a.tar-3.gz")
        #expect(MediaName.numbered("icon", 2) == "icon-2")
    }
}
