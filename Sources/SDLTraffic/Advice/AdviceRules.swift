// Finds probable faults in decoded traffic, entry by entry; run by `TrafficAdvisor`.
//
// The rules are in one file for each subject: sessions, registrations, requests, payloads, and relayd's own
// actions and observations. To add one: a code and its page in SDLAdvice, a rule here, a dialogue in
// AdviceDialogues.

import RelayCore
import SDLAdvice
import SDLProtocol

/// The connection doctor. Pure: entries and the facts known before them in, findings out.
///
/// A fault that was reported within the last minute is not put into words again: an app that floods causes
/// advice with every message.
struct AdviceRules: Sendable {
    enum Finding: Sendable {
        /// New, or to be reported again.
        case new(Advice)
        /// The same fault was reported not long ago.
        case again(AdviceKey, at: WallTime)
        /// The fault that was reported has turned out not to be one.
        case withdrawn(AdviceKey)
    }

    /// Findings since `take`.
    private var found: [Finding] = []
    private var limiter = AdviceLimiter()
    /// Notes on each session besides the facts.
    var sessions: [UInt8: SessionNotes] = [:]
    /// Violations of the RPC specification by unanswered requests, by number of entry.
    var violations: [UInt64: [String]] = [:]

    /// The beginning of the link's address: "tcp", "serial", …
    var linkKind = ""
    /// App IDs, in lower case, that registered on this link and did not unregister.
    var registeredIDs: Set<String> = []
    /// Messages that apps left unfinished, oldest first.
    var unfinished: [UnfinishedMessage] = []
    /// StartServices that asked for protection and are not answered yet.
    var protectedStarts: Set<PendingStarts.Key> = []

    /// Maximum requests whose violations are remembered for answers that may never come.
    static let maximumViolations = 256

    struct SessionNotes: Sendable {
        var app: AppID?
        /// The audio and video services that are running.
        var streams: Set<ServiceType> = []
        var isRegistered = false
        /// HMI level NONE, the default until the head unit reports another.
        var isInNone = true
        /// Heartbeats of the head unit since the app's last HeartbeatACK.
        var heartbeats = 0
        /// The frames that head units count: see `Limit`.
        var frames = RateWindow(milliseconds: 1000)
        /// sdl_core 8.2 counts requests in NONE over 10 ms, though its documentation says 10 s.
        var noneRequests = RateWindow(milliseconds: 10)
    }

    /// Checks an entry.
    ///
    /// - Parameter table: The facts as they were before it.
    mutating func consider(_ entry: TrafficEntry, _ table: FactsTable) {
        if let large = entry.largeFrame { consider(large, entry) }
        switch entry.content {
        case .rpc(let rpc):
            guard !entry.isOfRelay else { return }
            consider(rpc, entry, table)
        case .control(let control):
            guard entry.fate != .replaced else { return }
            guard entry.fate != .byRelay else { return considerRelay(control, entry) }
            consider(control, entry, table)
        case .stream(let summary): consider(summary, entry, table)
        case .undecodable(let undecodable): consider(undecodable, entry)
        case .dropped(let dropped): consider(dropped, entry)
        case .event(let event): consider(event, entry, table)
        case .security, .encrypted: break
        }
    }

    /// The findings since the last call.
    mutating func take() -> [Finding] {
        guard !found.isEmpty else { return [] }
        defer { found = [] }
        return found
    }

    /// Forgets a closed connection: that of an app, or the link if nil.
    mutating func forget(_ app: AppID?) {
        limiter.forget(app)
    }

    /// - Parameters:
    ///   - cause: Distinguishes this advice from others of the same code and app.
    ///   - text: Evaluated only when the advice is passed on.
    ///   - remedy: A better remedy than that of the code, if there is one.
    ///   - isAboutLink: Whether it is the same whichever app's message showed it.
    mutating func advise(
        _ code: AdviceCode, _ entry: TrafficEntry, cause: String = "",
        _ text: @autoclosure () -> String, remedy: @autoclosure () -> String? = nil,
        fault: FaultSide? = nil, isAboutLink: Bool = false
    ) {
        let app = isAboutLink ? nil : entry.app
        let key = AdviceKey(code: code, app: app, cause: cause)
        guard limiter.found(key, at: entry.time) else {
            found.append(.again(key, at: entry.time))
            return
        }
        let remedy = remedy() ?? code.page.firstRemedy
        found.append(
            .new(
                Advice(
                    code: code, time: entry.time, app: app,
                    appName: isAboutLink ? nil : entry.appName,
                    sessionID: isAboutLink ? nil : entry.sessionID,
                    text: PrintableText.string(text(), limit: 500),
                    remedy: PrintableText.string(remedy, limit: 300), entry: entry.number,
                    fault: fault, cause: key.cause, lastTime: entry.time)))
    }

    /// Withdraws advice that has turned out not to be about a fault.
    mutating func withdraw(_ code: AdviceCode, _ entry: TrafficEntry, cause: String = "") {
        let key = AdviceKey(code: code, app: entry.app, cause: cause)
        limiter.forget(key)
        found.append(.withdrawn(key))
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
        case .appConnected: break
        case .linkOpened(_, let address):
            linkKind = address.prefix { $0 != ":" }.lowercased()
        case .appClosed:
            sessions = sessions.filter { $0.value.app != entry.app }
            protectedStarts = protectedStarts.filter { $0.app != entry.app }
        case .session(let event): consider(event, entry)
        case .linkClosed:
            sessions = [:]
            registeredIDs = []
            unfinished = []
            protectedStarts = []
            forget(nil)
        case .missed: violations = [:]
        case .unanswered(let request, let waited):
            considerSilence(request, waited: waited, entry)
        case .unansweredStart(let waited): considerSilence(waited: waited, entry, table)
        case .noticed(let notice): consider(notice, entry)
        }
    }

    // MARK: Words

    /// For example, "Show #12".
    static func name(_ rpc: RPCEntry) -> String {
        let function =
            rpc.message.functionID == .genericResponse
            ? rpc.request?.functionID.description ?? rpc.message.functionName
            : rpc.message.functionName
        return function + (rpc.message.correlationID.map { " #\($0)" } ?? "")
    }

    static func side(_ entry: TrafficEntry) -> String {
        entry.direction == .fromAccessory ? "the head unit" : "the app"
    }

    /// For example, "10 s".
    static func seconds(_ nanoseconds: Int64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return "\(whole + (rest >= 500_000_000 ? 1 : 0)) s"
    }
}
