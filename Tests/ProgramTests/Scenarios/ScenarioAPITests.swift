// Scenarios that relayd runs itself, requested over its API, with the built program.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

/// `POST /v1/scenarios/run` as curl makes it: the lines of its answer while the scenario runs.
private struct APIRun {
    private let curl: ChildProcess

    /// - Parameter scenario: In YAML.
    static func start(
        _ scenario: String, _ relayd: Relayd, query: String = ""
    ) async throws -> APIRun {
        let file = try relayd.directory.write(scenario, to: "run.yaml")
        return APIRun(
            curl: try await ChildProcess.start(
                "curl",
                [
                    "-sN", "--unix-socket", relayd.controlSocket, "--data-binary", "@\(file)",
                    "http://relayd\(Routes.scenarioRun)\(query)",
                ], environment: Program.environment()))
    }

    /// Returns when the step has this outcome.
    func reaches(_ step: Int, _ outcome: String) async throws {
        _ = try await curl.output.wait(for: "step \(step) \(outcome)") { lines in
            Self.events(lines).first { $0.step?.number == step && $0.step?.outcome == outcome }
        }
    }

    /// All events, once the answer is complete.
    func ended() async throws -> [ScenarioEvent] {
        #expect(try await curl.ended() == .exited(0))
        return Self.events(try await curl.output.untilEnd())
    }

    /// Ends the client in the middle of the answer.
    func leave() { curl.signal(SIGKILL) }

    private static func events(_ lines: [String]) -> [ScenarioEvent] {
        lines.compactMap { try? APICoding.decode(ScenarioEvent.self, from: Array($0.utf8)) }
    }
}

