package import NIOCore

/// The beginning of a WAV file with PCM: RIFF, `fmt ` and the head of `data`, 44 bytes (Microsoft and IBM,
/// Multimedia Programming Interface 1.0, "Waveform Audio File Format").
package enum WAVHeader {
    package static let bytes = 44
    /// The size for a file whose end is not known yet, as streaming players accept it.
    private static let open = UInt32.max
    private static let pcm: UInt16 = 1
    private static let channels: UInt16 = 1

    /// - Parameter dataBytes: The bytes of all samples, at most `MediaLimits.maximumSoundBytes`; nil while
    ///   unknown. When it is odd, a zero byte follows the samples.
    package static func make(_ format: PCMFormat, dataBytes: Int?) -> ByteBuffer {
        let size = dataBytes.map { UInt32(clamping: $0) } ?? open
        let padded = size &+ (size & 1)
        // The size of everything after the first eight bytes.
        let whole =
            size == open
            ? open
            : padded.addingReportingOverflow(UInt32(bytes - 8))
                .partialValue
        var header = ByteBuffer()
        header.writeString("RIFF")
        header.writeInteger(whole, endianness: .little)
        header.writeString("WAVEfmt ")
        header.writeInteger(16, endianness: .little, as: UInt32.self)
        header.writeInteger(pcm, endianness: .little)
        header.writeInteger(channels, endianness: .little)
        header.writeInteger(UInt32(clamping: format.rate), endianness: .little)
        header.writeInteger(
            UInt32(clamping: format.rate * format.bytesPerSample), endianness: .little)
        header.writeInteger(UInt16(clamping: format.bytesPerSample), endianness: .little)
        header.writeInteger(UInt16(clamping: format.bits), endianness: .little)
        header.writeString("data")
        header.writeInteger(size, endianness: .little)
        return header
    }
}
