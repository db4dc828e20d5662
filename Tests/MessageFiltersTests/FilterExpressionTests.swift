import MessageFilters
import SDLProtocol
import Testing

@Suite("Filters as people write them")
struct FilterExpressionTests {
    static let names = FilterNames(functions: FunctionID.all.map(\.name)) { name in
        ["mine": "app:radio !ok", "broken": "rcp:Show", "nested": "@mine", "empty": " "][name]
    }

    private func read(_ text: String) throws -> FilterExpression {
        try FilterExpression(text, names: Self.names)
    }

    /// The mistake in a filter: the part that is marked, and the message.
    private func mistake(in text: String) -> (part: String, message: String)? {
        do throws(FilterError) {
            _ = try FilterExpression(text, names: Self.names)
            return nil
        } catch {
            let letters = Array(text.unicodeScalars)
            let part = letters[error.range.clamped(to: 0..<letters.count)]
            return (String(String.UnicodeScalarView(part)), error.message)
        }
    }

    @Test("keys, signs and quotes are read")
    func example() throws {
        let text = #"app:radio rpc:On* !ok ms>200 text:"Keep right" param.mainField1~Keep"#
        let filter = try read(text)
        #expect(filter.terms.count == 6)
        #expect(filter.asksForAnswers)
        #expect(
            filter.description
                == #"app:"radio" rpc:"On*" !ok ms>200 text:"Keep right" param.mainField1~"Keep""#)
    }

    @Test(
        "what is read is written and read as the same",
        arguments: [
            "", "ok", "!ok", "!!ok", "not ok", "rpc:Show rpc:Alert", "rpc:Show | rpc:Alert ok",
            "(rpc:Show | kind:event) !(app:a app:b)", "((rpc:Show rpc:Alert) | ok) n:3 n=4",
            "(rpc:Show rpc:Alert) rpc:On*", "(a | b) | c", "!(a b)", "!(a | b)", "(a b) c",
            "app:#3", "app:3", "app=3", #"app:"3""#, "app=Radio", "app!=Radio",
            #"text:"say \"hi\" \\ there""#, "param.softButtons[0].text=OK", "param.x",
            "param.gps.latitudeDegrees>=-47.5", "param.x=5", #"param.x="5""#, #"param.x="""#,
            #"param.x!="""#, "param.x~*a?",
            "ms>1.5s", "ms:200ms", "bytes<1000", "priority:warning", "priority!=info",
            "from:unit", "from:accessory", "kind:re", "result:INVALID", "@mine rpc:Show",
            "rpc:vehicledata", "ok and ok or not ok", #""Keep right" left"#,
        ])
    func written(text: String) throws {
        let filter = try read(text)
        let again = try read(filter.description)
        #expect(again == filter, "\(filter)")
        #expect(again.description == filter.description)
    }

