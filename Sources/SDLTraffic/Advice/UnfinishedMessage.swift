import RelayCore
import SDLAdvice
import SDLProtocol

/// A message of several frames whose app left before the last one. `AdviceRules` keeps it for the answer that
/// may still come, and for the app's next run.
struct UnfinishedMessage: Hashable, Sendable {
    /// Maximum messages kept; the oldest is dropped.
    static let maximum = 16
    /// sdl_core keeps the partial message for 10 s after its last frame (`ExpectedConsecutiveFramesTimeout`)
    /// and answers it when the next frame comes: a minute in nanoseconds.
    static let answerTime: Int64 = 60_000_000_000
    /// How long afterwards the next run is told: 10 min in nanoseconds.
    static let nextRunTime: Int64 = 600_000_000_000

    /// The registered app ID in lower case; nil when the app had not registered.
    var appID: String?
    var sessionID: UInt8
    var correlationID: Int32?
    /// For example, "PutFile #7".
    var name: String
    /// For example, "36 of 62 frames".
    var progress: String
    var time: WallTime

    func isYoung(at now: WallTime, _ limit: Int64) -> Bool {
        let age = now.nanoseconds &- time.nanoseconds
        return age >= 0 && age < limit
    }
}

extension AdviceRules {
    /// Remembers a message in the middle of which a session ended.
    mutating func remember(
        unfinished undecodable: UndecodableEntry, received: Int, announced: Int,
        _ entry: TrafficEntry
    ) {
        guard entry.direction == .fromApp, let session = entry.sessionID else { return }
        let header = undecodable.header
        let function = header.map { FunctionID(rawValue: $0.functionID).description }
        if unfinished.count == UnfinishedMessage.maximum { unfinished.removeFirst() }
        unfinished.append(
            UnfinishedMessage(
                appID: entry.registeredAppID?.lowercased(), sessionID: session,
                correlationID: header?.correlationID,
                name: function.map { "\($0) #\(header?.correlationID ?? 0)" } ?? "a message",
                progress: "\(received) of \(announced) frames", time: entry.time))
    }

    /// Advises that the app's previous run was cut off, so that the message it was sending is missing.
    mutating func considerPreviousRun(_ entry: TrafficEntry) {
        guard let appID = entry.registeredAppID?.lowercased(),
            let index = unfinished.lastIndex(where: { $0.appID == appID })
        else { return }
        let left = unfinished[index]
        // Reported once.
        unfinished.removeAll { $0.appID == appID }
        guard left.isYoung(at: entry.time, UnfinishedMessage.nextRunTime) else { return }
        advise(
            .leftInMessage, entry,
            "the previous run of this app left in the middle of \(left.name), after "
                + left.progress)
    }

    /// The unfinished message of an app that left, if this is the head unit's answer to it.
    func unfinished(answeredBy rpc: RPCEntry, _ entry: TrafficEntry) -> UnfinishedMessage? {
        unfinished.last {
            $0.sessionID == entry.sessionID && $0.correlationID == rpc.message.correlationID
                && $0.isYoung(at: entry.time, UnfinishedMessage.answerTime)
        }
    }
}
