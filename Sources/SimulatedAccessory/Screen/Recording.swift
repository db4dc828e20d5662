// Audio pass-thru: the driver's voice, sent to the app while the request is on the screen.

import NIOCore
import SDLProtocol

/// Silence, a chunk at a time.
struct Recording: Sendable {
    var chunk: ByteBuffer
    var nextChunk: NIODeadline

    /// sdl_core sends some chunks per second; five are enough for a level meter.
    static let interval = TimeAmount.milliseconds(200)

    init(_ request: Request, at now: NIODeadline) {
        let rates: [String: Int] = [
            "8KHZ": 8000, "16KHZ": 16_000, "22KHZ": 22_050, "44KHZ": 44_100,
        ]
        let rate = rates[request["samplingRate"]?.string ?? ""] ?? 16_000
        // Silence is the middle of the range: 0x80 for 8 bits, 0 for 16.
        let isWide = request["bitsPerSample"]?.string == "16_BIT"
        chunk = ByteBuffer(repeating: isWide ? 0 : 0x80, count: rate * (isWide ? 2 : 1) / 5)
        nextChunk = now + Self.interval
    }
}

extension SimulatedAccessory {
    mutating func advanceRecording() {
        guard let open = overlay, let recording = open.recording else { return }
        notify(.onAudioPassThru, [:], bulk: recording.chunk, to: open.owner)
        overlay?.recording?.nextChunk = now + Recording.interval
    }
}
