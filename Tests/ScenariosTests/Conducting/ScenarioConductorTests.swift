import ControlAPI
import NIOCore
import NIOEmbedded
import SDLProtocol
import Testing

@testable import Scenarios

@Suite("A scenario is conducted") struct ScenarioConductorTests {
    private let bench = PaperBench()
    private let loop = NIOAsyncTestingEventLoop()

    private func conductor(
        _ steps: String, apps: String = "{radio: \"*\"}", mayHarmOthers: Bool = false,
        progress: ScenarioConductor.Progress? = nil
    ) throws -> ScenarioConductor {
        let scenario = try ScenarioReader.read("scenario: s\napps: \(apps)\nsteps:\n\(steps)")
        return ScenarioConductor(
            scenario, values: [:], on: bench, mayHarmOthers: mayHarmOthers, timers: loop,
            progress: progress)
    }

    private func message(_ number: Int, _ members: String) throws -> ScenarioMessage {
        let json = try JSONObject(
            ByteBuffer(
                string:
                    ##"{"n":\##(number),"priority":"info","message":"m","app":"#1",\##(members)}"##)
        )
        return try #require(ScenarioMessage(json))
    }

    /// A request from the app.
    private func said(_ number: Int, _ function: String) throws -> ScenarioMessage {
        try message(
            number,
            #""kind":"request","from":"app","app_name":"Radio","function":"\#(function)","params":{}"#
        )
    }

    /// Lets time pass until the run ends.
    private func end(
        of running: Task<ScenarioResult, Never>
    ) async -> ScenarioResult {
        let ticking = Task { [loop] in
            while !Task.isCancelled {
                await loop.advanceTime(by: .seconds(1))
                await Task.yield()
            }
        }
        defer { ticking.cancel() }
        return await running.value
    }

    @Test("fault, press, send: each is asked for in its order, and taken back at the end")
    func order() async throws {
        await bench.has(1, "Radio")
        let conductor = try conductor(
            """
              - fault: rpc:PutFile
                do: delay 2s
              - wait: rpc:Show
                app: radio
              - inject: press OK long
                app: radio
              - send: GetSystemCapability
                app: radio

            """, apps: "{radio: \"*\", tester: {as: RPC tester}}")
        let running = Task { await conductor.run(file: "f.yaml") }
        var requests = bench.requests.makeAsyncIterator()
        #expect(await requests.next() == "rule 41 rpc:PutFile: delay 2s")
        #expect(await requests.next() == "RPC tester registers")
        conductor.tell([try said(1, "Show")])
        #expect(
            await requests.next()
                == "#1 hears OnButtonEvent buttonName=OK buttonEventMode=BUTTONDOWN")
        #expect(
            await requests.next() == "#1 hears OnButtonEvent buttonName=OK buttonEventMode=BUTTONUP"
        )
        #expect(
            await requests.next() == "#1 hears OnButtonPress buttonName=OK buttonPressMode=LONG")
        conductor.tell([
            try message(
                2,
                #""kind":"notification","from":"accessory","fate":"by_relay","function":"OnButtonPress""#
            )
        ])
        #expect(await requests.next() == "#1 sends GetSystemCapability")
        let result = await running.value
        #expect(result.outcome == .passed, "\(result)")
        #expect(result.file == "f.yaml")
        #expect(
            await bench.calls.suffix(3) == ["no rule 41", "RPC tester leaves", "no sample apps"])
    }

    @Test("a message that does not come is missed when its time is over")
    func late() async throws {
        let conductor = try conductor("  - wait: rpc:Show\n    within: 20s\n")
        let running = Task { await conductor.run(file: "f") }
        let result = await end(of: running)
        #expect(result.outcome == .failed)
        #expect(result.steps[0].failure?.summary == "the message did not come")
        #expect(result.time >= .seconds(20))
    }

    @Test("somebody who has had enough ends it, and what was added is taken back")
    func stopped() async throws {
        let conductor = try conductor(
            "  - fault: rpc:Show\n    do: drop\n  - wait: rpc:Alert\n")
        let running = Task { await conductor.run(file: "f") }
        var requests = bench.requests.makeAsyncIterator()
        #expect(await requests.next() == "rule 41 rpc:Show: drop")
        conductor.stop("interrupted")
        let result = await running.value
        #expect(result.outcome == .unusable)
        #expect(result.steps.compactMap(\.failure?.summary) == ["interrupted"])
        #expect(await bench.calls == ["rule 41 rpc:Show: drop", "no rule 41", "no sample apps"])
    }

    @Test("what is never answered is waited for 15 s at the end, and no longer")
    func unanswered() async throws {
        await bench.hold("rule 41")
        let conductor = try conductor("  - fault: rpc:Show\n    do: drop\n")
        let running = Task { await conductor.run(file: "f") }
        var requests = bench.requests.makeAsyncIterator()
        #expect(await requests.next() == "rule 41 rpc:Show: drop")
        conductor.stop("interrupted")
        #expect(await end(of: running).outcome == .unusable)
        await bench.letGo()
    }

    @Test(
        "a head unit that does not answer is not waited for when somebody ends it",
        .timeLimit(.minutes(1)),
        arguments: [
            ("#1 sends GetDTCs", "{radio: \"*\"}"), ("Tester registers", "{t: {as: Tester}}"),
        ])
    func silent(call: String, apps: String) async throws {
        await bench.has(1, "Radio")
        await bench.hold(call)
        let conductor = try conductor("  - send: GetDTCs\n", apps: apps)
        let running = Task { await conductor.run(file: "f") }
        var requests = bench.requests.makeAsyncIterator()
        #expect(await requests.next() == call)
        conductor.stop("interrupted")
        // No time has passed.
        let result = await running.value
        #expect(result.outcome == .unusable)
        #expect((result.problem ?? result.steps[0].failure?.summary) == "interrupted")
        #expect(await bench.calls == [call, "no sample apps"])
    }

    @Test("each step is told when it is waited for and when it is over, those behind a failure too")
    func progress() async throws {
        let (told, telling) = AsyncStream.makeStream(of: String.self)
        let conductor = try conductor(
            "  - wait: rpc:Show\n  - wait: rpc:Alert\n    within: 1s\n  - pause: 1s\n",
            progress: ScenarioConductor.Progress(
                begins: { telling.yield("begins") },
                isAt: { telling.yield("at \($0.number)") },
                over: { steps in
                    for step in steps { telling.yield("\(step.number) \(step.outcome)") }
                }))
        let running = Task { await conductor.run(file: "f") }
        var lines = told.makeAsyncIterator()
        #expect(await lines.next() == "begins")
        #expect(await lines.next() == "at 1")
        conductor.tell([try said(1, "Show")])
        #expect(await lines.next() == "1 passed")
        #expect(await lines.next() == "at 2")
        _ = await end(of: running)
        #expect(await lines.next() == "2 failed")
        #expect(await lines.next() == "3 skipped")
    }

    @Test(
        "what the bench does not do fails the step, what it cannot do the run",
        arguments: [
            (ScenarioBenchError.refused("no answer"), ScenarioResult.Outcome.failed),
            (.unusable("driving is off"), .unusable),
        ])
    func refusals(error: ScenarioBenchError, outcome: ScenarioResult.Outcome) async throws {
        await bench.has(1, "Radio")
        await bench.refuse("#1 hears", error)
        let result = try await conductor("  - inject: hmi FULL\n").run(file: "f")
        #expect(result.outcome == outcome)
        #expect(result.steps[0].failure?.summary.isEmpty == false)
    }

    @Test("a rule that cannot be removed is told, whatever the steps came to")
    func kept() async throws {
        await bench.refuse("no rule", .unusable("relayd is gone"))
        let result = try await conductor("  - fault: rpc:Show\n    do: drop\n").run(file: "f")
        #expect(result.outcome == .unusable)
        #expect(result.problem == "fault rule 41 could not be removed: relayd is gone")
    }

    @Test(
        "words that do not fit are told with what does",
        arguments: [
            ("press", "expected press BUTTON"),
            ("voice sing", "no voice command \"sing\"; expected one of"),
            ("OnButtonPress OK", "expected the name of an RPC, or a short form: press"),
            ("hmi HALF", "one of FULL, LIMITED"),
        ])
    func words(text: String, hint: String) async throws {
        await bench.has(1, "Radio")
        let result = try await conductor("  - inject: \(text)\n").run(file: "f")
        #expect(result.outcome == .unusable)
        let summary = try #require(result.steps[0].failure?.summary)
        #expect(summary.contains(hint), "\(summary)")
    }

    @Test("a voice command is looked up with the app; nobody is found who is not registered")
    func apps() async throws {
        await bench.has(1, "Radio", .sessionOpen)
        let nobody = try await conductor("  - inject: voice \"play\"\n").run(file: "f")
        #expect(nobody.outcome == .failed)
        #expect(nobody.steps[0].failure?.summary == "no registered app fits \"*\"")
        await bench.has(2, "Radio")
        let conductor = try conductor("  - inject: voice \"play\"\n")
        let running = Task { await conductor.run(file: "f") }
        var requests = bench.requests.makeAsyncIterator()
        #expect(await requests.next() == "#2 hears OnCommand cmdID=4 triggerSource=VR")
        conductor.stop("enough")
        _ = await running.value
        await bench.has(3, "Radio Two")
        let both = try await self.conductor("  - disconnect:\n").run(file: "f")
        #expect(both.steps[0].failure?.summary == "\"*\" fits 2 apps: #2 Radio, #3 Radio Two")
    }
}
