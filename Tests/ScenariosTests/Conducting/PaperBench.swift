import ControlAPI
import NIOCore
import NIOEmbedded
import SDLProtocol
import Testing

@testable import Scenarios

/// A relayd on paper: records the calls of a scenario and carries them out at once unless told otherwise. As
/// with the real one, an app is not found before it has registered, and rules are numbered across all runs.
actor PaperBench: ScenarioBench {
    private var list: [AppStatus] = []
    private var log: [String] = []
    private var errors: [String: ScenarioBenchError] = [:]
    private var held: CheckedContinuation<Void, Never>?
    private var holds: String?
    private var lastRule = 40
    private let asked: AsyncStream<String>.Continuation
    /// The calls, as they arrive.
    nonisolated let requests: AsyncStream<String>

    init() { (requests, asked) = AsyncStream.makeStream() }

    var calls: [String] { log }

    func has(_ app: Int, _ name: String, _ state: AppState = .registered) {
        list.append(
            AppStatus(
                id: app, peer: "p", connectedAt: Timestamp(millisecondsSince1970: 0), state: state,
                appName: name))
    }

    func refuse(_ call: String, _ error: ScenarioBenchError) { errors[call] = error }

    /// Withholds the answer to calls with this beginning.
    func hold(_ call: String) { holds = call }

    func letGo() {
        held?.resume()
        held = nil
    }

    /// - Parameter endsWithTask: Whether the call waits for a head unit: the real relayd withdraws it.
    private func take(
        _ call: String, endsWithTask: Bool = false
    ) async throws(ScenarioBenchError) {
        log.append(call)
        asked.yield(call)
        if let holds, call.hasPrefix(holds) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { held = $0 }
            } onCancel: {
                if endsWithTask { Task { await letGo() } }
            }
            if Task.isCancelled { throw .refused("\(call) was taken back") }
        }
        for (start, error) in errors where call.hasPrefix(start) { throw error }
    }

    // MARK: ScenarioBench

    func apps() async throws(ScenarioBenchError) -> [AppStatus] { list }

    func commands(of app: Int) async throws(ScenarioBenchError) -> [CommandReport] {
        [CommandReport(id: 4, spoken: ["play"])]
    }

    func inject(_ request: DriveRequest, to app: Int) async throws(ScenarioBenchError) {
        let words = (request.set ?? []).map { " \($0)" }.joined()
        try await take("#\(app) hears \(request.rpc)\(words)")
    }

    func send(
        _ request: DriveRequest, as app: Int
    ) async throws(ScenarioBenchError) -> DriveReport {
        try await take("#\(app) sends \(request.rpc)", endsWithTask: true)
        var report = DriveReport(
            summary: "", app: app, rpc: request.rpc, type: "request", remarks: [], milliseconds: 1)
        (report.success, report.resultCode) = (true, "SUCCESS")
        return report
    }

    func addFaults(_ request: FaultRequest) async throws(ScenarioBenchError) -> [Int] {
        lastRule += 1
        let rule = request.rules?.first.map { "\($0.filter): \($0.action)" }
        try await take("rule \(lastRule) \(rule ?? request.link ?? "")")
        return [lastRule]
    }

    func removeFault(_ rule: Int) async throws(ScenarioBenchError) {
        try await take("no rule \(rule)")
    }

    func disconnect(_ app: Int) async throws(ScenarioBenchError) { try await take("#\(app) goes") }

    func register(_ app: OwnAppRequest) async throws(ScenarioBenchError) -> Int? {
        try await take("\(app.name) registers", endsWithTask: true)
        has(9, app.name)
        return 9
    }

    func leave(_ name: String) async { try? await take("\(name) leaves") }

    func startSample(_ name: String, appID: String) async throws(ScenarioBenchError) {
        try await take("the sample app \(name)")
    }

    func endSamples() async { log.append("no sample apps") }
}
