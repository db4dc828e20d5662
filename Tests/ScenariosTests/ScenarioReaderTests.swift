import ControlAPI
import Testing
import YAML

@testable import Scenarios

@Suite("A scenario is read") struct ScenarioReaderTests {
    @Test("every kind of step, with what goes with it")
    func all() throws {
        let scenario = try ScenarioReader.read(
            """
            scenario: All there is
            about: One step of each kind.
            limit: 2m
            variables: {patience: 10s, id: 7}
            apps:
              radio: "Radio*"
              tester: {as: "RPC tester", app_id: t1, hmi_types: [NAVIGATION, MEDIA]}
              sample: {sample: relayd sample}
            steps:
              - wait: rpc:Show
                app: radio
                name: the first screen
                within: ${patience}
                check: {mainField1: Hello, "softButtons[0].softButtonID": 1}
                capture: {buttons: "softButtons[*].softButtonID"}
              - expect: "rpc:Alert param.alertText1=${buttons}"
              - never: rpc:Speak
                for: 2s
              - answer: rpc:PutFile
                result: OUT_OF_MEMORY
                info: it is full
                parameters: {spaceAvailable: 0}
              - inject: press ${buttons}
                app: radio
              - send: Show
                app: tester
                parameters: {mainField1: Hi}
                result: SUCCESS
              - fault: rpc:PutFile
                do: delay 2s
                as: slow
              - link: slow 20KB/s
              - remove: slow
              - disconnect:
                app: radio
              - pause: 500ms
              - repeat: ${buttons}
                as: button
                steps: [{inject: "press ${button}", app: radio}]
            """)
        #expect(scenario.limit == .seconds(120))
        #expect(scenario.apps.map(\.role) == ["radio", "tester", "sample"])
        #expect(
            scenario.apps[1].kind
                == .own(name: "RPC tester", appID: "t1", hmiTypes: ["NAVIGATION", "MEDIA"]))
        #expect(
            scenario.steps.map(\.content.verb) == [
                "wait", "expect", "never", "answer", "inject", "send", "fault", "link", "remove",
                "disconnect", "pause", "repeat",
            ])
        #expect(scenario.steps.map(\.number) == Array(1...12))
        #expect(scenario.steps[0].summary == "the first screen")
        #expect(scenario.steps[0].place.line == 10)
        #expect(scenario.steps[6].summary == "fault rpc:PutFile: delay 2s")
        #expect(scenario.variables["id"] == .integer(7))
    }

    @Test("with one app, steps are about it; a plain number is a number, and quotes make it text")
    func values() throws {
        let scenario = try ScenarioReader.read(
            """
            scenario: s
            apps: {radio: "*"}
            steps:
              - wait: rpc:Show
                check: {a: 5, b: "5", c: true, d: 1.5, e: {at_least: 1, at_most: 2}, f: {g: [1, x]}}
            """)
        #expect(scenario.steps[0].app == "radio")
        guard case .wait(let wanted) = scenario.steps[0].content else {
            return #expect(Bool(false))
        }
        #expect(
            wanted.checks.map(\.tests) == [
                [.equals(.integer(5))], [.equals(.string("5"))], [.equals(.bool(true))],
                [.equals(.number(1.5))], [.atLeast(.integer(1)), .atMost(.integer(2))],
                [.equals(.object(["g": .array([.integer(1), .string("x")])]))],
            ])
    }

    @Test(
        "what is wrong is told with its place, what was found, and what to do",
        arguments: [
            (
                "",
                "f: found nothing; expected \"key: value\" lines, such as scenario: NAME and steps:"
            ),
            ("steps: [{pause: 1s}]", "f:1:1: there is no name; expected scenario: NAME"),
            ("scenario: s", "f:1:1: there are no steps; expected steps: with a list under it"),
            (
                "scenario: s\nsteps: x",
                "f:2:8: steps: found \"x\"; expected a list of steps, such as - wait: rpc:Show"
            ),
            (
                "scenario: s\nsteps: []",
                "f:2:8: steps: there is no step in it; expected one such as - wait: rpc:Show"
            ),
            (
                "scenario: s\nstps: []\nsteps: [{pause: 1s}]",
                "f:2:1: stps: unknown key; did you mean \"steps\"?"
            ),
            (
                "scenario: s\nsteps:\n  - wiat: rpc:Show",
                "f:3:5: steps[0]: what is to be done? expected one of wait, expect, never, answer, inject, "
                    + "send, fault, link, remove, disconnect, pause, repeat; did you mean \"wait\"?"
            ),
            (
                "scenario: s\nsteps:\n  - wait: rpc:Show\n    witin: 2s",
                "f:4:5: steps[0].witin: unknown key; did you mean \"within\"?"
            ),
            (
                "scenario: s\nsteps:\n  - wait: rpc:Show\n    within: 2 weeks",
                "f:4:13: steps[0].within: found \"2 weeks\"; expected a time such as 500ms, 10s or 2m, at most 24h"
            ),
            (
                "scenario: s\nsteps:\n  - wait: rcp:Show",
                "f:3:11: steps[0].wait: there is no key 'rcp'; did you mean 'rpc'?, at character 1 of \"rcp:Show\""
            ),
            (
                "scenario: s\nsteps:\n  - wait: rpc:Show\n    expect: rpc:Alert",
                "f:3:5: steps[0]: wait and expect in one step; begin a step of its own with - for each"
            ),
            (
                "scenario: s\nsteps:\n  - inject: press OK",
                "f:3:5: steps[0]: which app? expected apps: at the top of the file, such as apps: {radio: \"*\"}"
            ),
            (
                "scenario: s\napps: {a: x, b: y}\nsteps:\n  - inject: press OK\n    app: c",
                "f:5:10: steps[0].app: there is no app \"c\" here; apps are under apps: at the top of the file"
            ),
            (
                "scenario: s\nsteps:\n  - wait: rpc:Show\n    check: {a: \"${buton}\"}",
                "f:4:16: steps[0].check.a: there is no variable \"buton\" here; a variable is under variables:, "
                    + "or an earlier step captures it"
            ),
            (
                "scenario: s\nsteps:\n  - fault: rpc:Show\n    do: dealy 2s",
                "f:4:5: steps[0].do: found 'dealy'; did you mean delay?"
            ),
            (
                "scenario: s\nsteps:\n  - fault: rpc:Show",
                "f:3:5: steps[0]: what is to happen? expected do: and what a fault rule does, such as delay 2s"
            ),
            (
                "scenario: s\nsteps:\n  - answer: rpc:Show",
                "f:3:5: steps[0]: with what? expected result: and a result code such as REJECTED"
            ),
            (
                "scenario: s\nsteps:\n  - remove: slow",
                "f:3:13: steps[0].remove: there is no fault \"slow\" here; an earlier step gives it a name with as:"
            ),
            (
                "scenario: s\nsteps:\n  - repeat: 0\n    steps: [{pause: 1s}]",
                "f:3:13: steps[0].repeat: found \"0\"; expected 1 to 10000, or a list such as ${buttons}"
            ),
            (
                "scenario: s\nsteps:\n  - wait: rpc:Show\n    check: {\"a..b\": 1}",
                "f:4:13: steps[0].check.a..b: \"a..b\" is no parameter; expected one such as mainField1, "
                    + "graphic.value, softButtons[0].text or softButtons[*].text"
            ),
            (
                "scenario: s\nsteps:\n  - wait: *a",
                "f:3:11: found the alias *a; a scenario has no aliases: write the value itself, in quotes if it "
                    + "begins with *"
            ),
            (
                "scenario: s\nsteps:\n  - never: rpc:Show",
                "f:3:5: steps[0]: for how long? expected for: and a time such as 500ms, 10s or 2m, at most 24h"
            ),
            (
                "scenario: s\nsteps:\n  - link: unplugged",
                "f:3:11: steps[0].link: no fault of the link is called 'unplugged'; expected unplug, freeze 5s, "
                    + "slow 20KB/s or half-open"
            ),
            (
                "scenario: s\napps: {a: {sample: x, as: y}}\nsteps: [{pause: 1s}]",
                "f:2:11: apps.a: expected the name of an app that connects, \"*\" for any, sample: NAME for the "
                    + "sample app, or as: NAME for an app of relayd's own"
            ),
            (
                "scenario: s\nsteps:\n  - wait: rpc:Show\n    capture: {\"a b\": x}",
                "f:4:15: steps[0].capture.a b: \"a b\" cannot be the name of a variable; expected letters, digits, "
                    + "_ and -, at most 64"
            ),
        ])
    func wrong(yaml: String, problem: String) {
        #expect(problems(yaml).first == problem)
    }

    @Test("a byte order mark, with which editors of other systems begin, is none of it")
    func byteOrderMark() throws {
        let yaml = "scenario: Marked\nsteps:\n  - pause: soon\n"
        #expect(problems("\u{FEFF}" + yaml) == problems(yaml))
        let scenario = try ScenarioReader.read(
            "\u{FEFF}" + yaml.replacing("soon", with: "1s"))
        #expect(scenario.name == "Marked")
    }

    @Test("all problems are told at once, in their order")
    func several() {
        let found = problems(
            "scenario: s\nlimit: x\nsteps:\n  - wait: rpc:Show\n    within: y\n  - frobnicate: 1\n")
        #expect(found.count == 3, "\(found)")
        #expect(found.map { $0.split(separator: ":")[1] } == ["2", "5", "6"])
    }

    @Test("bounds: steps, repetitions in repetitions, size, problems")
    func bounds() {
        let many = String(repeating: "  - pause: 1s\n", count: 5001)
        #expect(
            problems("scenario: s\nsteps:\n\(many)") == [
                "f:5003:5: steps: expected at most 5000 steps in all"
            ])
        var nested = "{pause: 1s}"
        for _ in 0..<5 { nested = "{repeat: 2, steps: [\(nested)]}" }
        #expect(problems("scenario: s\nsteps: [\(nested)]").first?.contains("at most 4") == true)
        #expect(
            problems("# " + String(repeating: "x", count: 1 << 20)) == [
                "f: larger than 1 MiB, which no scenario is"
            ])
        let wrong = String(repeating: "  - x: 1\n", count: 200)
        #expect(problems("scenario: s\nsteps:\n\(wrong)").count == 50)
    }

    @Test("paths, and what is none")
    func paths() {
        for text in ["a", "a.b", "a[0].b", "a[*].b", "message.latency_ms", "a[1][2]"] {
            #expect(ScenarioPath(text)?.description == text)
        }
        for text in ["", ".", "a.", "a[", "a[]", "a[x]", "a[-1]", "a]b", "[0]", "a[123456]", "a b"]
        {
            #expect(ScenarioPath(text) == nil, "\(text)")
        }
    }
}
