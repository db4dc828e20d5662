import NIOCore
package import SDLProtocol

/// What a message's bulk data is besides its size, as far as the traffic says; made by
/// `TrafficDecoder`, which alone has all of its bytes.
package struct BulkFacts: Hashable, Sendable {
    /// Of OnAudioPassThru: as the session's latest PerformAudioPassThru asked for.
    package var audio: AudioFormat?
    /// Of everything else: what its first bytes say. A later piece of a file has no first bytes.
    package var kind: BulkKind?
    /// Of a request with `crc`: whether its data has that checksum.
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

    /// "PNG 70×70", "PCM 16 kHz 16 bit"; nil when nothing says.
    package var name: String? { audio?.description ?? kind?.description }
}

/// How audio is recorded: "PCM 16 kHz 16 bit".
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
