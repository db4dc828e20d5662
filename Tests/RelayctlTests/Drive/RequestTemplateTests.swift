// Filling in the blanks when a saved request is sent.

import ArgumentParser
import Testing

@testable import relayctl

@Suite("Saved parameters are filled in") struct RequestTemplateTests {
    private func filled(_ set: [String], _ given: String...) throws -> [String] {
        try RequestTemplate(set).filled(with: given)
    }

    @Test("a blank takes the value that is given, or its default; others stay") func blanks() throws
    {
        let set = ["mainField1={who} says {what=Hello}", "mainField2=", "duration=5000"]
        #expect(
            RequestTemplate(set).blanks
                == [.init(name: "who", usual: nil), .init(name: "what", usual: "Hello")])
        #expect(
            try filled(set, "who=Ann")
                == ["mainField1=Ann says Hello", "mainField2=", "duration=5000"])
        #expect(
            try filled(set, "what=a=b {c}", "who=")
                == ["mainField1= says a=b {c}", "mainField2=", "duration=5000"])
    }

    @Test("what has no value is named, and only that") func missing() throws {
        let set = ["a={x}{y=1}", "b={z}"]
        do {
            _ = try filled(set, "x=2")
            Issue.record("filled without z")
        } catch let error as ValidationError {
            #expect(error.message.hasSuffix("not filled in: z=VALUE"), "\(error.message)")
        }
        // A replaced parameter no longer has a blank.
        #expect(try filled(set, "x=2", "b=3") == ["a=21", "b=3"])
    }

    @Test("other parameters are added, or replace the saved one of their name") func others() throws
    {
        let set = ["mainField1={text}", "softButtons[0].text=OK"]
        #expect(
            try filled(set, "text=Hi", "softButtons[0].text=No", "alignment=CENTERED")
                == ["mainField1=Hi", "softButtons[0].text=No", "alignment=CENTERED"])
        #expect(
            try filled(set, "mainField1:=\"x\"") == ["softButtons[0].text=OK", "mainField1:=\"x\""])
        #expect(
            RequestTemplate.replaced(set, by: ["mainField1={other}"])
                == ["softButtons[0].text=OK", "mainField1={other}"])
    }

    @Test("in JSON a value is a number, or part of a string and escaped there") func json() throws {
        let set = [#"softButtons:=[{"softButtonID":{id},"text":"{label}","x":"{{id}"}]"#]
        #expect(RequestTemplate(set).blanks.map(\.name) == ["id", "label"])
        #expect(
            try filled(set, "id=7", "label=a\"b\\\n")
                == [
                    #"softButtons:=[{"softButtonID":7,"text":"a\"b\\\u000A","x":"{id}"}]"#
                ])
    }

    @Test("braces that name nothing are text, and two are one") func braces() throws {
        for text in ["a={", "a={}", "a={not a name}", "a=}{", "a:={}", #"a:={"b":{"c":1}}"#, "a"] {
            #expect(RequestTemplate([text]).blanks == [])
        }
        #expect(try filled(["a={{x}", "b={", "c={}"]) == ["a={x}", "b={", "c={}"])
    }

    @Test("what was sent is sent again as it was, whatever braces are in it") func literal() throws
    {
        for text in [
            "a={x}", "a={{x}}", "a={{{", "a=", "a={{=}", #"a:={"b":"{x}{{y}}\"{z}"}"#,
            #"a:="\\{x}""#,
            "a:=[{},{}]", "no sign",
        ] {
            let literal = RequestTemplate.literal(text)
            #expect(RequestTemplate([literal]).blanks == [], "\(literal)")
            guard text.contains("=") else { continue }
            #expect(try filled([literal]) == [text])
        }
    }
}
