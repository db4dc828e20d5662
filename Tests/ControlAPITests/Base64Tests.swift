import ControlAPI
import Foundation
import Testing

@Suite("Bytes in JSON") struct Base64Tests {
    @Test("as Foundation has them, both ways", arguments: [0, 1, 2, 3, 4, 5, 63, 64, 1000])
    func roundTrip(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 5) }
        let text = Base64.encoded(bytes)
        #expect(text == Data(bytes).base64EncodedString())
        #expect(Base64.decoded(text) == bytes)
    }

    @Test(
        "what is none is refused",
        arguments: ["a", "ab", "abc", "a===", "====", "ab=c", "ab c", "äbcd", "YQ==YQ=="])
    func refused(text: String) {
        #expect(Base64.decoded(text) == nil)
    }

    @Test("any JSON survives") func anyJSON() throws {
        let text = #"{"a":[1,2.5,"x",true,null,{"b":-3}]}"#
        let value = try APICoding.decode(AnyJSON.self, from: Array(text.utf8))
        #expect(String(decoding: try APICoding.encodeLine(value), as: UTF8.self) == text)
    }
}
