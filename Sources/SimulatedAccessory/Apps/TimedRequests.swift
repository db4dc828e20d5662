// Requests that take time on a real head unit: alerts, which stay on the screen for a while, and
// audio pass-thru, which listens to the driver.

import NIOCore
import SDLProtocol

/// A request whose response is still to come.
struct TimedRequest: Sendable {
    enum Kind: Sendable {
        case alert
        /// Sends silence, a chunk at a time, until `end`.
        case audioPassThru(chunk: ByteBuffer, end: NIODeadline)
    }

    var request: Request
    var kind: Kind
    /// When something has to be done next.
    var due: NIODeadline
}

extension SimulatedAccessory {
    // MARK: Alerts

    /// Alerts are shown for as long as they ask, 3 to 10 s, 5 s by default (MOBILE_API, "Alert").
    private static let alertDurations: ClosedRange<Int64> = 3000...10_000
    private static let defaultAlertDuration: Int64 = 5000

    /// The screen has room for one alert at a time, whosever it is.
    mutating func beginAlert(_ request: Request) {
        guard !timedRequests.contains(where: \.isAlert) else {
            respond(to: request, .rejected, info: "another alert is on the screen")
            return
        }
        let wanted = request["duration"]?.integer ?? Self.defaultAlertDuration
        let range = Self.alertDurations
        let duration = min(max(wanted, range.lowerBound), range.upperBound)
        notifyHMIStatus(of: request.sessionID, systemContext: "ALERT")
        timedRequests.append(
            TimedRequest(request: request, kind: .alert, due: now + .milliseconds(duration)))
    }

    // MARK: Audio pass-thru

    /// sdl_core sends some chunks per second; five are enough for a level meter.
    private static let audioChunkInterval = TimeAmount.milliseconds(200)

    mutating func beginAudioPassThru(_ request: Request) {
        guard !timedRequests.contains(where: { !$0.isAlert }) else {
            respond(to: request, .rejected, info: "the microphone is in use")
            return
        }
        let rates: [String: Int] = [
            "8KHZ": 8000, "16KHZ": 16_000, "22KHZ": 22_050, "44KHZ": 44_100,
        ]
        guard let rate = rates[request["samplingRate"]?.string ?? ""],
            let duration = request["maxDuration"]?.integer, (1...1_000_000).contains(duration)
        else {
            respond(to: request, .invalidData, info: "samplingRate or maxDuration is not valid")
            return
        }
        // Silence is the middle of the range: 0x80 for 8 bits, 0 for 16.
        let isWide = request["bitsPerSample"]?.string == "16_BIT"
        let bytes = rate * (isWide ? 2 : 1) / 5
        let chunk = ByteBuffer(repeating: isWide ? 0 : 0x80, count: bytes)
        let end = now + .milliseconds(duration)
        timedRequests.append(
            TimedRequest(
                request: request, kind: .audioPassThru(chunk: chunk, end: end),
                due: min(now + Self.audioChunkInterval, end)))
    }

    mutating func endAudioPassThru(_ request: Request) {
        let index = timedRequests.firstIndex {
            !$0.isAlert && $0.request.sessionID == request.sessionID
        }
        guard let index else {
            respond(to: request, .rejected, info: "no audio pass-thru is running")
            return
        }
        respond(to: request, .success)
        respond(to: timedRequests.remove(at: index).request, .success)
    }

    // MARK: Time

    mutating func advanceTimedRequests() {
        let due = timedRequests.filter { $0.due <= now }
        timedRequests.removeAll { $0.due <= now }
        for var timed in due {
            switch timed.kind {
            case .alert:
                respond(to: timed.request, .success)
                notifyHMIStatus(of: timed.request.sessionID)
            case .audioPassThru(let chunk, let end):
                notify(.onAudioPassThru, [:], bulk: chunk, to: timed.request.sessionID)
                guard now < end else {
                    respond(to: timed.request, .success)
                    continue
                }
                timed.due = min(now + Self.audioChunkInterval, end)
                timedRequests.append(timed)
            }
        }
    }
}

extension TimedRequest {
    var isAlert: Bool {
        if case .alert = kind { true } else { false }
    }
}
