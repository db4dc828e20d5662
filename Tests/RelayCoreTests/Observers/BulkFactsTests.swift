import NIOCore
import RelayCore
import SDLProtocol
import Testing

@Suite struct BulkFactsTests {
    @Test("recorded audio is named as its session asked for it")
    func audio() {
        var talk = Dialogue()
        talk.opens()
        let sound = ByteBuffer(repeating: 0x80, count: 320)
        talk.rpc(.fromAccessory, .notification, .onAudioPassThru, 0, "{}", bulk: sound)
        #expect(talk.lines().last?.contains("bulk 320 B") == true)
        #expect(talk.lines().last?.contains("PCM") == false)
        for (rate, bits, words) in [
            ("16KHZ", "16_BIT", "bulk 320 B PCM 16 kHz 16 bit"),
            ("44KHZ", "8_BIT", "bulk 320 B PCM 44.1 kHz 8 bit"),
        ] {
            talk.rpc(
                .fromApp, .request, .performAudioPassThru, 5,
                #"{"samplingRate":"\#(rate)","bitsPerSample":"\#(bits)","audioType":"PCM"}"#)
            talk.rpc(.fromAccessory, .notification, .onAudioPassThru, 0, "{}", bulk: sound)
            #expect(talk.lines().last?.contains(words) == true)
        }
    }

    @Test("a file's checksum is compared, and the line says how it came out")
    func checksum() {
        var talk = Dialogue()
        talk.opens()
        func put(_ more: String) -> String {
            talk.rpc(
                .fromApp, .request, .putFile, 1, #"{"syncFileName":"f"\#(more)}"#,
                bulk: ByteBuffer(string: "123456789"))
            return talk.lines().last ?? ""
        }
        // The check value of CRC-32.
        #expect(put(#","crc":3421780262"#).contains("bulk 9 B crc ok"))
        #expect(put(#","crc":3421780263"#).contains("bulk 9 B crc wrong!"))
        #expect(!put("").contains("crc"))
    }
}
