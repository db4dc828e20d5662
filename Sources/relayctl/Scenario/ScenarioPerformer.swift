import ArgumentParser
import ControlAPI
import MessageFilters
import NIOCore
import Scenarios

/// Does what a scenario asks for, through the control API of a running relayd, one thing after the other.
/// Used by `ScenarioRunner`.
actor ScenarioPerformer {
    private let client: ControlClient
    private let mayHarmOthers: Bool
    private var samples: [ScenarioSampleApp] = []
    /// Names of apps that relayd is because of this run.
    private var ownApps: [String] = []

    init(_ client: ControlClient, mayHarmOthers: Bool) {
        (self.client, self.mayHarmOthers) = (client, mayHarmOthers)
    }

    func perform(_ action: ScenarioAction) async -> ScenarioReply {
        do {
            return try await reply(to: action)
        } catch let error as ControlClientError {
            return Self.reply(to: error)
        } catch let error as ValidationError {
            return .unusable(SafeText.line(error.message))
        } catch {
            return .refused(SafeText.line("\(error)"))
        }
    }

    /// What is wrong with the scenario or the bench, and what only did not happen.
    private static func reply(to error: ControlClientError) -> ScenarioReply {
        guard case .refused(_, _, _, _, let code, let message) = error else {
            return .unusable(SafeText.line("\(error)"))
        }
        switch code {
        case .notFound, .ambiguous, .conflict, .noAnswer: return .refused(message)
        default: return .unusable(message)
        }
    }

    private func reply(to action: ScenarioAction) async throws -> ScenarioReply {
        switch action {
        case .start(let app): return .started(try await start(app))
        case .inject(let target, let words, let parameters):
            return .said(rpc: try await inject(target, words, parameters))
        case .respond(let app, let rpc, let correlationID, let parameters):
            _ = try await client.change(
                DriveReport.self, "POST", Routes.path(Routes.inject, "\(app)"),
                DriveRequest(
                    rpc: rpc, type: "response", parameters: parameters,
                    correlationID: correlationID))
            return .done
        case .send(let target, let rpc, let parameters, let patience):
            return try await send(target, rpc, parameters, patience)
        case .addFault(let filter, let action):
            return try await add(
                FaultRequest(rules: [FaultRuleRequest(filter: filter, action: action)]))
        case .addLinkFault(let words): return try await add(FaultRequest(link: words))
        case .removeFault(let rule):
            try await remove(rule)
            return .done
        case .disconnect(let target):
            _ = try await client.change(
                ActionReport.self, "POST",
                Routes.path(Routes.disconnect, try await find(target)),
                ReasonRequest(reason: "a scenario"))
            return .done
        }
    }

    // MARK: Saying

    private func inject(
        _ target: ScenarioTarget, _ text: String, _ parameters: AnyJSON?
    ) async throws -> String {
        let app = try await find(target)
        let words = Self.words(text)
        let rpc = words.first ?? ""
        let said: [InjectShortForm.Words]
        if InjectShortForm.names.contains(rpc) {
            guard parameters == nil else {
                throw ValidationError(
                    "\(rpc) is a short form; parameters: go with the name of an RPC")
            }
            let rest = Array(words.dropFirst())
            if rpc == "voice" {
                let known = try await client.ask(AppReport.self, Routes.path(Routes.app, app)).value
                said = try InjectShortForm.voice(rest.joined(separator: " "), known.menu.commands)
            } else {
                said = try InjectShortForm.expand(rpc, rest)
            }
        } else {
            guard words.count == 1 else {
                throw ValidationError(
                    "inject: found \"\(SafeText.clean(text))\"; expected the name of an RPC, or a short form: "
                        + InjectShortForm.names.joined(separator: ", "))
            }
            said = [InjectShortForm.Words(rpc: rpc, set: [])]
        }
        for words in said {
            _ = try await client.change(
                DriveReport.self, "POST", Routes.path(Routes.inject, app),
                DriveRequest(
                    rpc: words.rpc, parameters: parameters,
                    set: words.set.isEmpty ? nil : words.set))
        }
        return said.last?.rpc ?? rpc
    }

    /// Separated by spaces; what is in quotes is one word.
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
    ) async throws -> ScenarioReply {
        let milliseconds = Int(clamping: Int64((patience.asSeconds * 1000).rounded()))
        let wait = min(
            max(milliseconds, DriveRequest.timeouts.lowerBound), DriveRequest.timeouts.upperBound)
        var client = client
        client.timeout = client.timeout + .milliseconds(Int64(wait))
        let report = try await client.change(
            DriveReport.self, "POST", Routes.path(Routes.send, try await find(target)),
            DriveRequest(rpc: rpc, parameters: parameters, timeoutMilliseconds: wait)
        ).value
        guard let success = report.success else {
            return .answered(success: true, resultCode: "", parameters: .object([:]))
        }
        return .answered(
            success: success, resultCode: report.resultCode ?? "",
            parameters: report.response ?? .object([:]))
    }

    // MARK: Faults

    private func add(_ request: FaultRequest) async throws -> ScenarioReply {
        var request = request
        if mayHarmOthers { request.mayHarmOthers = true }
        let list = try await client.change(FaultList.self, "POST", Routes.faults, request).value
        return .faultAdded(list.rules.first?.id)
    }

    /// One that is not there any more is as good as removed.
    private func remove(_ rule: Int) async throws {
        do {
            _ = try await client.change(
                ActionReport.self, "DELETE", Routes.path(Routes.fault, "\(rule)"))
        } catch let error as ControlClientError {
            guard case .refused(_, _, _, _, .notFound?, _) = error else { throw error }
        }
    }

    // MARK: Apps

    /// As the API finds it: by the number of its connection, or its name.
    private func find(_ target: ScenarioTarget) async throws -> String {
        if let connection = target.connection { return "\(connection)" }
        let pattern = TextPattern(typed: target.pattern)
        let apps = try await client.ask(AppList.self, Routes.apps).value.apps.filter { app in
            app.state == .registered
                && (app.appName.map(pattern.matches) ?? false
                    || app.appID.map(pattern.matches) ?? false)
        }
        guard let app = apps.first else {
            throw Missing(
                description: "no registered app fits \"\(SafeText.clean(target.pattern))\"")
        }
        guard apps.count == 1 else {
            throw Missing(
                description:
                    "\"\(SafeText.clean(target.pattern))\" fits \(apps.count) apps: "
                    + ControlClient.list(apps))
        }
        return "\(app.id)"
    }

    private struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    private func start(_ app: Scenario.App) async throws -> Int? {
        switch app.kind {
        case .connects: return nil
        case .sample(let name, let appID):
            samples.append(try await ScenarioSampleApp.start(name, appID, client))
            return nil
        case .own(let name, let appID, let hmiTypes):
            var client = client
            client.timeout = client.timeout + .milliseconds(Int64(2 * OwnAppRequest.patience))
            let report = try await client.change(
                OwnAppReport.self, "POST", Routes.apps,
                OwnAppRequest(
                    name: name, appID: appID, hmiTypes: hmiTypes.isEmpty ? nil : hmiTypes)
            ).value
            ownApps.append(name)
            return report.app
        }
    }

    /// Takes back what the run has added.
    ///
    /// - Returns: Why something is left, for people.
    func cleanUp(faults: Set<Int>) async -> String? {
        var problem: String?
        for rule in faults.sorted() {
            do { try await remove(rule) } catch {
                problem = "fault rule \(rule) could not be removed: \(SafeText.line("\(error)"))"
            }
        }
        for name in ownApps {
            // It may have left by itself.
            _ = try? await client.change(
                OwnAppReport.self, "POST", Routes.apps, OwnAppRequest(name: name, leave: true))
        }
        for sample in samples { await sample.leave() }
        return problem
    }
}
