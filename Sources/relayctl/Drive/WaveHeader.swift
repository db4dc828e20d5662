import SDLProtocol

/// The beginning of a WAV file, up to its sound (RIFF WAVE, "Multimedia Programming Interface 1.0").
struct WaveHeader: Equatable {
    /// Samples per second.
    var rate: Int
    /// Bits per sample of one channel.
    var bits: Int
    var channels: Int
    /// Where the sound begins.
    var offset: Int
    /// Bytes of sound; nil where the file does not say, as when it was written into a pipe.
    var bytes: Int?

    /// Why a file that begins like a WAV file cannot be used.
    struct Problem: Error, Equatable {
        let message: String
    }

    /// The sound has to begin within this many bytes: titles and pictures may precede it.
    static let maximumBytes = 1 << 16

    static func isWave(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: "RIFF".utf8) && bytes.dropFirst(8).starts(with: "WAVE".utf8)
    }

    /// - Parameter bytes: The beginning of a file that `isWave`.
    init(_ bytes: [UInt8]) throws(Problem) {
        func number(_ offset: Int, _ count: Int) -> Int? {
            guard offset >= 0, count <= bytes.count, offset <= bytes.count - count else {
                return nil
            }
            return bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        var place = 12
        var format: (rate: Int, bits: Int, channels: Int)?
        while let size = number(place + 4, 4), place + 8 <= bytes.count {
            let name = bytes[place..<place + 4]
            if name.elementsEqual("fmt ".utf8) {
                // 1 is PCM; 0xFFFE gives the format further on, which is nearly always PCM as well.
                guard let kind = number(place + 8, 2), let channels = number(place + 10, 2),
                    let rate = number(place + 12, 4), let bits = number(place + 22, 2)
                else { break }
                guard kind == 1 || kind == 0xFFFE && number(place + 32, 2) == 1 else {
                    throw Problem(message: "its format is \(kind), expected 1 (PCM)")
                }
                format = (rate, bits, channels)
            } else if name.elementsEqual("data".utf8) {
                guard let format else {
                    throw Problem(message: "it does not say its format before its sound")
                }
                (rate, bits, channels) = format
                offset = place + 8
                self.bytes = size == 0 || size == 0xFFFF_FFFF ? nil : size
                return
            }
            // Chunks begin at even places.
            place += 8 + size + size % 2
        }
        throw Problem(message: "there is no sound in its first \(Self.maximumBytes >> 10) KiB")
    }
}
