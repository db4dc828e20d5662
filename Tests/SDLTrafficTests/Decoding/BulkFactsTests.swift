import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
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
        #expect(put(#","crc":3421780262"#).contains("bulk 9 B text crc ok"))
        #expect(put(#","crc":3421780263"#).contains("bulk 9 B text crc wrong!"))
        #expect(!put("").contains("crc"))
    }

    @Test(
        "the line of a file says what it is, and JSON too",
        arguments: [
            (.putFile, "{}", TrafficFeed.image, "bulk 24 B PNG 70×70"),
            (.putFile, #"{"offset":0}"#, TrafficFeed.image, "bulk 24 B PNG 70×70"),
            (.putFile, "{}", ByteBuffer(string: "GIF89a\u{10}\0\u{8}\0"), "bulk 10 B GIF 16×8"),
            (.putFile, "{}", ByteBuffer(string: "RIFF....WAVE"), "bulk 12 B WAV"),
            (
                .systemRequest, #"{"requestType":"HTTP"}"#, ByteBuffer(string: #"{"a":1}"#),
                "bulk 7 B JSON"
            ),
            // A later piece of a file may begin with any bytes.
            (.putFile, #"{"offset":100}"#, ByteBuffer(string: "BM, said he"), "bulk 11 B"),
            (.putFile, "{}", ByteBuffer(bytes: [0, 1, 2, 3]), "bulk 4 B"),
        ] as [(FunctionID, String, ByteBuffer, String)])
    func kinds(function: FunctionID, json: String, bulk: ByteBuffer, expected: String) throws {
        var talk = Dialogue()
        talk.opens()
        talk.rpc(.fromApp, .request, function, 1, json, bulk: bulk)
        #expect(try #require(talk.lastLine).contains("  \(expected)  "))
        let kind = expected.split(separator: " B").dropFirst().first.map { $0.dropFirst() }
        let object = try #require(talk.lines(TrafficLog.Configuration(format: .json)).last)
        #expect(object.contains("bulk_kind") == (kind != nil))
        if let kind { #expect(object.contains(#""bulk_kind":"\#(kind)""#)) }
    }

    @Test("a message that was cut at the assembler's limit still says what it is")
    func cut() {
        var limits = MessageAssembler.Limits()
        limits.maximumMessageBytes = 60
        var talk = Dialogue(limits: limits)
        talk.opens()
        talk.inFrames(
            of: 20, .request, .putFile, #"{"crc":1}"#,
            bulk: ByteBuffer(
                bytes: TrafficFeed.image.readableBytesView + Array(repeating: 0, count: 976)))
        #expect(talk.lastLine?.contains("bulk 1000 B PNG 70×70  1021 B in 53 frames") == true)
    }
}
