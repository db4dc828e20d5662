// What covers the screen for a while: pop-ups, one at a time, and how they end without a user.

import NIOCore
import SDLProtocol

/// A request that is on the screen in front of the app's template, and answered when it goes.
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
    /// When it goes by itself.
    var end: NIODeadline
    /// Sound for the app until then; nil for anything but audio pass-thru.
    var recording: Recording?

    var owner: UInt8 { request.sessionID }
    /// When something has to be done next.
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
    /// By CancelInteraction.
    var canBeCancelled: Bool { self != .audioPassThru }

    /// A newcomer of a higher rank takes the place of what is there; any other is rejected.
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
    /// How long the request stays, in milliseconds (MOBILE_API; the defaults are there as well).
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
    /// How it went, as its response says.
    struct Outcome {
        var result: ResultCode
        var info: String?
        var parameters: JSON = [:]
    }

    /// Nobody touched it.
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

    /// Something else took its place.
    func outcomeOfAbort(_ why: String) -> Outcome {
        Outcome(result: .aborted, info: why, parameters: kind == .slider ? sliderPosition : [:])
    }

    private var hasButtons: Bool { request["softButtons"]?.array?.isEmpty == false }
    private var sliderPosition: JSON { ["sliderPosition": request["position"] ?? 1] }

    /// Whether it shows a keyboard, whose end an app is told.
    var isKeyboard: Bool {
        kind == .interaction && request["interactionLayout"]?.string == "KEYBOARD"
    }

    /// Whether CancelInteraction means this.
    func isMeant(by cancellation: Request) -> Bool {
        guard owner == cancellation.sessionID,
            Int64(request.functionID.rawValue) == cancellation["functionID"]?.integer
        else { return false }
        guard let id = cancellation["cancelID"]?.integer else { return true }
        return request["cancelID"]?.integer == id
    }
}
