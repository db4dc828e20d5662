import ControlAPI
import Media
import NIOCore
import SDLProtocol

/// What to stream, from the query of `POST /v1/apps/:app/stream`.
struct StreamRequest: Equatable {
    var service = ServiceType.video
    var framesPerSecond = StreamQueryKey.usualFramesPerSecond
    var width = StreamQueryKey.usualWidth
    var height = StreamQueryKey.usualHeight
    var videoProtocol = "RAW"
    var rate = StreamQueryKey.usualRate
    var bits = 16
    var channels = 1
    var session: UInt8?
    var timeout = TimeAmount.milliseconds(Int64(DriveRequest.usualTimeout))

    /// - Throws: `APIError` about an invalid value: what was found, what was expected.
    init(_ query: RequestQuery) throws(APIError) {
        var seen: Set<StreamQueryKey> = []
        for (name, text) in query.items {
            guard let key = StreamQueryKey(rawValue: name) else {
                throw Self.wrong(
                    "there is no \"\(PrintableText.string(name, limit: 40))\" in the query of a stream; "
                        + "expected \(StreamQueryKey.allCases.map(\.rawValue).joined(separator: ", "))"
                )
            }
            guard seen.insert(key).inserted else {
                throw Self.wrong("\"\(key.rawValue)\" is given twice; expected once")
            }
            switch key {
            case .service:
                guard let service = ServiceType(name: text), service.isStream else {
                    throw Self.unexpected(key, text, "video or audio")
                }
                self.service = service
            case .fps: framesPerSecond = try Self.fps(text)
            case .width: width = try Self.number(text, key, StreamQueryKey.sizes)
            case .height: height = try Self.number(text, key, StreamQueryKey.sizes)
            case .videoProtocol:
                guard StreamQueryKey.protocols.contains(text) else {
                    throw Self.unexpected(key, text, "RAW or RTP")
                }
                videoProtocol = text
            case .rate: rate = try Self.number(text, key, StreamQueryKey.rates)
            case .bits:
                bits = try Self.number(text, key, 8...32)
                guard StreamQueryKey.sampleBits.contains(bits) else {
                    throw Self.unexpected(key, text, "8, 16, 24 or 32")
                }
            case .channels: channels = try Self.number(text, key, StreamQueryKey.channelCounts)
            case .session: session = UInt8(clamping: try Self.number(text, key, 1...255))
            case .timeout:
                timeout = .milliseconds(Int64(try Self.number(text, key, DriveRequest.timeouts)))
            }
        }
    }

    /// The parameters the head unit is asked for.
    var wish: BSONDocument {
        guard service == .video else { return BSONDocument() }
        return [
            ControlKey.height: .int32(Int32(clamping: height)),
            ControlKey.width: .int32(Int32(clamping: width)),
            ControlKey.videoProtocol: .string(videoProtocol),
            ControlKey.videoCodec: .string("H264"),
        ]
    }

    /// Bytes of one sample of all channels.
    var sampleBytes: Int { bits / 8 * channels }

    private static func fps(_ text: String) throws(APIError) -> Double {
        guard let number = Double(text), StreamQueryKey.framesPerSecond.contains(number) else {
            throw unexpected(.fps, text, "1 to 120")
        }
        return number
    }

    private static func number(
        _ text: String, _ key: StreamQueryKey, _ range: ClosedRange<Int>
    ) throws(APIError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw unexpected(key, text, "\(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func unexpected(
        _ key: StreamQueryKey, _ text: String, _ expected: String
    ) -> APIError {
        wrong(
            "\"\(key.rawValue)\" is \"\(PrintableText.string(text, limit: 40))\"; expected \(expected)"
        )
    }

    private static func wrong(_ message: String) -> APIError { APIError(.badRequest, message) }
}

/// Cuts the input into pieces with a duration: a picture, or a moment of sound. A value; holds one piece and
/// the input that came with its end.
struct StreamPieces {
    struct Piece: Equatable {
        /// The bytes sent to the head unit.
        var bytes: ByteBuffer
        /// Bytes of the original stream in it; packets are larger.
        var streamBytes: Int
        /// Duration in nanoseconds.
        var duration: Int64
    }

    private enum Content {
        case video(AccessUnitCutter, RTPPacketiser?)
        case audio(ByteBuffer)
    }

    private var content: Content
    private let request: StreamRequest
    /// For sound: bytes of a piece.
    private let soundBytes: Int
    /// Nanoseconds from the beginning of the stream.
    private var time: Int64 = 0

    /// Milliseconds of sound in one piece: as much as apps hand over at a time.
    static let soundMilliseconds = 50

    /// - Parameter isRTP: The head unit takes packets.
    init(_ request: StreamRequest, isRTP: Bool) {
        self.request = request
        let samples = max(1, request.rate * Self.soundMilliseconds / 1000)
        soundBytes = samples * request.sampleBytes
        content =
            request.service == .audio
            ? .audio(ByteBuffer())
            : .video(
                AccessUnitCutter(), isRTP ? RTPPacketiser(source: .random(in: 0...UInt32.max)) : nil
            )
    }

    mutating func append(_ bytes: ByteBuffer) {
        switch content {
        case .video(var cutter, let packetiser):
            content = .audio(ByteBuffer())
            cutter.append(bytes)
            content = .video(cutter, packetiser)
        case .audio(var sound):
            content = .audio(ByteBuffer())
            sound.discardReadBytes()
            sound.writeImmutableBuffer(bytes)
            content = .audio(sound)
        }
    }

    /// The next complete piece.
    mutating func next() -> Piece? {
        take {
            $0.next()
        } sound: {
            $0.readableBytes >= $1 ? $1 : 0
        }
    }

    /// The rest at the end of the input.
    mutating func finish() -> Piece? {
        take {
            $0.finish()
        } sound: {
            min($0.readableBytes, $1)
        }
    }

    private mutating func take(
        _ unit: (inout AccessUnitCutter) -> AccessUnitCutter.Piece?,
        sound count: (ByteBuffer, Int) -> Int
    ) -> Piece? {
        switch content {
        case .video(var cutter, var packetiser):
            content = .audio(ByteBuffer())
            defer { content = .video(cutter, packetiser) }
            guard let piece = unit(&cutter) else { return nil }
            let bytes = packetiser?.packets(of: piece.bytes, at: time) ?? piece.bytes
            let duration = piece.isPart ? 0 : Int64(1e9 / request.framesPerSecond)
            time &+= duration
            return Piece(
                bytes: bytes, streamBytes: piece.bytes.readableBytes, duration: duration)
        case .audio(var sound):
            content = .audio(ByteBuffer())
            defer { content = .audio(sound) }
            let size = count(sound, soundBytes)
            guard size > 0, let bytes = sound.readSlice(length: size) else { return nil }
            let samples = Int64(size / request.sampleBytes)
            return Piece(
                bytes: bytes, streamBytes: size,
                duration: samples &* 1_000_000_000 / Int64(request.rate))
        }
    }
}
