// Spoken texts, one after another, while the sound of apps is turned down.

import NIOCore
import SDLProtocol

/// A text that is being spoken, or waits for its turn.
struct Speech: Sendable {
    /// The request that is answered at the end; nil for a text that belongs to an overlay.
    var request: Request?
    var owner: UInt8
    var end: NIODeadline
}

extension Speech {
    /// How long a voice takes for each character, and at least for a text, in milliseconds.
    private static let characterDuration: Int64 = 60
    private static let shortest: Int64 = 300
    /// The longest time for one request, and for all that wait: an app that talks on and on is told to stop.
    private static let longest: Int64 = 10_000
    static let longestWait = TimeAmount.seconds(20)

    /// Time for the `ttsChunks` of a request, in milliseconds; nil when there are none.
    static func duration(of request: Request) -> Int64? {
        guard let chunks = request["ttsChunks"]?.array, !chunks.isEmpty else { return nil }
        let characters = chunks.reduce(0) { $0 + ($1["text"]?.string?.unicodeScalars.count ?? 0) }
        return min(max(Int64(min(characters, 1000)) * characterDuration, shortest), longest)
    }
}

extension SimulatedAccessory {
    mutating func speak(_ request: Request) {
        guard (speeches.last?.end ?? now) <= now + Speech.longestWait else {
            respond(to: request, .rejected, info: "too much is waiting to be said")
            return
        }
        _ = beginSpeech(of: request, answering: true)
        tellStatuses(first: request.sessionID)
    }

    /// Speaks the `ttsChunks` of a request after the texts before it.
    ///
    /// - Returns: When they will have been spoken; nil when there are none.
    mutating func beginSpeech(of request: Request, answering: Bool = false) -> NIODeadline? {
        guard let duration = Speech.duration(of: request) else { return nil }
        let end = max(speeches.last?.end ?? now, now) + .milliseconds(duration)
        speeches.append(
            Speech(request: answering ? request : nil, owner: request.sessionID, end: end))
        return end
    }

    mutating func advanceSpeeches() {
        while let speech = speeches.first, speech.end <= now {
            speeches.removeFirst()
            if let request = speech.request { respond(to: request, .success) }
            tellStatuses(first: speech.owner)
        }
    }
}
