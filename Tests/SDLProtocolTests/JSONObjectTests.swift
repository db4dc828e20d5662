import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

@Suite struct JSONObjectTests {
    private func object(_ text: String) throws -> JSONObject {
        try JSONObject(ByteBuffer(string: text))
    }

    @Test("members are read as what they are, whitespace or not")
    func readsMembers() throws {
        let object = try object(
            """
            {\n\t"success" : true,\r\n "resultCode":"SUCCESS" , "n" : -12, "d":1.5e3,
             "o":{"a":{"b":[1,{"c":2}]}},"l":["x" , {} ,[ ] ] , "z":null,"e":{ } }

            """)
        #expect(object.bool("success") == true)
        #expect(object.string("resultCode") == "SUCCESS")
        #expect(object.integer("n") == -12)
        #expect(object.double("d") == 1500)
        #expect(object.object("o")?.object("a")?.array("b")?.elements.count == 2)
        #expect(object.array("l")?.elements.map(\.kind) == [.string, .object, .array])
        #expect(object.value("z")?.kind == .null)
        #expect(object.object("e")?.members.isEmpty == true)
        #expect(
            object.members.compactMap { object.string($0.key) }
                == ["success", "resultCode", "n", "d", "o", "l", "z", "e"])
    }

    @Test("a value of another type than asked for is absent")
    func typesAreStrict() throws {
        let object = try object(#"{"s":"1","n":1,"b":true,"big":99999999999999999999,"f":1.5}"#)
        #expect(object.integer("s") == nil)
        #expect(object.string("n") == nil)
        #expect(object.bool("n") == nil)
        #expect(object.object("b") == nil)
        #expect(object.integer("big") == nil)
        #expect(object.integer("f") == nil)
        #expect(object.string("absent") == nil)
    }

    @Test(
        "strings are unescaped, and repaired where they are no Unicode",
        arguments: [
            (#"a\"b\\c\/d\b\f\n\r\t"#, "a\"b\\c/d\u{8}\u{c}\n\r\t"),
            (#"\u0041\u00e9\u4f60"#, "Aé你"),
            (#"\uD83D\uDE00"#, "😀"),
            (#"\uD83Dx"#, "\u{FFFD}x"),
            (#"\uD83D\u0041"#, "\u{FFFD}A"),
            (#"\uDE00"#, "\u{FFFD}"),
            ("plain 你好", "plain 你好"),
        ])
    func unescapes(json: String, text: String) throws {
        #expect(try object(#"{"k":"\#(json)"}"#).string("k") == text)
    }

    @Test(
        "invalid UTF-8 is repaired, with and without escapes in the string",
        arguments: [
            [0xFF], [0xC3], [0xC0, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF8, 0x88],
            [0xF5, 0x80, 0x80, 0x80], [0xEB, 0xBA], [0xE0, 0x80, 0x80], [0xF4, 0x90, 0x80],
            [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func repairs(invalid: [UInt8]) throws {
        for escape in ["", "\\n"] {
            let text =
                Array(#"{"k":"a"#.utf8) + invalid + Array(escape.utf8) + Array(#"b"}"#.utf8)
            let object = try JSONObject(ByteBuffer(bytes: text))
            let string = try #require(object.string("k"))
            #expect(string.hasPrefix("a\u{FFFD}") && string.hasSuffix("b"))
            let compacted = try JSONObject(ByteBuffer(string: object.compacted))
            #expect(compacted.string("k") == string, "repaired as Swift repairs it")
        }
    }

    @Test("a key is found though it is written with escapes; of two the last counts")
    func findsKeys() throws {
        #expect(try object(#"{"s\u0075ccess":true}"#).bool("success") == true)
        #expect(try object(#"{"a":1,"b":2,"a":3}"#).integer("a") == 3)
    }

    @Test(
        "what is no JSON object is refused with the offset of the fault",
        arguments: [
            ("", JSONError(reason: .truncated, offset: 0)),
            ("  ", JSONError(reason: .truncated, offset: 2)),
            ("[1]", JSONError(reason: .wrongKind(.array), offset: 3)),
            ("12", JSONError(reason: .wrongKind(.number), offset: 2)),
            ("{} x", JSONError(reason: .unexpected(0x78), offset: 3)),
            ("{\"a\"}", JSONError(reason: .unexpected(0x7D), offset: 4)),
            ("{\"a\":}", JSONError(reason: .unexpected(0x7D), offset: 5)),
            ("{\"a\":1,}", JSONError(reason: .unexpected(0x7D), offset: 7)),
            ("{\"a\":01}", JSONError(reason: .unexpected(0x31), offset: 6)),
            ("{\"a\":1.}", JSONError(reason: .unexpected(0x7D), offset: 7)),
            ("{\"a\":tru}", JSONError(reason: .unexpected(0x7D), offset: 8)),
            ("{\"a\":[1}", JSONError(reason: .unexpected(0x7D), offset: 7)),
            ("{\"a\":{]", JSONError(reason: .unexpected(0x5D), offset: 6)),
            ("{\"a\":\"\\x\"}", JSONError(reason: .unexpected(0x78), offset: 7)),
            ("{\"a\":\"\\u12g4\"}", JSONError(reason: .unexpected(0x67), offset: 10)),
            ("{'a':1}", JSONError(reason: .unexpected(0x27), offset: 1)),
        ])
    func refuses(text: String, error: JSONError) {
        #expect(throws: error) { try object(text) }
    }

    @Test("text cut off anywhere is refused as truncated")
    func refusesTruncated() throws {
        let text = #"{"a":[1.5e+3,{"b":"\u00e9\n"},null,true],"c":{"d":[[],{}]},"e":false}"#
        _ = try object(text)
        for length in 0..<text.utf8.count {
            let cut = ByteBuffer(bytes: Array(text.utf8).prefix(length))
            let error = #expect(throws: JSONError.self) { try JSONObject(cut) }
            #expect(error?.reason == .truncated, "cut after \(length) bytes")
        }
    }

    @Test("nesting is bounded, and costs no stack")
    func boundsDepth() throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inner = open == "[" ? "" : "1"
            func nested(_ depth: Int) -> String {
                "{\"k\":" + String(repeating: open, count: depth - 1) + inner
                    + String(repeating: close, count: depth - 1) + "}"
            }
            _ = try object(nested(64))
            let error = #expect(throws: JSONError.self) { try object(nested(65)) }
            #expect(error?.reason == .tooDeep)
            #expect(throws: JSONError.self) { try object(nested(1_000_000)) }
        }
    }

    @Test("members beyond the limit are checked but not kept")
    func boundsMembers() throws {
        let many = (0..<5000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        let object = try object("{\(many)}")
        #expect(object.members.count == JSONObject.maximumMembers)
        #expect(object.integer("k7") == 7)
        #expect(throws: JSONError.self) { try self.object("{\(many),}") }
    }

    @Test("random bytes and mutated JSON neither crash nor hang; what passes prints compact")
    func survivesFuzzing() async throws {
        var random = SeededGenerator(seed: 2026)
        let seed = Array(#"{"a":[1,-2.5e3,"x\u00e9\n"],"b":{"c":null,"d":[true,{}]},"e":"é"}"#.utf8)
        let alphabet = Array(#"{}[]",:\u0123abcdefntrls .-+eE"#.utf8)
        var accepted = 0
        for _ in 0..<20_000 {
            await Task.yield()
            var bytes = seed
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[at] = alphabet.randomElement(using: &random) ?? 0
                case 2: bytes.insert(alphabet.randomElement(using: &random) ?? 0, at: at)
                default: bytes.remove(at: at)
                }
            }
            guard let object = try? JSONObject(ByteBuffer(bytes: bytes)) else { continue }
            accepted += 1
            for member in object.members {
                _ = object.string(member.key)
                _ = object.string(member.value)
                _ = object.object(member.value)?.members
                _ = object.array(member.value)?.elements
            }
            let compacted = object.compacted
            let again = try JSONObject(ByteBuffer(string: compacted))
            #expect(again.members.count == object.members.count)
            #expect(again.compacted == compacted)
        }
        #expect(accepted > 1000)
    }

    @Test("compacting takes out whitespace between values and nothing else")
    func compacts() throws {
        let text =
            "{\n\t\"a b\" : [ 1.50 , \"x  y\\\" \\u00e9\" ],\r\n \"c\" : { } , \"d\":null }\n"
        #expect(try object(text).compacted == #"{"a b":[1.50,"x  y\" \u00e9"],"c":{},"d":null}"#)
        #expect(try object("{ }").compacted == "{}")
    }

    @Test("compacting escapes what would break a line or a terminal")
    func compactsControlCharacters() throws {
        let text = "{\"a\":\"x\u{1B}[31m\n\u{9B}\u{202E}y\u{7F}\"}"
        #expect(try object(text).compacted == #"{"a":"x\u001B[31m\u000A\u009B\u202Ey\u007F"}"#)
    }

    @Test(
        "compacting leaves nothing that strict readers refuse",
        arguments: [
            (#"{"a":1e309}"#, #"{"a":"1e309"}"#),
            (#"{"a":[-1E+400,1e308,-0.0,1e-400]}"#, #"{"a":["-1E+400",1e308,-0.0,1e-400]}"#),
            (#"{"a":"1e309","b":true,"c":false}"#, #"{"a":"1e309","b":true,"c":false}"#),
            (#"{"a":"\ud83d"}"#, #"{"a":"\uFFFD"}"#),
            (#"{"a":"\uDE97\ud83dx\ud83d\n"}"#, #"{"a":"\uFFFD\uFFFDx\uFFFD\n"}"#),
            (#"{"a":"\ud83d\ude97\\ud83d\"\u00e9\/"}"#, #"{"a":"\ud83d\ude97\\ud83d\"\u00e9\/"}"#),
        ])
    func compactsForStrictReaders(text: String, expected: String) throws {
        #expect(try object(text).compacted == expected)
    }

    @Test("compacting an integer of 400 digits makes it a string") func compactsManyDigits() throws
    {
        let (large, fits) = (String(repeating: "9", count: 400), String(repeating: "1", count: 309))
        #expect(
            try object("{\"a\":\(large),\"b\":\(fits)}").compacted
                == "{\"a\":\"\(large)\",\"b\":\(fits)}")
    }
}
