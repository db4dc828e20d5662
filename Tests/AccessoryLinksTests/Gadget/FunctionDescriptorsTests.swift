import Testing

@testable import AccessoryLinks

@Suite("FunctionDescriptors")
struct FunctionDescriptorsTests {
    private static func bytes(_ hex: String) -> [UInt8] {
        hex.split { $0 == " " || $0 == "\n" }.compactMap { UInt8($0, radix: 16) }
    }

    // Laid out by hand after linux/usb/functionfs.h and USB 2.0, 9.6; a kernel 6.1 accepts them.
    private static let accessory = """
        03 00 00 00  69 00 00 00  c7 00 00 00
        03 00 00 00  03 00 00 00  05 00 00 00
        09 04 00 00 02 ff ff 00 01
        07 05 81 02 40 00 00
        07 05 02 02 40 00 00
        09 04 00 00 02 ff ff 00 01
        07 05 81 02 00 02 00
        07 05 02 02 00 02 00
        09 04 00 00 02 ff ff 00 01
        07 05 81 02 00 04 00
        06 30 00 00 00 00
        07 05 02 02 00 04 00
        06 30 00 00 00 00
        """

    @Test("one vendor interface with a bulk pair, at three speeds")
    func accessory() {
        let bytes = FunctionDescriptors().descriptorBytes
        #expect(bytes == Self.bytes(Self.accessory))
        // 12 bytes of header, 12 of counts, 23 + 23 + 35 of descriptors.
        #expect(bytes.count == 105)
    }

    @Test("its name, in US English")
    func name() {
        let expected =
            Self.bytes("02 00 00 00  2e 00 00 00  01 00 00 00  01 00 00 00  09 04")
            + Array("Android Accessory Interface".utf8) + [0]
        #expect(FunctionDescriptors().stringBytes == expected)
        #expect(expected.count == 0x2e)
    }

    @Test("with adb a second interface follows, whose endpoints are others")
    func adb() {
        let bytes = FunctionDescriptors(hasADB: true).descriptorBytes
        #expect(bytes.count == 24 + 2 * (23 + 23 + 35))
        #expect(Int(bytes[4]) == bytes.count)
        // The first descriptors, at full speed.
        let expected = """
            09 04 00 00 02 ff ff 00 01
            07 05 81 02 40 00 00
            07 05 02 02 40 00 00
            09 04 01 00 02 ff 42 01 02
            07 05 83 02 40 00 00
            07 05 04 02 40 00 00
            """
        #expect(Array(bytes[24..<24 + 46]) == Self.bytes(expected))
        #expect(Array(bytes[12..<24]) == Self.bytes("06 00 00 00 06 00 00 00 0a 00 00 00"))
        let names = FunctionDescriptors(hasADB: true).stringBytes
        #expect(Int(names[4]) == names.count)
        #expect(names.suffix(14) == Array("ADB Interface".utf8) + [0])
        #expect(names.count { $0 == 0 } >= 2)
    }
}
