import Testing

@testable import relayctl

/// The beginnings of WAV files, both usual and malformed.
@Suite("The beginning of a WAV file") struct WaveHeaderTests {
    private static func number(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static func chunk(_ name: String, _ bytes: [UInt8], size: Int? = nil) -> [UInt8] {
        Array(name.utf8) + number(size ?? bytes.count, 4) + bytes
    }

    private static func format(
        _ kind: Int = 1, channels: Int = 2, rate: Int = 44_100, bits: Int = 16,
        more: [UInt8] = []
    ) -> [UInt8] {
        chunk(
            "fmt ",
            number(kind, 2) + number(channels, 2) + number(rate, 4)
                + number(rate * channels * bits / 8, 4) + number(channels * bits / 8, 2)
                + number(bits, 2) + more)
    }

    private static func file(_ chunks: [UInt8]...) -> [UInt8] {
        Array("RIFF".utf8) + number(chunks.joined().count + 4, 4) + Array("WAVE".utf8)
            + chunks.flatMap { $0 }
    }

    @Test("format, and where the sound is, also behind a title of odd length")
    func format() throws {
        let plain = try WaveHeader(Self.file(Self.format(), Self.chunk("data", [1, 2, 3, 4])))
        #expect(plain.rate == 44_100 && plain.bits == 16 && plain.channels == 2)
        #expect(plain.offset == 44 && plain.bytes == 4)
        let titled = try WaveHeader(
            Self.file(
                Self.format(channels: 1, rate: 16_000), Self.chunk("LIST", [1, 2, 3]) + [0],
                Self.chunk("data", [1, 2])))
        #expect(titled.offset == 56 && titled.bytes == 2 && titled.channels == 1)
        let piped = try WaveHeader(
            Self.file(Self.format(), Self.chunk("data", [], size: 0xFFFF_FFFF)))
        #expect(piped.bytes == nil)
        let extensible = Self.format(
            0xFFFE, more: Self.number(22, 2) + [UInt8](repeating: 0, count: 6) + [1, 0])
        #expect(try WaveHeader(Self.file(extensible, Self.chunk("data", [1]))).rate == 44_100)
    }

    @Test("what cannot be streamed says why")
    func problems() {
        #expect(throws: WaveHeader.Problem(message: "its format is 85, expected 1 (PCM)")) {
            _ = try WaveHeader(Self.file(Self.format(85), Self.chunk("data", [1])))
        }
        #expect(throws: WaveHeader.Problem.self) {
            _ = try WaveHeader(Self.file(Self.chunk("data", [1])))
        }
        #expect(throws: WaveHeader.Problem.self) { _ = try WaveHeader(Self.file(Self.format())) }
        // Sizes beyond the end, and no size at all.
        let huge = Self.file(Self.chunk("LIST", [], size: 0xFFFF_FFFE))
        #expect(throws: WaveHeader.Problem.self) { _ = try WaveHeader(huge) }
        for count in 0..<44 {
            let file = Self.file(Self.format(), Self.chunk("data", [1, 2]))
            #expect(throws: WaveHeader.Problem.self) {
                _ = try WaveHeader(Array(file.prefix(count)))
            }
        }
        #expect(WaveHeader.isWave(Self.file()))
        #expect(!WaveHeader.isWave(Array("RIFF".utf8)))
    }
}
