// Fuzz target: scenarios.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Scenarios

extension FuzzTarget {
    static let scenario = FuzzTarget(
        name: "scenario",
        about: "a scenario in YAML, then messages, answers and time for it",
        promise:
            "it is read, or every problem has a text on one line; a run ends or waits for something "
            + "that can be named; reports are on one line where they must be",
        maximumBytes: 4096,
        words: {
            [
                "scenario: ", "apps: ", "variables: ", "limit: ", "steps:\n", "  - wait: ",
                "  - expect: ",
                "  - never: ", "  - answer: ", "  - inject: ", "  - send: ", "  - fault: ",
                "  - link: ",
                "  - remove: ", "  - disconnect:\n", "  - pause: ", "  - repeat: ", "    steps: ",
                "    within: 1s\n", "    for: 1s\n", "    check: {", "    capture: {",
                "    result: ",
                "    parameters: {", "    do: ", "    as: ", "    app: ", "rpc:Show", "${", "}",
                "\"*\"",
                "[*]", "[0]", "message.", "at_least: ", "like: ", "one_of: [", "exists: true",
                "sample: ",
            ]
        },
        seeds: { [Array(seed.utf8)] },
        run: { bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else { return }
            let scenario: Scenario
            do throws(ScenarioErrors) {
                scenario = try ScenarioReader.read(text)
            } catch {
                try ensure(!error.problems.isEmpty, "refused without a reason")
                for problem in error.problems {
                    let line = problem.line(file: "fuzz.yaml")
                    try ensure(
                        !line.utf8.contains { $0 < 0x20 || $0 == 0x7F },
                        "a problem is told as \(line.debugDescription)")
                }
                return
            }
            try follow(scenario)
        })

    private static let seed = """
        scenario: s
        apps: {a: "*", t: {as: x}}
        variables: {p: 1s}
        steps:
          - wait: rpc:Show
            app: a
            check: {mainField1: {like: "H*"}, list: [1]}
            capture: {ids: "list[*]"}
          - repeat: ${ids}
            as: i
            steps: [{inject: "press ${i}", app: a}]
          - answer: rpc:PutFile
            result: REJECTED
            parameters: {spaceAvailable: 0}
          - never: rpc:Alert
            for: ${p}
        """

    private static let lines: [ScenarioMessage] = [
        ##""kind":"request","from":"app","app":"#1","app_name":"Radio","function":"Show","correlation_id":1,"params":{"mainField1":"Hello","list":[1]}"##,
        ##""kind":"notification","from":"accessory","app":"#1","fate":"by_relay","function":"OnButtonPress","params":{}"##,
        ##""kind":"dropped","from":"app","app":"#1","function":"PutFile","correlation_id":2,"fault_rule":1,"params":{}"##,
        ##""kind":"response","from":"accessory","app":"#1","function":"Show","result_code":"SUCCESS","params":{"success":true}"##,
        ##""kind":"event","event":"app_left","app":"#1""##,
    ].enumerated().compactMap { index, members in
        let line = ByteBuffer(string: "{\"n\":\(index + 1),\(members)}")
        return (try? JSONObject(line)).flatMap { ScenarioMessage($0) }
    }

    /// Gives all kinds of answers until the scenario ends or nothing happens any more.
    private static func follow(_ scenario: Scenario) throws {
        var run = ScenarioRun(scenario)
        var now = Duration.zero
        run.begin()
        for round in 0..<200 where run.outcome == nil {
            for request in run.takeRequests() {
                let reply: ScenarioReply =
                    switch request.action {
                    case .start: .started(2)
                    case .inject: .said(rpc: "OnButtonPress")
                    case .send:
                        .answered(
                            success: true, resultCode: "SUCCESS",
                            parameters: .object(["resultCode": .string("SUCCESS")]))
                    case .addFault, .addLinkFault: .faultAdded(1)
                    case .respond, .removeFault, .disconnect: .done
                    }
                run.receive(reply, to: request.id, at: now)
            }
            run.receive(lines, at: now)
            guard let deadline = run.nextDeadline else { break }
            try ensure(deadline <= scenario.limit, "waits beyond its limit")
            if round % 2 == 1 { now = max(now, deadline) }
            run.advance(to: now)
        }
        if run.outcome == nil { run.stop("enough") }
        let result = run.result(file: "fuzz.yaml")
        try ensure(
            result.outcome != .passed || result.steps.allSatisfy { $0.outcome == .passed },
            "passed without its steps")
        let xml = JUnitReport.xml([result])
        try ensure(
            !xml.utf8.contains { $0 < 0x20 && $0 != 0x0A && $0 != 0x09 },
            "control characters in XML")
    }
}
