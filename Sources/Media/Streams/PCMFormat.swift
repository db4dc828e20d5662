package import SDLProtocol

/// The format of sampled sound: always one channel (MOBILE_API, "SamplingRate" and "BitsPerSample").
package struct PCMFormat: Hashable, Sendable {
    /// Samples per second.
    package var rate: Int
    /// 8, unsigned, or 16, signed and little-endian.
    package var bits: Int

    /// The format that head units usually announce.
    package static let usual = PCMFormat(rate: 16_000, bits: 16)

    package init(rate: Int, bits: Int) {
        (self.rate, self.bits) = (rate, bits)
    }

    /// From `samplingRate` and `bitsPerSample` of PerformAudioPassThru or of AudioPassThruCapabilities; nil
    /// if they are absent or unknown.
    package init?(_ parameters: JSONObject) {
        guard let rate = parameters.string("samplingRate").flatMap({ Self.rates[$0] }),
            let bits = parameters.string("bitsPerSample").flatMap({ Self.sizes[$0] })
        else { return nil }
        self.init(rate: rate, bits: bits)
    }

    private static let rates = [
        "8KHZ": 8000, "16KHZ": 16_000, "22KHZ": 22_050, "44KHZ": 44_100,
    ]
    private static let sizes = ["8_BIT": 8, "16_BIT": 16]

    package var bytesPerSample: Int { bits / 8 }

    /// The playing time of so many bytes, in nanoseconds.
    package func nanoseconds(_ bytes: Int) -> Int64 {
        let samples = bytes / max(1, bytesPerSample)
        let (whole, part) = samples.quotientAndRemainder(dividingBy: max(1, rate))
        return Int64(whole) &* 1_000_000_000
            &+ Int64(part) &* 1_000_000_000 / Int64(max(1, rate))
    }
}

extension PCMFormat: CustomStringConvertible {
    /// For example, "PCM 16 kHz 16 bit".
    package var description: String {
        let (kilo, rest) = rate.quotientAndRemainder(dividingBy: 1000)
        var text = "\(kilo)"
        if rest > 0 {
            text += "." + String(String(1000 + rest).dropFirst())
            while text.hasSuffix("0") { text.removeLast() }
        }
        return "PCM \(text) kHz \(bits) bit"
    }
}
