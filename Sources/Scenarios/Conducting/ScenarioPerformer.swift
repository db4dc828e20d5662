import ControlAPI
import MessageFilters
import SDLProtocol

/// Performs the requests of a scenario, one after the other, and at the end undoes what it has added. Used by
/// `ScenarioConductor`.
actor ScenarioPerformer {
    private let bench: any ScenarioBench
    private let mayHarmOthers: Bool
    /// Where the bench is called; nil for the default executor.
    private let executor: (any TaskExecutor)?
    /// Names of the apps that relayd plays for this run.
    private var ownApps: [String] = []
    /// The request that waits for a head unit, which may take long.
    private var waiting: Task<ScenarioReply, Never>?
    private var hasGivenUp = false

    init(_ bench: any ScenarioBench, mayHarmOthers: Bool, executor: (any TaskExecutor)?) {
        (self.bench, self.mayHarmOthers) = (bench, mayHarmOthers)
        self.executor = executor
    }

    func perform(_ action: ScenarioAction) async -> ScenarioReply {
        switch action {
        case .send, .start:
            guard !hasGivenUp else { return .refused("the scenario is over") }
            let task = Task(executorPreference: executor) { await self.carryOut(action) }
            waiting = task
            defer { waiting = nil }
            return await task.value
        default: return await carryOut(action)
        }
    }

    /// Called when the scenario is over: nobody waits for a head unit any more.
    func giveUp() {
        hasGivenUp = true
        waiting?.cancel()
    }

    private func carryOut(_ action: ScenarioAction) async -> ScenarioReply {
        do throws(ScenarioBenchError) {
            return try await reply(to: action)
        } catch {
            switch error {
            case .refused(let reason): return .refused(reason)
            case .unusable(let reason): return .unusable(reason)
            }
        }
    }

    private func reply(
        to action: ScenarioAction
    ) async throws(ScenarioBenchError) -> ScenarioReply {
        switch action {
        case .start(let app): return .started(try await start(app))
        case .inject(let target, let words, let parameters):
            return .said(rpc: try await inject(target, words, parameters))
        case .respond(let app, let rpc, let correlationID, let parameters):
            try await bench.inject(
                DriveRequest(
                    rpc: rpc, type: "response", parameters: parameters,
                    correlationID: correlationID), to: app)
            return .done
        case .send(let target, let rpc, let parameters, let patience):
            return try await send(target, rpc, parameters, patience)
        case .addFault(let filter, let action):
            return try await add(
                FaultRequest(rules: [FaultRuleRequest(filter: filter, action: action)]))
        case .addLinkFault(let words): return try await add(FaultRequest(link: words))
        case .removeFault(let rule):
            try await bench.removeFault(rule)
            return .done
        case .disconnect(let target):
            try await bench.disconnect(try await find(target))
            return .done
        }
    }

    // MARK: Saying

    private func inject(
        _ target: ScenarioTarget, _ text: String, _ parameters: AnyJSON?
    ) async throws(ScenarioBenchError) -> String {
        let app = try await find(target)
        var last = ""
        for said in try await notifications(text, parameters, app) {
            try await bench.inject(
                DriveRequest(
                    rpc: said.rpc, parameters: parameters, set: said.set.isEmpty ? nil : said.set),
                to: app)
            last = said.rpc
        }
        return last
    }

    /// The notifications for the words of a step.
    private func notifications(
        _ text: String, _ parameters: AnyJSON?, _ app: Int
    ) async throws(ScenarioBenchError) -> [InjectShortForm.Words] {
        let words = Self.words(text)
        let rpc = words.first ?? ""
        guard InjectShortForm.names.contains(rpc) else {
            guard words.count == 1 else {
                throw .unusable(
                    "inject: found \"\(ScenarioWord.shown(text))\"; expected the name of an RPC, or a short "
                        + "form: " + InjectShortForm.names.joined(separator: ", "))
            }
            return [InjectShortForm.Words(rpc: rpc, set: [])]
        }
        guard parameters == nil else {
            throw .unusable("\(rpc) is a short form; parameters: go with the name of an RPC")
        }
        let rest = Array(words.dropFirst())
        let commands = rpc == "voice" ? try await bench.commands(of: app) : []
        do throws(InjectShortForm.Mistake) {
            return rpc == "voice"
                ? try InjectShortForm.voice(rest.joined(separator: " "), commands)
                : try InjectShortForm.expand(rpc, rest)
        } catch {
            throw .unusable(error.message)
        }
    }

    /// Splits the text at spaces; quoted text is one word.
    static func words(_ text: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in text {
            if character == "\"" {
                isQuoted.toggle()
                word = word ?? ""
            } else if character.isWhitespace, !isQuoted {
                if let whole = word { words.append(whole) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let whole = word { words.append(whole) }
        return words
    }

    private func send(
        _ target: ScenarioTarget, _ rpc: String, _ parameters: AnyJSON?, _ patience: Duration
    ) async throws(ScenarioBenchError) -> ScenarioReply {
        let milliseconds = Int(clamping: Int64((patience.asSeconds * 1000).rounded()))
        let wait = min(
            max(milliseconds, DriveRequest.timeouts.lowerBound), DriveRequest.timeouts.upperBound)
        let report = try await bench.send(
            DriveRequest(rpc: rpc, parameters: parameters, timeoutMilliseconds: wait),
            as: try await find(target))
        guard let success = report.success else {
            return .answered(success: true, resultCode: "", parameters: .object([:]))
        }
        return .answered(
            success: success, resultCode: report.resultCode ?? "",
            parameters: report.response ?? .object([:]))
    }

    // MARK: Faults

    private func add(_ request: FaultRequest) async throws(ScenarioBenchError) -> ScenarioReply {
        var request = request
        if mayHarmOthers { request.mayHarmOthers = true }
        return .faultAdded(try await bench.addFaults(request).first)
    }

    // MARK: Apps

    /// Finds an app by the number of its connection, or by its name.
    private func find(_ target: ScenarioTarget) async throws(ScenarioBenchError) -> Int {
        if let connection = target.connection { return connection }
        let pattern = TextPattern(typed: target.pattern)
        let apps = try await bench.apps().filter { app in
            app.state == .registered
                && (app.appName.map(pattern.matches) ?? false
                    || app.appID.map(pattern.matches) ?? false)
        }
        let shown = ScenarioWord.shown(target.pattern)
        guard let app = apps.first else {
            throw .refused("no registered app fits \"\(shown)\"")
        }
        guard apps.count == 1 else {
            throw .refused("\"\(shown)\" fits \(apps.count) apps: " + Self.list(apps))
        }
        return app.id
    }

    /// Maximum number of names listed.
    private static let listed = 10

    private static func list(_ apps: [AppStatus]) -> String {
        let names = apps.prefix(listed).map { app in
            "#\(app.id)" + (app.appName.map { " \(ScenarioWord.shown($0))" } ?? "")
        }.joined(separator: ", ")
        return apps.count > listed ? "\(names) and \(apps.count - listed) more" : names
    }

    private func start(_ app: Scenario.App) async throws(ScenarioBenchError) -> Int? {
        switch app.kind {
        case .connects: return nil
        case .sample(let name, let appID):
            try await bench.startSample(name, appID: appID)
            return nil
        case .own(let name, let appID, let hmiTypes):
            let number = try await bench.register(
                OwnAppRequest(
                    name: name, appID: appID, hmiTypes: hmiTypes.isEmpty ? nil : hmiTypes))
            ownApps.append(name)
            return number
        }
    }

    /// Undoes what the run has added.
    ///
    /// - Returns: Why something could not be undone, for people.
    func cleanUp(faults: Set<Int>) async -> String? {
        var problem: String?
        for rule in faults.sorted() {
            do throws(ScenarioBenchError) {
                try await bench.removeFault(rule)
            } catch {
                switch error {
                case .refused(let reason), .unusable(let reason):
                    problem = "fault rule \(rule) could not be removed: \(reason)"
                }
            }
        }
        for name in ownApps { await bench.leave(name) }
        await bench.endSamples()
        return problem
    }
}
