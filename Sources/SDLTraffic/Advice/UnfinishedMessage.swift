import RelayCore
import SDLAdvice
import SDLProtocol

/// A message of several frames whose app left before the last one; kept by `AdviceRules` for the
/// answer that may still come, and for the app's next run.
struct UnfinishedMessage: Hashable, Sendable {
    /// Kept at once, the oldest given up.
    static let maximum = 16
    /// sdl_core keeps the half for 10 s after its last frame (`ExpectedConsecutiveFramesTimeout`)
    /// and answers it when the next frame comes: a minute in nanoseconds.
    static let answerTime: Int64 = 60_000_000_000
    /// How long a next run is told: 10 min in nanoseconds.
    static let nextRunTime: Int64 = 600_000_000_000

    /// In lower case, as it registered; nil when it had not.
    var appID: String?
    var sessionID: UInt8
    var correlationID: Int32?
    /// "PutFile #7".
    var name: String
    /// "36 of 62 frames".
    var progress: String
    var time: WallTime

    func isYoung(at now: WallTime, _ limit: Int64) -> Bool {
        let age = now.nanoseconds &- time.nanoseconds
        return age >= 0 && age < limit
    }
}

extension AdviceRules {
    /// A session ended in the middle of a message.
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

    /// The app's previous run was cut off: what it was sending is not there.
    mutating func considerPreviousRun(_ entry: TrafficEntry) {
        guard let appID = entry.registeredAppID?.lowercased(),
            let index = unfinished.lastIndex(where: { $0.appID == appID })
        else { return }
        let left = unfinished[index]
        // Told once.
        unfinished.removeAll { $0.appID == appID }
        guard left.isYoung(at: entry.time, UnfinishedMessage.nextRunTime) else { return }
        advise(
            .leftInMessage, entry,
            "the previous run of this app left in the middle of \(left.name), after "
                + left.progress)
    }

    /// An answer that no app waits for, of the head unit, to what an app that left had begun.
    func unfinished(answeredBy rpc: RPCEntry, _ entry: TrafficEntry) -> UnfinishedMessage? {
        unfinished.last {
            $0.sessionID == entry.sessionID && $0.correlationID == rpc.message.correlationID
                && $0.isYoung(at: entry.time, UnfinishedMessage.answerTime)
        }
    }
}
