// Overlays that cover the screen for a while, one at a time, and how they end without a user.

import NIOCore
import SDLProtocol

/// A request that is on the screen in front of the app's template, and is answered when it goes.
struct Overlay: Sendable {
    enum Kind: Hashable, Sendable {
        case alert
        case subtleAlert
        case scrollableMessage
        case slider
        case interaction
        case audioPassThru
    }

    var request: Request
    var kind: Kind
    /// When it ends by itself.
    var end: NIODeadline
    /// The audio sent to the app until then; nil for anything but audio pass-thru.
    var recording: Recording?

    var owner: UInt8 { request.sessionID }
    /// When something next has to be done.
    var due: NIODeadline { min(recording?.nextChunk ?? end, end) }
}

extension Overlay.Kind {
    /// Nil for functions that show no overlay.
    init?(_ function: FunctionID) {
        switch function {
        case .alert: self = .alert
        case .subtleAlert: self = .subtleAlert
        case .scrollableMessage: self = .scrollableMessage
        case .slider: self = .slider
        case .performInteraction: self = .interaction
        case .performAudioPassThru: self = .audioPassThru
        default: return nil
        }
    }

    var isAlert: Bool { self == .alert || self == .subtleAlert }
    /// Whether CancelInteraction can end it.
    var canBeCancelled: Bool { self != .audioPassThru }

    /// A new overlay of a higher rank replaces the one on the screen; any other is rejected.
    private var rank: Int {
        switch self {
        case .subtleAlert: 1
        case .scrollableMessage, .slider, .interaction: 2
        case .alert, .audioPassThru: 3
        }
    }

    func mayReplace(_ other: Overlay.Kind) -> Bool { rank > other.rank }
}

// MARK: - Time

extension Overlay.Kind {
    /// How long the request stays, in milliseconds (limits and defaults: MOBILE_API).
    func duration(of request: Request) -> Int64 {
        let (name, range, usual): (String, ClosedRange<Int64>, Int64) =
            switch self {
            case .alert, .subtleAlert: ("duration", 3000...10_000, 5000)
            case .scrollableMessage: ("timeout", 1000...65_535, 30_000)
            case .slider: ("timeout", 1000...65_535, 10_000)
            case .interaction: ("timeout", 5000...100_000, 10_000)
            case .audioPassThru: ("maxDuration", 1...1_000_000, 1)
            }
        let wanted = request[name]?.integer ?? usual
        return min(max(wanted, range.lowerBound), range.upperBound)
    }
}

// MARK: - Ends

extension Overlay {
    /// How the request ended, for its response.
    struct Outcome {
        var result: ResultCode
        var info: String?
        var parameters: JSON = [:]
    }

    /// The outcome when the user touches nothing.
    var outcomeOfTime: Outcome {
        switch kind {
        case .alert, .subtleAlert:
            hasButtons
                ? Outcome(result: .aborted, info: "no soft button was pressed")
                : Outcome(result: .success)
        case .scrollableMessage, .audioPassThru: Outcome(result: .success)
        case .slider: Outcome(result: .timedOut, parameters: sliderPosition)
        case .interaction: Outcome(result: .timedOut)
        }
    }

    /// The outcome when something else ends it.
    func outcomeOfAbort(_ why: String) -> Outcome {
        Outcome(result: .aborted, info: why, parameters: kind == .slider ? sliderPosition : [:])
    }

    private var hasButtons: Bool { request["softButtons"]?.array?.isEmpty == false }
    private var sliderPosition: JSON { ["sliderPosition": request["position"] ?? 1] }

    /// Whether it shows a keyboard, in which case the app is told of the end.
    var isKeyboard: Bool {
        kind == .interaction && request["interactionLayout"]?.string == "KEYBOARD"
    }

    /// Whether a CancelInteraction means this overlay.
    func isMeant(by cancellation: Request) -> Bool {
        guard owner == cancellation.sessionID,
            Int64(request.functionID.rawValue) == cancellation["functionID"]?.integer
        else { return false }
        guard let id = cancellation["cancelID"]?.integer else { return true }
        return request["cancelID"]?.integer == id
    }
}
