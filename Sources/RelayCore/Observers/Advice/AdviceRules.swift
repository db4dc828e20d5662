// What is probably wrong, found in decoded traffic entry by entry; run by `TrafficAdvisor`.
//
// The rules are in files of one subject each: sessions, registrations, requests, payloads. To add
// one: a code and its page in SDLProtocol/Advice, a rule here, a dialogue in AdviceTests.

import SDLProtocol

/// The connection doctor. Pure: entries and what was known before them in, findings out.
///
/// A fault that was told within the last minute is not put into words again: an app that floods
/// brings advice with every message.
struct AdviceRules: Sendable {
    enum Finding: Sendable {
        case new(Advice)
        /// The same was found within the last minute.
        case again(AdviceKey, at: WallTime)
    }

    /// What was found since `take`.
    private var found: [Finding] = []
    private var limiter = AdviceLimiter()
    /// What is to be remembered of a session besides the facts.
    var sessions: [UInt8: SessionNotes] = [:]
    /// What the RPC specification has against requests that wait for their answer, by number of entry.
    var violations: [UInt64: [String]] = [:]

    /// Findings remembered for answers that may never come.
    static let maximumViolations = 256

    struct SessionNotes: Sendable {
        var app: AppID?
        var version: UInt8
        /// Of its StartServiceACK; 0 when that had none.
        var hashID: UInt32
        /// Audio and video as far as they run.
        var streams: Set<ServiceType> = []
        var isRegistered = false
        /// HMI level NONE, as far as the head unit said or did not say.
        var isInNone = true
        /// Heartbeats of the head unit since the app's last HeartbeatACK.
        var heartbeats = 0
        /// Frames of a second, requests of ten.
        var frames = RateWindow(seconds: 1)
        var requests = RateWindow(seconds: 10)
        var noneRequests = RateWindow(seconds: 10)
    }

    /// Looks at an entry.
    ///
    /// - Parameter table: The facts as they were before it.
    mutating func consider(_ entry: TrafficEntry, _ table: FactsTable) {
        if let large = entry.largeFrame { consider(large, entry) }
        switch entry.content {
        case .rpc(let rpc):
            guard entry.fate != .byRelay else { return }
            consider(rpc, entry, table)
        case .control(let control):
            guard entry.fate != .byRelay, entry.fate != .replaced else { return }
            consider(control, entry, table)
        case .stream(let summary): consider(summary, entry, table)
        case .undecodable(let undecodable): consider(undecodable, entry)
        case .dropped(let dropped): consider(dropped, entry)
        case .event(let event): consider(event, entry, table)
        case .security, .encrypted: break
        }
    }

    /// What was found since the last call.
    mutating func take() -> [Finding] {
        guard !found.isEmpty else { return [] }
        defer { found = [] }
        return found
    }

    /// The connection is closed.
    mutating func forget(_ app: AppID) {
        limiter.forget(app)
    }

    /// - Parameters:
    ///   - cause: Tells this advice from others of the same code and app.
    ///   - text: Asked for only when it is to be told.
    ///   - remedy: When there is a better one than the code's own.
    mutating func advise(
        _ code: AdviceCode, _ entry: TrafficEntry, cause: String = "",
        _ text: @autoclosure () -> String, remedy: @autoclosure () -> String? = nil
    ) {
        let key = AdviceKey(code: code, app: entry.app, cause: cause)
        guard limiter.allows(key, at: entry.time) else {
            found.append(.again(key, at: entry.time))
            return
        }
        let remedy = remedy() ?? code.page.firstRemedy
        found.append(
            .new(
                Advice(
                    code: code, time: entry.time, app: entry.app, appName: entry.appName,
                    sessionID: entry.sessionID, text: PrintableText.string(text(), limit: 500),
                    remedy: PrintableText.string(remedy, limit: 300),
                    entry: entry.number, cause: cause, lastTime: entry.time)))
    }

    private mutating func consider(
        _ rpc: RPCEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        count(entry)
        if let problem = rpc.problem {
            advise(
                .messageBroken, entry, cause: rpc.message.functionName,
                "\(Self.name(rpc)) of \(Self.side(entry)) \(problem)")
        }
        switch rpc.message.type {
        case .request: considerRequest(rpc, entry, table)
        case .response: considerResponse(rpc, entry, table)
        case .notification: considerNotification(rpc, entry, table)
        }
    }

    private mutating func consider(
        _ event: EventEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        switch event {
        case .appConnected, .linkOpened: break
        case .appClosed:
            sessions = sessions.filter { $0.value.app != entry.app }
        case .linkClosed: sessions = [:]
        case .missed: violations = [:]
        case .unanswered(let request, let waited):
            considerSilence(request, waited: waited, entry)
        case .unansweredStart(let waited): considerSilence(waited: waited, entry, table)
        case .noticed(let notice): consider(notice, entry)
        }
    }

    // MARK: Words

    /// "Show #12".
    static func name(_ rpc: RPCEntry) -> String {
        let function =
            rpc.message.functionID == .genericResponse
            ? rpc.request?.functionID.description ?? rpc.message.functionName
            : rpc.message.functionName
        return function + (rpc.message.correlationID.map { " #\($0)" } ?? "")
    }

    /// Who sent the entry.
    static func side(_ entry: TrafficEntry) -> String {
        entry.direction == .fromAccessory ? "the head unit" : "the app"
    }

    /// "10 s".
    static func seconds(_ nanoseconds: Int64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return "\(whole + (rest >= 500_000_000 ? 1 : 0)) s"
    }
}