    @Test(
        "what is put into quotes is read as it was, also a quote with an accent on it",
        arguments: [#"say "hi" \ there"#, #"\""#, "a\"\u{301}b", "*"])
    func quoted(text: String) throws {
        let filter = "text:" + text.inQuotes
        #expect(try read(filter).description == filter)
    }

    @Test(
        "the same filter may be written in several ways",
        arguments: [
            ("a AND b", "a b"), ("a or b", "a||b"), ("NOT ok", "!ok"), ("n:3", "n=3"),
            ("APP:radio", "app:radio"), ("rpc!=Show", "!rpc=Show"), ("@mine", "app:radio !ok"),
            ("needle", #"text:"needle""#), ("  ok  ", "ok"), ("(ok)", "ok"),
        ])
    func alike(one: String, other: String) throws {
        #expect(try read(one) == read(other))
    }

    @Test(
        "a mistake is pointed at",
        arguments: mistaken)
    func mistakes(text: String, part: String, message: String) throws {
        let problem = try #require(mistake(in: text), "\(text)")
        #expect(problem.part == part)
        #expect(problem.message == message)
    }

    @Test("whoever saves a filter is told that it cannot use another one")
    func inside() {
        var names = FilterNames(functions: [])
        names.withoutSaved = FilterNames.notInsideAnother
        let problem = #expect(throws: FilterError.self) {
            _ = try FilterExpression("@mine ok", names: names)
        }
        #expect(problem == FilterError(0..<5, "a saved filter cannot use another one"))
    }

    @Test("length, number of terms and depth have bounds")
    func bounds() throws {
        let deep = String(repeating: "(", count: 16) + "ok" + String(repeating: ")", count: 16)
        #expect(try read(deep).description == "ok")
        #expect(mistake(in: "(\(deep))")?.message == "more than 16 brackets inside each other")
        let many = Array(repeating: "ok", count: 64).joined(separator: " ")
        #expect(try read(many).terms.count == 64)
        #expect(mistake(in: many + " x")?.part == "x")
        #expect(mistake(in: String(repeating: "x", count: 2001))?.message.contains("2000") == true)
        #expect(try read(String(repeating: "!", count: 1998) + "ok").description == "ok")
    }

    @Test("what two ask together holds for both, whatever brackets they have")
    func together() throws {
        let slow = FilterExpression(.all([try read("kind:response ms>=1000").root]))
        let both = try read("kind:request").and(.everything).and(
            FilterExpression.everything.and(slow))
        #expect(both.description == #"kind:"request" (kind:"response" ms>=1000)"#)
        #expect(try read("rpc:Show").and(read("rpc:Alert")) == read("rpc:Show rpc:Alert"))
    }

    @Test("names match in part, whole, or with wildcards, whatever their case")
    func names() {
        #expect(TextPattern(typed: "südw").matches("Radio SÜDWEST"))
        #expect(!TextPattern("radio", .whole).matches("Radio 1"))
        #expect(TextPattern("radio 1", .whole).matches("Radio 1"))
        #expect(TextPattern(typed: "ra*1").matches("Radio 1"))
        #expect(TextPattern(typed: "r?dio*").matches("Radio 1"))
        #expect(!TextPattern(typed: "?adio").matches("Radio 1"))
        #expect(TextPattern(typed: "*").matches(""))
        #expect(TextPattern("aab").matches("aaaab"))
        #expect(!TextPattern("abab").matches("abaab"))
        #expect(TextPattern("show").chosen(from: ["Show", "ShowAppMenu"]) == ["Show"])
        #expect(TextPattern("how").chosen(from: ["Show", "ShowAppMenu"]).count == 2)
    }

    @Test("no pattern and no text makes a comparison expensive")
    func effort() {
        let long = String(repeating: "a", count: 1_000_000)
        let wild = String(repeating: "*a", count: 500) + "*b"
        #expect(!TextPattern(typed: wild).matches(long))
        #expect(!TextPattern(String(repeating: "a", count: 1000) + "b").matches(long))
    }
}

private let known = """
    known: app, rpc, kind, service, from, result, ok, priority, ms, bytes, n, corr, session, \
    text, param. Text with such a sign needs quotes
    """
private let priorities = "debug, info, warning, error"
private let path = "param.mainField1 or param.softButtons[0].text"
private let example = "something such as rpc:Show"
private let star = "rpc:On*; in quotes it is a letter"
private let rpc = "did you mean 'rpc'?"

private let mistaken: [(String, String, String)] = [
    ("app:radio rcp:On*", "rcp", "there is no key 'rcp'; did you mean 'rpc'?"),
    ("function:Show", "function", "there is no key 'function'; did you mean 'rpc'?"),
    ("http://x", "http", "there is no key 'http'; \(known)"),
    ("rpc:Shw ok", "Shw", "no RPC is called 'Shw'; did you mean 'Show'?"),
    ("rpc=On*", "On*", "no RPC is called 'On*'"),
    ("rpc:", "rpc:", "expected a value behind rpc:"),
    ("rpc: Show", "rpc:", "expected a value behind rpc:"),
    (#"app:"""#, #""""#, "nothing in the quotes; expected a value"),
    ("service:x", "x", "no service is called 'x'; known: control, rpc, audio, video, bulk"),
    ("ms>fast", "fast", "ms is 'fast'; expected a time such as 200, 200ms or 2s"),
    ("ms>200us", "200us", "ms is '200us'; expected a time such as 200, 200ms or 2s"),
    ("bytes>1KB", "1KB", "bytes is '1KB'; expected a number"),
    ("app>3", ">", "found >; this key takes : ~ = !="),
    ("text=x", "=", "found =; this key takes : ~"),
    ("ok:yes", ":", "ok stands alone; !ok is what went wrong"),
    ("priority:loud", "loud", "no priority is called 'loud'; known: \(priorities)"),
    ("param", "param", "expected a parameter such as \(path)"),
    ("param.a[x]=1", "param.a[x]", "expected a parameter such as \(path)"),
    ("param.a>x", "x", "found 'x'; expected a number"),
    ("param[0]", "param[0]", "expected a parameter such as \(path)"),
    ("param[0].x~y", "param[0].x", "expected a parameter such as \(path)"),
    (#"param.a~"""#, #""""#, "nothing in the quotes; expected a value"),
    (#"say "Keep right"#, #"""#, "this quote is never closed"),
    (#"app:"a"b"#, "b", "expected a blank here"),
    ("(ok", "(", "this ( is never closed"),
    ("ok)", ")", "this ) closes nothing"),
    ("()", ")", "found ); expected \(example)"),
    ("ok |", "", "the filter ends here; expected \(example)"),
    ("| ok", "|", "found |; expected \(example)"),
    ("or ok", "or", "found or; expected \(example)"),
    ("!", "", "the filter ends here; expected \(example)"),
    ("On*", "On*", "a * stands for any letters in names only: \(star)"),
    ("@yours", "@yours", "no filter is saved as 'yours'; relayctl filter lists them"),
    ("ok @broken", "@broken", "in the saved 'broken': there is no key 'rcp'; \(rpc)"),
    ("@empty", "@empty", "in the saved 'empty': it is empty"),
    ("@nested", "@nested", "in the saved 'nested': a saved filter cannot use another one"),
]
