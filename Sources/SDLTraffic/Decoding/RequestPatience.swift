import SDLProtocol

/// How long an answer may take, in nanoseconds, before its absence is worth a warning, and which answers wait
/// for a person: the only list of those. Used by `TrafficDecoder`, both formats of the log and the
/// statistics; readers of messages and statistics see it as `waits_for_people`.
enum RequestPatience {
    /// sdl_core answers for an HMI that does not answer within its `DefaultTimeout`, 10 s; an app library
    /// waits as long.
    static let usual: Int64 = 10_000_000_000
    /// Requests for speech and for decisions name no time: a minute is long for both.
    static let people: Int64 = 60_000_000_000
    /// App libraries give up on a StartService after 10 s or more; real units took 14 s.
    static let startService: Int64 = 10_000_000_000
    private static let millisecond: Int64 = 1_000_000
    /// The longest time that the RPC specification allows in a request, 1000 s (PerformAudioPassThru), so
    /// that a wrong number cannot silence the warning.
    private static let longest = 1_000_000

    /// The parameter in which a request gives its own time, and its default value in milliseconds
    /// (MOBILE_API, parameter `defvalue`).
    private static let named: [FunctionID: (parameter: String, milliseconds: Int)] = [
        .alert: ("duration", 5000),
        .subtleAlert: ("duration", 5000),
        .scrollableMessage: ("timeout", 30_000),
        .slider: ("timeout", 10_000),
        .performInteraction: ("timeout", 10_000),
        .performAudioPassThru: ("maxDuration", longest),
    ]

    /// Answered after something was said, or after a person has decided.
    private static let unbounded: Set<FunctionID> = [
        .speak, .alertManeuver, .dialNumber, .getInteriorVehicleDataConsent,
        .performAppServiceInteraction,
    ]

    static func of(_ request: RPCMessage) -> Int64 {
        if let named = named[request.functionID] {
            var time = request.parameters.integer(named.parameter) ?? named.milliseconds
            time = min(max(0, time), longest)
            // First asked by voice, then shown as a list, each for the full time.
            let isBoth = request.parameters.string("interactionMode") == "BOTH"
            // Speech before the display takes its time as well.
            let speaks = request.parameters.value("ttsChunks") != nil
            return usual + Int64(time) * millisecond * (isBoth ? 2 : 1) + (speaks ? people : 0)
        }
        return unbounded.contains(request.functionID) ? usual + people : usual
    }

    /// Whether the answer waits for a person to read, say or choose something.
    static func dependsOnPeople(_ function: FunctionID) -> Bool {
        named[function] != nil || unbounded.contains(function)
    }
}

extension RPCEntry {
    /// Whether the answer comes after a person has read, said or chosen something.
    var waitsForPeople: Bool {
        RequestPatience.dependsOnPeople(request?.functionID ?? message.functionID)
    }
}
