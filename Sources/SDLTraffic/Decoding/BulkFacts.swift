import NIOCore
package import SDLProtocol

/// What is known about a message's bulk data besides its size; made by `TrafficDecoder`, which alone has all
/// the bytes.
package struct BulkFacts: Hashable, Sendable {
    /// For OnAudioPassThru: the format requested by the session's latest PerformAudioPassThru.
    package var audio: AudioFormat?
    /// For everything else: the kind that the first bytes show. A later piece of a file has no first bytes.
    package var kind: BulkKind?
    /// For a request with `crc`: whether its data has that checksum.
    package var isChecksumRight: Bool?

    init?(_ message: RPCMessage, audio: AudioFormat?) {
        guard message.bulkBytes > 0 else { return nil }
        if message.functionID == .onAudioPassThru {
            self.audio = audio
        } else if (message.parameters.integer("offset") ?? 0) == 0 {
            kind = BulkKind(message.bulk)
        }
        if message.functionID == .putFile, message.bulk.readableBytes == message.bulkBytes,
            let crc = message.parameters.integer("crc")
        {
            isChecksumRight = crc == Int(CRC32.checksum(of: message.bulk))
        }
        guard self.audio != nil || kind != nil || isChecksumRight != nil else { return nil }
    }

    /// "PNG 70×70", "PCM 16 kHz 16 bit"; nil when unknown.
    package var name: String? { audio?.description ?? kind?.description }
}

/// The format of recorded audio: "PCM 16 kHz 16 bit".
package struct AudioFormat: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// From a PerformAudioPassThru; nil when it names no sampling rate (MOBILE_API, "SamplingRate",
    /// "BitsPerSample" and "AudioType").
    init?(_ request: RPCMessage) {
        let parameters = request.parameters
        guard let rate = parameters.string("samplingRate").flatMap({ Self.rates[$0] }) else {
            return nil
        }
        let bits = parameters.string("bitsPerSample").flatMap { Self.bits[$0] } ?? ""
        description = "PCM \(rate)\(bits)"
    }

    private static let rates = [
        "8KHZ": "8 kHz", "16KHZ": "16 kHz", "22KHZ": "22.05 kHz", "44KHZ": "44.1 kHz",
    ]
    private static let bits = ["8_BIT": " 8 bit", "16_BIT": " 16 bit"]
}
