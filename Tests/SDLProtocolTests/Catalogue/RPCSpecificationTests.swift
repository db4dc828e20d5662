import Foundation
import RelayTesting
import Testing

@testable import SDLProtocol

// A faulty specification of a user's is refused with the line and a reason that helps to correct it.

@Suite struct RPCSpecificationTests {
    private func error(_ xml: String) -> RPCSpecificationError? {
        do {
            _ = try RPCCatalogue(xml: Array(xml.utf8))
            return nil
        } catch {
            return error
        }
    }

    /// A whole specification with `content` from line 3 on.
    private func specification(_ content: String) -> String {
        """
        <interface version="8.0" date="2026-11-21">
        <enum name="FunctionID"><element name="AID" value="1"/></enum>
        \(content)
        <function name="A" functionID="AID" messagetype="request"/>
        </interface>
        """
    }

    @Test("a small specification is read")
    func small() throws {
        let catalogue = try RPCCatalogue(xml: Array(specification("").utf8))
        #expect(catalogue.functions.map(\.name) == ["A"])
        #expect(catalogue.functions.first?.id == FunctionID(rawValue: 1))
    }

    @Test(
        "what is wrong with a specification is said with its line",
        arguments: [
            (
                #"<struct name="S"><param name="p" type="Imag"/></struct><struct name="Image"/>"#,
                3,
                "type Imag of parameter p is not defined; did you mean Image?"
            ),
            (#"<struct/>"#, 3, "<struct>: no name"),
            (#"<struct name="S"/><enum name="S"/>"#, 3, "S is defined already"),
            (#"<struct name="String"/>"#, 3, "String is defined already"),
            (
                "<struct name=\"S\">\n<param name=\"p\" type=\"Float\" minvalue=\"a\"/></struct>",
                4,
                "<param> \"p\": minvalue \"a\", expected a number"
            ),
            (
                #"<struct name="S"><param name="p" type="String" maxlength="-1"/></struct>"#, 3,
                "<param> \"p\": maxlength \"-1\", expected a whole number from 0 to 2147483647"
            ),
            (
                #"<struct name="S"><param name="p" type="String" mandatory="yes"/></struct>"#, 3,
                "<param> \"p\": mandatory \"yes\", expected true or false"
            ),
            (
                #"<struct name="S" since="five"/>"#, 3,
                "<struct> \"S\": since \"five\", expected a version such as 4.5 or 8.0.0"
            ),
            (
                #"<enum name="E"><element name="X"/><element name="X"/></enum>"#, 3,
                "<element> \"X\": defined twice"
            ),
            (
                #"<function name="B" functionID="BID" messagetype="request"/>"#, 3,
                "functionID BID of B is not an element of the enumeration FunctionID, or has no value there"
            ),
            (
                #"<function name="B" functionID="AID" messagetype="request"/>"#, 4,
                "there is a request with functionID AID already"
            ),
            (
                #"<function name="B" functionID="AID" messagetype="reply"/>"#, 3,
                "<function> \"B\": messagetype \"reply\", expected request, response or notification"
            ),
            (
                "<struct name=\"S\">\n", 6,
                "</interface> where </struct> was expected, for <struct> of line 3"
            ),
            ("<struct name='S' name='T'/>", 3, "attribute name appears twice in <struct>"),
            ("<struct name=S/>", 3, "the value of attribute name is not in quotes"),
            ("<struct name='a<b'/>", 3, "a < in the value of attribute name"),
            (
                "<struct name='&uuml;'/>", 3,
                "an & that begins no known entity (&lt; &gt; &amp; &quot; &apos; &#…;)"
            ),
            ("<struct name='a'b='c'/>", 3, "no space in front of attribute b"),
            ("\n< struct/>", 4, "no name of an element here"),
            ("<!-- never ends", 3, "a comment that does not end"),
            ("<!DOCTYPE a>", 3, "document types and entity declarations are not supported"),
        ] as [(String, Int, String)])
    func refusals(content: String, line: Int, reason: String) {
        #expect(
            error(specification(content)) == RPCSpecificationError(line: line, reason: reason))
    }

    @Test("what is no specification at all is called so")
    func otherFiles() {
        #expect(error("")?.description == "line 1: no element at all")
        #expect(error("listen: []")?.reason == "text outside of any element")
        #expect(
            error("<interfaces><interface/></interfaces>")?.reason
                == "the root is <interfaces>, expected <interface> as in MOBILE_API.xml")
        #expect(
            error("<interface/>")?.reason
                == "<interface> has version \"\", expected one such as \"8.0.0\"")
        #expect(error("<interface version='8'/>")?.reason == "no <function> in <interface>")
        #expect(
            error("<interface version='8'>")?.reason == "the file ends inside <interface> of line 1"
        )
        let utf16 = Array("\u{FEFF}<interface/>".utf16).flatMap {
            [UInt8($0 & 0xFF), UInt8($0 >> 8)]
        }
        #expect(throws: RPCSpecificationError(line: 1, reason: "the file is not UTF-8")) {
            try RPCCatalogue(xml: utf16)
        }
        #expect(throws: RPCSpecificationError(line: 1, reason: "bytes that are not UTF-8")) {
            try RPCCatalogue(xml: Array("<interface version='".utf8) + [0xC0, 0x27, 0x3E])
        }
    }

    @Test("a hostile file is refused before it costs memory or stack")
    func hostileFiles() async {
        await onOwnThread {
            #expect(
                error(String(repeating: "<a>", count: 100_000))?.reason
                    == "the root is <a>, expected <interface> as in MOBILE_API.xml")
            let deep = "<interface version='8'>" + String(repeating: "<a>", count: 100_000)
            #expect(error(deep)?.reason == "elements nested deeper than 32")
            let bomb = """
                <!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
                <interface version='8'>&b;</interface>
                """
            #expect(
                error(bomb)?.reason == "document types and entity declarations are not supported")
            let long = "<interface version='\(String(repeating: "8", count: 5000))'/>"
            #expect(
                error(long)?.reason == "the value of attribute version is longer than 4096 bytes")
            let many = (0..<70_000).map { "<enum name='E\($0)'/>" }.joined()
            #expect(error(specification(many))?.reason.contains("more than 60000 elements") == true)
            let mandatory = (0..<65).map { "<param name='p\($0)' type='Boolean'/>" }.joined()
            #expect(
                error(specification("<struct name='S'>\(mandatory)</struct>"))?.reason
                    == "S has 65 mandatory parameters, expected at most 64")
        }
    }

    @Test("a broken specification never traps", arguments: 0..<20 as Range<UInt64>)
    func fuzz(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let file = Fixtures.folder.appending(path: "sample-spec.xml")
        let sample = try Array(Data(contentsOf: file))
        for _ in 0..<50 {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch UInt8.random(in: 0...3, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: at)
                case 2: bytes.removeSubrange(at..<min(bytes.count, at + 40))
                default:
                    let from = Int.random(in: 0..<bytes.count, using: &random)
                    bytes.insert(contentsOf: bytes[from..<min(bytes.count, from + 40)], at: at)
                }
                if bytes.isEmpty { bytes = sample }
            }
            guard let catalogue = try? RPCCatalogue(xml: bytes) else { continue }
            _ = CatalogueIndex(catalogue)
        }
    }
}