@Suite("Scenarios that relayd runs, asked for by the API", .serialized)
struct ScenarioAPITests {
    private static func bench(
        config: String = Relayd.driving, _ body: (Relayd) async throws -> Void
    ) async throws {
        try await Relayd.run(accessory: "sim:?lenient=on", config: config) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            try await body(relayd)
        }
    }

    private static func ready(_ name: String, _ relayd: Relayd) async throws -> String {
        let answer = try await ControlRequest.get(Routes.scenarios, at: relayd.controlSocket)
        let list = try APICoding.decode(ScenarioList.self, from: answer.body)
        #expect(list.running == nil)
        return try #require(list.scenarios.first { $0.name == name }).text
    }

    private static func logged(_ relayd: Relayd, _ words: String) async throws {
        _ = try await relayd.process.errors.wait(for: "the log: \(words)") { lines in
            lines.first { $0.contains(words) }
        }
    }

    /// Waits until relayd has ended a scenario that a client left behind, which takes moments.
    private static func idle(_ relayd: Relayd) async throws {
        for _ in 0..<200 {
            let answer = try await ControlRequest.get(Routes.scenarios, at: relayd.controlSocket)
            if try APICoding.decode(ScenarioList.self, from: answer.body).running == nil { return }
            try await relayd.until("a moment later") { _ in true }
        }
        Issue.record("a scenario still runs")
    }

    /// Stops the running scenario.
    private static func stop(_ relayd: Relayd) async throws -> String {
        try await ChildProcess.run(
            "curl",
            [
                "-s", "-X", "DELETE", "--unix-socket", relayd.controlSocket,
                "http://relayd\(Routes.scenarioRun)",
            ], environment: Program.environment()
        ).output
    }

    private static let waiting = """
        scenario: Waits for ever
        apps: {tester: {as: RPC tester}}
        steps:
          - fault: rpc:Show
            do: delay 10ms
            app: tester
          - wait: rpc:Alert
            app: tester
            within: 1h
        """

    @Test("a ready one runs, its steps are told as they come, and it takes back what it has added")
    func ready() async throws {
        try await Self.bench { relayd in
            let text = try await Self.ready("low-memory", relayd)
            let run = try await APIRun.start(text, relayd, query: "?app=Radio&set=patience=20s")
            try await run.reaches(2, "running")
            let app = try await ScriptedApp.start(relayd).app
            let answer = try await app.ask(.putFile, ScriptedApp.putFile, bulk: 500)
            #expect(answer.contains(#""resultCode":"OUT_OF_MEMORY""#), "\(answer)")
            try await run.reaches(3, "running")
            try await app.ask(.show, #"{"mainField1":"without a cover"}"#)
            let events = try await run.ended()
            let first = try #require(events.first)
            #expect(first.event == .begun && first.scenario == "The head unit has no memory left")
            #expect(first.steps?.map(\.outcome) == ["open", "open", "open", "open"])
            let over = events.compactMap(\.step).filter { $0.outcome == "passed" }
            #expect(over.map(\.number) == [1, 2, 3, 4])
            #expect(events.last?.event == .ended && events.last?.outcome == "passed")
            #expect(try await relayd.status().faults == nil)
            try await Self.logged(
                relayd, #"drive: the scenario "The head unit has no memory left" passed, by uid"#)
        }
    }

    @Test("an app that has just registered is found, and what it said before is no part of the run")
    func momentsBefore() async throws {
        try await Self.bench { relayd in
            for number in 1...2 {
                let app = try await relayd.connectApp()
                let session = try await app.startSession().sessionID
                try await app.register("Radio\(number)", session: session)
                // More than the observers have seen when the last answer comes.
                for message in 50...500 as ClosedRange<UInt32> {
                    try await app.send(
                        .rpc(
                            session: session, message: message, correlation: Int32(message)))
                }
                while try await app.next().rpcHeader?.correlationID != 500 {}
                let answer = try await ControlRequest.post(
                    Routes.scenarioRun,
                    """
                    scenario: From now on
                    apps: {radio: Radio\(number)}
                    steps:
                      - never: rpc:Show
                        app: radio
                        for: 100ms
                      - inject: hmi FULL
                        app: radio
                    """, at: relayd.controlSocket)
                #expect(answer.text.contains(#""outcome":"passed""#), "\(answer.text)")
                #expect(!answer.text.contains(#""outcome":"failed""#), "\(answer.text)")
                await app.close()
            }
        }
    }

    @Test("a failed step has what was expected and what came; what an app has said is text in it")
    func failed() async throws {
        try await Self.bench { relayd in
            let run = try await APIRun.start(
                """
                scenario: A wrong text
                apps: {radio: Radio}
                steps:
                  - wait: rpc:Show
                    check: {mainField1: Hello}
                  - pause: 1s
                """, relayd)
            try await run.reaches(1, "running")
            let app = try await ScriptedApp.start(relayd).app
            try await app.ask(.show, #"{"mainField1":"<img src=x>\u202e"}"#)
            let events = try await run.ended()
            let step = try #require(events.compactMap(\.step).first { $0.outcome == "failed" })
            #expect(step.line == 4)
            #expect(step.failure?.summary == "the message is not as expected")
            let difference = try #require(step.failure?.differences.first)
            #expect(difference.path == "mainField1" && difference.expected == "\"Hello\"")
            #expect(difference.found?.contains("<img src=x>") == true, "\(difference)")
            #expect(events.compactMap(\.step).last?.outcome == "skipped")
            #expect(events.last?.outcome == "failed")
        }
    }

    @Test("the sample app and an app of relayd's own come, and are gone at the end")
    func apps() async throws {
        try await Self.bench { relayd in
            let run = try await APIRun.start(
                """
                scenario: Two apps
                apps: {tester: {as: RPC tester}, sample: {sample: Sampler}}
                steps:
                  - wait: rpc:PutFile kind:request
                    app: sample
                  - send: Show
                    app: tester
                    parameters: {mainField1: Hello}
                  - inject: hmi FULL
                    app: tester
                  - disconnect:
                    app: sample
                """, relayd)
            let events = try await run.ended()
            try #require(events.last?.outcome == "passed", "\(events)")
            _ = try await relayd.until("both are gone") { $0.apps.isEmpty }
            // With their names, once relayd knows them.
            try await Self.logged(relayd, "drive: OnHMIStatus to app #1")
            try await Self.logged(relayd, "drive: app #2")
        }
    }

    @Test("there is one at a time; a client that leaves ends its own, and nothing of it stays")
    func left() async throws {
        try await Self.bench { relayd in
            let run = try await APIRun.start(Self.waiting, relayd)
            try await run.reaches(2, "running")
            let status = try await relayd.status()
            #expect(status.faults?.rules == 1 && status.apps.count == 1)
            let other = try await ControlRequest.post(
                Routes.scenarioRun, "{scenario: s, steps: [{pause: 1s}]}", at: relayd.controlSocket)
            #expect(other.statusLine.contains(" 409 "), "\(other.statusLine)")
            #expect(other.text.contains(#"the scenario \"Waits for ever\" is running"#))
            run.leave()
            try await Self.idle(relayd)
            let after = try await relayd.status()
            #expect(after.faults == nil && after.apps.isEmpty)
            try await Self.logged(relayd, "could not be used, step 2: the client has left")
        }
    }

    @Test("somebody else ends it; who runs it is told how far it came")
    func stopped() async throws {
        try await Self.bench { relayd in
            let run = try await APIRun.start(Self.waiting, relayd)
            try await run.reaches(2, "running")
            #expect(try await Self.stop(relayd).contains(#"the scenario \"Waits for ever\" ends"#))
            let events = try await run.ended()
            #expect(events.last?.outcome == "unusable")
            let step = events.compactMap(\.step).last
            #expect(step?.number == 2 && step?.failure?.summary == "ended, as somebody asked")
            try await Self.idle(relayd)
            #expect(try await Self.stop(relayd).contains("no scenario runs"))
        }
    }

    @Test(
        "a head unit that does not answer holds up nobody: ended, the place is free, and so is the app's"
    )
    func silentHeadUnit() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", config: Relayd.driving
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.registered("Radio", with: headUnit)
                let scenario = """
                    scenario: Sends
                    apps: {radio: Radio}
                    steps: [{send: GetDTCs, parameters: {ecuName: 1}, within: 1m}]
                    """
                let run = try await APIRun.start(scenario, relayd)
                let request = try await headUnit.next()
                #expect(RPCHeader(request.payload)?.functionID == FunctionID.getDTCs.rawValue)
                let start = ContinuousClock.now
                let stop = try await Self.stop(relayd)
                #expect(stop.contains(#"the scenario \"Sends\" ends"#))
                let events = try await run.ended()
                #expect(events.last?.outcome == "unusable")
                // Far below the 15 s that it once took, and the minute that the step allows.
                #expect(start.duration(to: .now) < .seconds(10))
                try await Self.logged(
                    relayd, "GetDTCs to the head unit: whoever asked has not waited for the answer")
                // The late answer reaches nobody; what the app hears next is its own.
                try await headUnit.send(try #require(request.success))
                try await Self.logged(relayd, "answered GetDTCs of relayd's too late")
                try await headUnit.checkBothWays(app, session: 1)
                await app.close()
            }
        }
    }

    @Test(
        "a client that does not read its steps holds up nobody: the place is free when it is over")
    func slowClient() async throws {
        try await Self.bench { relayd in
            // More than the buffers between both hold.
            let steps = String(repeating: "  - pause: 0s\n    name: \(Self.long)\n", count: 3000)
            let begin = NIODeadline.now()
            let client = try await ControlRequest.unread(
                Routes.scenarioRun, "scenario: Nobody reads\nsteps:\n" + steps,
                at: relayd.controlSocket)
            let end = try await relayd.process.errors.wait(for: "its end") { lines in
                lines.first {
                    $0.contains(#""Nobody reads" passed"#) || $0.contains("the client has left")
                }
            }
            // Where the scenario takes longer, relayd gives up a client that takes nothing: after 10 s, not before.
            #expect(end.contains("passed") || NIODeadline.now() - begin >= .seconds(10), "\(end)")
            let next = try await APIRun.start("{scenario: s, steps: [{pause: 1ms}]}", relayd)
            #expect(try await next.ended().last?.outcome == "passed")
            try await client.close()
        }
    }

    private static let long = String(repeating: "x", count: 100)

    @Test(
        "drive.enabled that is turned off ends it, and relayd's own apps leave: nobody might end them then"
    )
    func turnedOff() async throws {
        try await Self.bench { relayd in
            let own = try await relayd.relayctl("send", "--as", "Another")
            #expect(own.ending == .exited(0), "\(own.errors)")
            let run = try await APIRun.start(Self.waiting, relayd)
            try await run.reaches(2, "running")
            try Relayd.quickGoodbyes.write(
                toFile: relayd.directory.file("relayd.yaml"), atomically: true, encoding: .utf8)
            let reload = try await relayd.relayctl("reload")
            #expect(reload.ending == .exited(0), "\(reload.errors)")
            let events = try await run.ended()
            #expect(events.last?.outcome == "unusable")
            #expect(
                events.compactMap(\.step).last?.failure?.summary == "drive.enabled is off now")
            try await relayd.until("no app is left") { $0.apps.isEmpty && $0.faults == nil }
        }
    }

    @Test("relayd that stops ends it first, and the client hears of it")
    func shutdown() async throws {
        try await Self.bench { relayd in
            let run = try await APIRun.start(Self.waiting, relayd)
            try await run.reaches(2, "running")
            relayd.process.signal(SIGTERM)
            let events = try await run.ended()
            #expect(events.last?.outcome == "unusable")
            #expect(events.compactMap(\.step).last?.failure?.summary == "relayd stops")
            // Before a second signal, which would cut the stop short.
            #expect(try await relayd.process.ended() == .exited(0))
        }
    }

    @Test(
        "what cannot be run is told with its line, and what cannot be chosen by its name",
        arguments: [
            ("scenario: s\nsteps:\n  - wait: rpc:Shw\n", "", "scenario:3:11: steps[0].wait"),
            ("scenario: s\nsteps:\n  - wait: rpc:Show\n    check: [1, {", "", "scenario:"),
            ("a: &a [*a]", "", "scenario:1:"),
            (
                "scenario: \u{1F4A3}\nsteps: \(String(repeating: "[", count: 5000))", "",
                "scenario:2:"
            ),
            ("", "", "scenario"),
            ("{scenario: s, steps: [{pause: 1s}]}", "?set=text=1", #"no variable \"text\""#),
            ("{scenario: s, steps: [{pause: 1s}]}", "?app=Radio", "has no apps"),
            ("{scenario: s, steps: [{pause: 1s}]}", "?ap=Radio", "may_harm_others"),
            ("{scenario: s, steps: [{pause: 1s}]}", "?may_harm_others=yes", "as 0 or 1"),
        ])
    func mistakes(text: String, query: String, hint: String) async throws {
        try await Self.bench { relayd in
            let answer = try await ControlRequest.post(
                Routes.scenarioRun + query, text, at: relayd.controlSocket)
            #expect(answer.statusLine.contains(" 400 "), "\(answer.statusLine)")
            #expect(answer.text.contains(hint), "\(answer.text)")
        }
    }

    @Test("a check has each mistake with its place, or the steps; nothing runs")
    func check() async throws {
        try await Self.bench { relayd in
            func check(_ text: String) async throws -> ScenarioCheckReport {
                let answer = try await ControlRequest.post(
                    Routes.scenarioCheck, text, at: relayd.controlSocket)
                return try APICoding.decode(ScenarioCheckReport.self, from: answer.body)
            }
            let wrong = try await check("scenario: s\nsteps:\n  - wait: rpc:Shw\n  - pause: soon\n")
            #expect(wrong.problems.map(\.line) == [3, 4] && wrong.steps.isEmpty)
            #expect(wrong.problems.first?.message.contains("did you mean 'Show'?") == true)
            let right = try await check(Self.waiting)
            #expect(right.problems.isEmpty && right.scenario == "Waits for ever")
            #expect(right.apps == ["tester"] && right.steps.map(\.line) == [4, 7])
            #expect(try await relayd.status().apps.isEmpty)
            let huge = try await ControlRequest.post(
                Routes.scenarioCheck, String(repeating: "#", count: 1 << 20 + 1),
                at: relayd.controlSocket)
            #expect(huge.statusLine.contains(" 413 "), "\(huge.statusLine)")
        }
    }

    @Test("driving that is off is said by every route that runs or checks; the list is there")
    func off() async throws {
        try await Self.bench(config: Relayd.quickGoodbyes) { relayd in
            for route in [Routes.scenarioRun, Routes.scenarioCheck] {
                let answer = try await ControlRequest.post(
                    route, "{scenario: s, steps: [{pause: 1s}]}", at: relayd.controlSocket)
                #expect(answer.text.contains("drive_off"), "\(route): \(answer.text)")
            }
            #expect(try await Self.ready("soft-buttons", relayd).contains("scenario:"))
        }
    }
}
