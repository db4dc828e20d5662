import NIOCore
import SDLProtocol
import Testing

@testable import relayctl

@Suite struct MarkedJSONTests {
    private func lines(
        _ json: String, _ problems: [(path: String, message: String)] = [], style: Style = .plain
    ) throws -> [String] {
        MarkedJSON.lines(
            try JSONObject(ByteBuffer(string: json)),
            problems: problems.map { MessageProblem(path: $0.path, message: $0.message) },
            style: style)
    }

    @Test("short arrays of values stay on their line, everything else gets its own")
    func layout() throws {
        let json =
            #"{"a":1.50,"b":[ 1, 2 ],"c":{},"d":[],"e":{"f":[{"g":null}]},"h":["\#(String(repeating: "x", count: 60))"]}"#
        #expect(
            try lines(json) == [
                "{",
                "  \"a\": 1.50,",
                "  \"b\": [1, 2],",
                "  \"c\": {},",
                "  \"d\": [],",
                "  \"e\": {",
                "    \"f\": [",
                "      {",
                "        \"g\": null",
                "      }",
                "    ]",
                "  },",
                "  \"h\": [",
                "    \"\(String(repeating: "x", count: 60))\"",
                "  ]",
                "}",
            ])
        #expect(try lines("{}") == ["{}"])
    }

    @Test(
        "a place is found however it is written",
        arguments: ["a[1].b", "params.a[1].b", "parameters.a[1].b", "/a/1/b", "a.1.b"])
    func places(path: String) throws {
        let marked = try lines(#"{"a":[{"b":1},{"b":2}]}"#, [(path, "wrong")])
        #expect(marked.filter { $0.contains("←") } == ["      \"b\": 2  ← wrong"])
    }

    @Test("elements of short arrays, objects and the whole can be marked, too") func anywhere()
        throws
    {
        #expect(
            try lines(#"{"a":[1,2],"b":{"c":1}}"#, [("a[0]", "one"), ("b", "two"), ("", "three")])
                == [
                    "{  ← three",
                    "  \"a\": [",
                    "    1,  ← one",
                    "    2",
                    "  ],",
                    "  \"b\": {  ← two",
                    "    \"c\": 1",
                    "  }",
                    "}",
                ])
    }

    @Test("what is missing is told where it should be") func missing() throws {
        #expect(
            try lines(
                #"{"a":{},"b":[{"c":1}]}"#,
                [("a.x", "missing"), ("b[0].y.z", "missing"), ("q", "gone")])
                == [
                    "{",
                    "  \"a\": {",
                    "    ← missing",
                    "  },",
                    "  \"b\": [",
                    "    {",
                    "      \"c\": 1",
                    "      ← missing",
                    "    }",
                    "  ]",
                    "  ← gone",
                    "}",
                ])
        #expect(try lines("{}", [("a", "missing")]) == ["{", "  ← missing", "}"])
    }

    @Test("two problems of one value share its line, in red when there are colours") func marks()
        throws
    {
        #expect(
            try lines(#"{"a":1}"#, [("a", "one"), ("a", "two")], style: .coloured)[1]
                == "  \u{1B}[31m\"a\": 1  ← one; two\u{1B}[0m")
    }

    @Test("nothing disturbs a terminal") func safe() throws {
        let json = "{\"a\u{9B}1m\":\"\u{7F}\u{202E}x\",\"b\":[\"\u{9B}\"]}"
        for line in try lines(json, [("a", "\u{1B}[2J"), ("\u{1B}c", "\u{7}")]) {
            #expect(!line.unicodeScalars.contains { !PrintableText.isPrintable($0) })
        }
    }
}
