import ControlAPI
import Testing

@testable import Scenarios

@Suite("A scenario is followed") struct ScenarioRunTests {
    private static let head = "scenario: s\napps: {radio: \"*\"}\nsteps:\n"

    @Test("wait, check, capture, inject: what is captured is said, and the run has passed")
    func soundDialogue() throws {
        var talk = try PlayedScenario(
            Self.head + """
                  - wait: rpc:Show
                    check: {mainField1: Hello}
                    capture: {buttons: "softButtons[*].softButtonID"}
                  - repeat: ${buttons}
                    as: button
                    steps:
                      - inject: press ${button}
                      - expect: "rpc:Alert param.alertText1~${button}"
                """)
        #expect(talk.asks().isEmpty)
        try talk.app("PutFile")
        try talk.app(
            "Show",
            #"{"mainField1":"Hello","softButtons":[{"softButtonID":7},{"softButtonID":8}]}"#)
        for button in 7...8 {
            let press = try talk.asked()
            #expect(
                press.action
                    == .inject(
                        ScenarioTarget(role: "radio", connection: 1, pattern: "*"),
                        words: "press \(button)", parameters: nil))
            talk.answer(press, .said(rpc: "OnButtonPress"))
            // A message before the press is not an answer to it.
            try talk.app("Alert", #"{"alertText1":"\#(button) too early"}"#)
            try talk.unit(
                "OnButtonPress", kind: "notification", more: #","fate":"by_relay""#)
            #expect(talk.run.outcome == nil)
            try talk.app("Alert", #"{"alertText1":"button \#(button)"}"#)
        }
        #expect(talk.run.outcome == .passed)
        #expect(talk.run.result(file: "f").steps.map(\.outcome) == [.passed, .passed])
    }

    @Test("messages that came before a step began are its own, those before the last match are not")
    func order() throws {
        var talk = try PlayedScenario(Self.head + "  - wait: rpc:Show\n  - wait: rpc:PutFile\n")
        try talk.app("PutFile")
        try talk.app("Show")
        #expect(talk.run.outcome == nil)
        try talk.app("PutFile")
        #expect(talk.run.outcome == .passed)
    }

    @Test("a wait fails at the first message that fits and fails a check, with both values")
    func failedCheck() throws {
        var talk = try PlayedScenario(
            Self.head + "  - wait: rpc:Show\n    check: {mainField1: Hello, n: {at_least: 3}}\n")
        try talk.app("Show", #"{"mainField1":"Bye"}"#)
        #expect(talk.run.outcome == .failed)
        #expect(
            talk.failure?.text == """
                the message is not as expected
                  expected: rpc:Show within 30 s
                  came:     #1 m
                    - mainField1: "Hello"
                    + mainField1: "Bye"
                    - n: at least 3
                    + n: is not there
                """)
    }

    @Test(
        "an expectation passes over what fails its checks, and tells of the nearest when it is late"
    )
    func expectation() throws {
        var talk = try PlayedScenario(
            Self.head + "  - expect: rpc:Show\n    check: {a: 1}\n    within: 2s\n  - pause: 1s\n")
        try talk.app("Show", #"{"a":2}"#)
        #expect(talk.run.nextDeadline == .seconds(2))
        var late = talk
        late.passes(.seconds(2))
        #expect(late.run.outcome == .failed)
        #expect(late.failure?.mismatches == [.init(path: "a", expected: "1", found: "2")])
        #expect(late.run.result(file: "f").steps.map(\.outcome) == [.failed, .skipped])
        try talk.app("Show", #"{"a":1.0}"#)
        talk.passes(.seconds(1))
        #expect(talk.run.outcome == .passed)
    }

    @Test("what does not come is told with what came instead")
    func absent() throws {
        var talk = try PlayedScenario(Self.head + "  - wait: rpc:Show\n    within: 1s\n")
        for _ in 0..<7 { try talk.app("PutFile") }
        talk.passes(.milliseconds(999))
        #expect(talk.run.outcome == nil)
        talk.passes(.milliseconds(1))
        #expect(talk.failure?.summary == "the message did not come")
        #expect(talk.failure?.expected == ["rpc:Show within 1 s"])
        #expect(talk.failure?.came.first == "7 other messages, the latest of them:")
        #expect(talk.failure?.came.count == 6)
    }

    @Test("never passes when the time is over, and fails at once when the message comes")
    func never() throws {
        let yaml = Self.head + "  - never: rpc:Show\n    for: 2s\n"
        var quiet = try PlayedScenario(yaml)
        try quiet.app("Alert")
        quiet.passes(.seconds(2))
        #expect(quiet.run.outcome == .passed)
        // The messages it has looked at are still there for the next step; those from before it do not count.
        var both = try PlayedScenario(
            Self.head
                + "  - wait: rpc:Show\n  - pause: 1s\n  - never: rpc:Show\n    for: 2s\n  - wait: rpc:Alert\n  - wait: rpc:Slider\n"
        )
        try both.app("Show")
        try both.app("Show")
        try both.app("Alert")
        both.passes(.seconds(1))
        try both.app("Slider")
        both.passes(.seconds(2))
        #expect(both.run.outcome == .passed)
        var loud = try PlayedScenario(yaml)
        try loud.app("Show")
        #expect(loud.run.outcome == .failed)
        #expect(loud.failure?.expected == ["nothing for rpc:Show within 2 s"])
    }

    @Test("an answer is prepared while the step before it waits, judged, and its rule removed")
    func answer() throws {
        var talk = try PlayedScenario(
            Self.head + """
                  - wait: rpc:Show
                  - answer: rpc:PutFile
                    result: OUT_OF_MEMORY
                    info: full
                    check: {syncFileName: icon}
                  - never: rpc:PutFile
                    for: 1s
                """)
        let rule = try talk.asked()
        #expect(
            rule.action
                == .addFault(filter: "rpc:PutFile", action: "answer OUT_OF_MEMORY \"full\" count 1")
        )
        // The stream may arrive before the answer to the request.
        try talk.app("Show")
        try talk.app(
            "PutFile", #"{"syncFileName":"icon"}"#, kind: "dropped", more: #","fault_rule":4"#)
        talk.answer(rule, .faultAdded(4))
        #expect(talk.run.faults == [4])
        let removal = try talk.asked()
        #expect(removal.action == .removeFault(4))
        talk.answer(removal, .done)
        #expect(talk.run.faults.isEmpty)
        talk.passes(.seconds(1))
        #expect(talk.run.outcome == .passed)
    }

    @Test(
        "faults and answers at the beginning are in force before an app of the scenario's own speaks"
    )
    func quickApp() throws {
        var talk = try PlayedScenario(
            """
            scenario: s
            apps: {radio: {sample: Radio}}
            steps:
              - fault: rpc:PutFile
                do: drop
              - answer: rpc:Show
                result: REJECTED
              - wait: rpc:Alert
            """)
        let fault = try talk.asked()
        #expect(
            fault.action == .addFault(filter: #"app="Radio" (rpc:PutFile)"#, action: "drop"))
        talk.answer(fault, .faultAdded(1))
        // Requests are carried out in order: the app is started after the answer's rule is added.
        let rest = talk.asks()
        try #require(rest.count == 2)
        #expect(
            rest[0].action
                == .addFault(filter: #"app="Radio" (rpc:Show)"#, action: "answer REJECTED count 1"))
        guard case .start = rest[1].action else {
            Issue.record("\(rest[1])")
            return
        }
        talk.answer(rest[0], .faultAdded(2))
        // The app sends its request before it is known to have started.
        try talk.app("Show", kind: "dropped", more: #","fault_rule":2"#)
        talk.answer(rest[1], .started(1))
        try talk.app("Alert")
        #expect(talk.run.outcome == .passed)
    }

    @Test("what an earlier step waits for is not answered in its place")
    func preparedAhead() throws {
        var talk = try PlayedScenario(
            Self.head + """
                  - wait: rpc:Show
                  - wait: rpc:Show
                  - answer: rpc:Alert
                    result: REJECTED
                  - answer: rpc:Show
                    result: REJECTED
                """)
        // Alert at once, although two steps come before it; Show only at its turn.
        let alert = try talk.asked()
        #expect(alert.action == .addFault(filter: "rpc:Alert", action: "answer REJECTED count 1"))
        talk.answer(alert, .faultAdded(1))
        try talk.app("Show")
        try talk.app("Show")
        let show = try talk.asked()
        #expect(show.action == .addFault(filter: "rpc:Show", action: "answer REJECTED count 1"))
    }

    @Test("an answer with parameters: the request is stopped, and relayd says the answer")
    func answerWithParameters() throws {
        var talk = try PlayedScenario(
            "scenario: s\napps: {radio: Radio}\nsteps:\n" + """
                  - answer: rpc:GetVehicleData
                    result: SUCCESS
                    parameters: {speed: 88}
                """)
        let rule = try talk.asked()
        #expect(
            rule.action
                == .addFault(
                    filter: #"app:"Radio" ((rpc:GetVehicleData) kind:request from:app)"#,
                    action: "drop count 1"))
        talk.answer(rule, .faultAdded(1))
        try talk.app("GetVehicleData", kind: "dropped", more: #","fault_rule":1"#)
        #expect(talk.run.outcome == .passed)
        let asked = talk.asks().map(\.action)
        #expect(
            asked.contains(
                .respond(
                    app: 1, rpc: "GetVehicleData", correlationID: 1,
                    parameters: .object([
                        "success": .bool(true), "resultCode": .string("SUCCESS"),
                        "speed": .integer(88),
                    ]))))
        #expect(talk.run.isWaitingForReplies)
    }

    @Test("what is sent must succeed, or have the result that is named")
    func send() throws {
        let yaml =
            "scenario: s\napps: {t: {as: Tester}}\nsteps:\n  - send: Show\n    parameters: {mainField1: Hi}\n"
        func sent(_ yaml: String, _ code: String) throws -> ScenarioFailure? {
            var talk = try PlayedScenario(yaml)
            let start = try talk.asked()
            guard case .start = start.action else { throw Unexpected() }
            talk.answer(start, .started(3))
            let show = try talk.asked()
            #expect(
                show.action
                    == .send(
                        ScenarioTarget(role: "t", connection: 3, pattern: "Tester"), rpc: "Show",
                        parameters: .object(["mainField1": .string("Hi")]), patience: .seconds(10)))
            talk.answer(
                show,
                .answered(
                    success: code == "SUCCESS", resultCode: code,
                    parameters: .object(["resultCode": .string(code)])))
            #expect(talk.run.outcome != nil)
            return talk.failure
        }
        #expect(try sent(yaml, "SUCCESS") == nil)
        #expect(try sent(yaml, "REJECTED")?.mismatches.first?.path == "success")
        #expect(try sent(yaml + "    result: REJECTED\n", "REJECTED") == nil)
        #expect(
            try sent(yaml + "    result: REJECTED\n", "SUCCESS")?.mismatches
                == [.init(path: "resultCode", expected: "\"REJECTED\"", found: "\"SUCCESS\"")])
        #expect(try sent(yaml + "    check: {resultCode: REJECTED}\n", "REJECTED") == nil)
    }

    private struct Unexpected: Error {}

    @Test("faults stay until they are removed by name; those that are left are known at the end")
    func faults() throws {
        var talk = try PlayedScenario(
            Self.head + """
                  - fault: rpc:PutFile
                    do: delay 2s
                    as: slow
                  - link: slow 20KB/s
                  - remove: slow
                  - wait: rpc:Show
                """)
        talk.answer(try talk.asked(), .faultAdded(1))
        let link = try talk.asked()
        #expect(link.action == .addLinkFault("slow 20KB/s"))
        talk.answer(link, .faultAdded(2))
        let removal = try talk.asked()
        #expect(removal.action == .removeFault(1))
        talk.answer(removal, .done)
        talk.run.stop("interrupted")
        #expect(talk.run.outcome == .unusable)
        #expect(talk.run.faults == [2])
    }

    @Test("what is refused fails its step; what cannot be done here makes the run unusable")
    func refusals() throws {
        for (reply, outcome) in [
            (ScenarioReply.refused("there is no app"), ScenarioResult.Outcome.failed),
            (.unusable("drive.enabled is off"), .unusable),
        ] {
            var talk = try PlayedScenario(Self.head + "  - inject: press OK\n")
            talk.answer(try talk.asked(), reply)
            #expect(talk.run.outcome == outcome)
        }
    }

    @Test("a failure inside of a repetition says in which one")
    func repetition() throws {
        var talk = try PlayedScenario(
            Self.head
                + "  - repeat: 3\n    as: i\n    steps:\n      - wait: rpc:Show\n        check: {a: 1}\n"
        )
        try talk.app("Show", #"{"a":1}"#)
        try talk.app("Show", #"{"a":2}"#)
        #expect(
            talk.failure?.summary
                == "the message is not as expected\n  in repetition 2 of 3, i = 2: wait rpc:Show (radio), line 7"
        )
    }

    @Test("apps are kept apart by their roles, and a role follows its app to a new connection")
    func roles() throws {
        var talk = try PlayedScenario(
            """
            scenario: s
            apps: {map: Map, radio: Rad*}
            steps:
              - {wait: rpc:Show, app: radio}
              - {wait: rpc:Show, app: map}
              - {wait: rpc:Show, app: radio}
              - {inject: press OK, app: radio}
            """)
        try talk.app("Show", app: 1, name: "Map")
        try talk.app("Show", app: 2, name: "Radio")
        try talk.app("Show", app: 2, name: "Radio")
        try talk.app("Show", app: 1, name: "Map")
        try talk.line(##""kind":"event","event":"app_left","app":"#2","app_name":"Radio""##)
        try talk.app("Show", app: 5, name: "Radio")
        guard case .inject(let target, _, _) = try talk.asked().action else { throw Unexpected() }
        #expect(target == ScenarioTarget(role: "radio", connection: 5, pattern: "Rad*"))
    }

    @Test("the whole has a limit, and a variable without value or with a wrong one is told")
    func limits() throws {
        var slow = try PlayedScenario("scenario: s\nlimit: 3s\nsteps:\n  - pause: 10s\n")
        #expect(slow.run.nextDeadline == .seconds(3))
        slow.passes(.seconds(3))
        #expect(slow.failure?.summary == "the scenario has not ended within 3 s (limit)")
        let wrong = try PlayedScenario(
            "scenario: s\nvariables: {t: 1s}\nsteps:\n  - pause: ${t}\n",
            values: ["t": .string("x")])
        #expect(wrong.run.outcome == .unusable)
        #expect(wrong.failure?.summary.hasPrefix("found \"x\"; expected a time") == true)
    }

    @Test("text that gets into a filter cannot become a part of it")
    func quotedVariables() throws {
        var talk = try PlayedScenario(
            Self.head
                + "  - wait: rpc:Show\n    capture: {t: mainField1}\n  - wait: param.alertText1=${t}\n"
        )
        try talk.app("Show", #"{"mainField1":"a\" | rpc:PutFile"}"#)
        try talk.app("PutFile")
        #expect(talk.run.outcome == nil)
        try talk.app("Alert", #"{"alertText1":"a\" | rpc:PutFile"}"#)
        #expect(talk.run.outcome == .passed)
    }

    @Test("a head unit's message, relayd's own words and its requests are told apart")
    func ofDialogue() throws {
        var talk = try PlayedScenario(Self.head + "  - never: rpc:Show\n    for: 1s\n")
        try talk.app("Show", more: #","fate":"by_relay""#)
        try talk.unit("Show", more: #","fate":"to_relay""#)
        talk.passes(.seconds(1))
        #expect(talk.run.outcome == .passed)
    }

    @Test("a scenario of endless repetitions ends, and so does one whose messages nobody looks at")
    func endless() throws {
        let talk = try PlayedScenario(
            "scenario: s\nsteps:\n  - repeat: 10000\n    steps:\n      - repeat: 10000\n        steps: [{pause: 0s}]\n"
        )
        #expect(talk.run.outcome == nil)
        var busy = talk
        while busy.run.outcome == nil { busy.passes(.zero) }
        #expect(busy.failure?.summary.hasPrefix("more than 100000 steps were taken") == true)
        var flood = try PlayedScenario("scenario: s\nsteps:\n  - pause: 1h\n")
        for _ in 0...20_000 where flood.run.outcome == nil { try flood.app("Show") }
        #expect(flood.run.outcome == .unusable)
    }
}
