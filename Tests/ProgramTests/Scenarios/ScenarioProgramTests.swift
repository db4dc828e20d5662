// relayctl run and relayctl scenario, with the built programs.

import ControlAPI
import Foundation
import FoundationXML
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("relayctl run in the built programs", .serialized)
struct ScenarioProgramTests {
    private static func bench(
        _ accessory: String = "sim:?lenient=on", config: String = Relayd.driving,
        _ body: (Relayd) async throws -> Void
    ) async throws {
        try await Relayd.run(accessory: accessory, config: config) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            try await body(relayd)
        }
    }

    private static let greeting = """
        scenario: A greeting
        apps: {radio: Radio, tester: {as: RPC tester}}
        variables: {text: Hello}
        steps:
          - send: Show
            app: tester
            parameters: {mainField1: "${text}"}
            result: SUCCESS
          - wait: rpc:Show kind:request
            app: radio
            check: {mainField1: "${text}"}
            capture: {id: message.correlation_id}
          - expect: rpc:Show kind:response corr:${id}
            app: radio
          - answer: rpc:GetVehicleData
            app: radio
            result: SUCCESS
            parameters: {speed: 88.5}
          - answer: rpc:Alert
            app: radio
            result: REJECTED
            info: not now
        """

    @Test("several apps: what one sends, what another says and is answered; report, trace, JSON")
    func whole() async throws {
        try await Self.bench { relayd in
            let file = try relayd.directory.write(Self.greeting, to: "greeting.yaml")
            let (junit, traces) = (relayd.directory.file("r.xml"), relayd.directory.file("traces"))
            let app = try await ScriptedApp.start(relayd).app
            let done = try await ScenarioBench.run(
                relayd, [file, "--set", "text=Hi", "--junit", junit, "--record", traces],
                title: "A greeting"
            ) {
                // The tester has sent its own Show when it waits for this one.
                try await relayd.until("the tester is there") { $0.apps.count == 2 }
                try await app.ask(.show, #"{"mainField1":"Hi"}"#)
                try await relayd.until("prepared") { $0.faults?.rules == 2 }
                let speed = try await app.ask(.getVehicleData, #"{"speed":true}"#)
                #expect(speed.contains(#""speed":88.5"#), "\(speed)")
                let refused = try await app.ask(.alert, #"{"alertText1":"Hi"}"#)
                #expect(
                    refused.contains(#""resultCode":"REJECTED","info":"not now""#), "\(refused)")
            }
            #expect(done.ending == .exited(0), "\(done.output)\(done.errors)")
            let xml = try XMLDocument(
                xmlString: try String(contentsOfFile: junit, encoding: .utf8))
            let suite = try #require(xml.rootElement()?.elements(forName: "testsuite").first)
            #expect(suite.attribute(forName: "tests")?.stringValue == "5")
            #expect(suite.attribute(forName: "failures")?.stringValue == "0")
            let shown = try await Program.relayctl.run(
                ["trace", "show", "\(traces)/greeting.pcapng", "rpc:Show"])
            #expect(shown.ending == .exited(0), "\(shown.errors)")
            #expect(shown.output.contains("Hi"), "\(shown.output)")
            // The app that relayd played is gone, and so are the rules.
            let status = try await relayd.until("one app") { $0.apps.count == 1 }
            #expect(status.faults == nil)
        }
    }

    @Test("a failed step: exit code 1, what was expected and what came, in words, JSON and JUnit")
    func failed() async throws {
        try await Self.bench { relayd in
            let file = try relayd.directory.write(
                """
                scenario: A wrong text
                apps: {app: "*"}
                steps:
                  - fault: rpc:PutFile
                    do: delay 1s
                  - wait: rpc:Show
                    check: {mainField1: Hello}
                  - wait: rpc:Alert
                """, to: "wrong.yaml")
            let good = try relayd.directory.write(
                "scenario: Nothing\nsteps:\n  - pause: 10ms\n", to: "good.yaml")
            let junit = relayd.directory.file("r.xml")
            let app = try await ScriptedApp.start(relayd).app
            let done = try await ScenarioBench.run(
                relayd, [file, good, "--junit", junit], title: "A wrong text"
            ) { try await app.ask(.show, #"{"mainField1":"Hallo"}"#) }
            #expect(done.ending == .exited(1), "\(done.errors)")
            let lines = """
                        - mainField1: "Hello"
                        + mainField1: "Hallo"
                """
            #expect(done.output.contains(lines), "\(done.output)")
            #expect(done.output.contains("· 3 wait rpc:Alert"))
            #expect(done.output.hasSuffix("2 scenarios: 1 passed, 1 failed"), "\(done.output)")
            let xml = try String(contentsOfFile: junit, encoding: .utf8)
            #expect(xml.contains("+ mainField1: &quot;Hallo&quot;"), "\(xml)")
            #expect(xml.contains(#"tests="4" failures="1" errors="0" skipped="1""#), "\(xml)")
            #expect(try await relayd.status().faults == nil)
            let unwritten = try await relayd.relayctl("run", good, "--junit", "/nonexistent/r.xml")
            #expect(unwritten.ending == .exited(74), "\(unwritten.errors)")
            let json = try await relayd.relayctl("run", good, "--json")
            #expect(json.ending == .exited(0), "\(json.errors)")
            let report = try #require(
                try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            let scenarios = try #require(report["scenarios"] as? [[String: Any]])
            #expect(scenarios.first?["outcome"] as? String == "passed")
            await app.close()
        }
    }

    @Test("what cannot be used: exit code 2, with the reason, and a report for the build server")
    func unusable() async throws {
        try await TemporaryDirectory.run { directory in
            let wrong = try directory.write(
                "scenario: s\nsteps:\n  - wiat: rpc:Show\n", to: "wrong.yaml")
            let check = try await Program.relayctl.run(["scenario", "check", wrong, "soft-buttons"])
            #expect(check.ending == .exited(2))
            #expect(check.errors.contains("wrong.yaml:3:5: steps[0]: what is to be done?"))
            #expect(
                check.output.contains("soft-buttons: Driver presses every soft button, 3 steps"))
            let junit = directory.file("r.xml")
            let nobody = try await Program.relayctl.run(
                ["run", "soft-buttons", "--socket", directory.file("none"), "--junit", junit])
            #expect(nobody.ending == .exited(2), "\(nobody.output)")
            #expect(nobody.errors.contains("relayd is not running"))
            #expect(try String(contentsOfFile: junit, encoding: .utf8).contains(#"errors="1""#))
            try await Self.bench { relayd in
                let done = try await relayd.relayctl(
                    "run", wrong, "soft-button", "low-memory", "--app", "a=b")
                #expect(done.ending == .exited(2), "\(done.output)")
                #expect(done.output.contains("wrong.yaml:3:5: steps[0]: what is to be done?"))
                #expect(done.output.contains("did you mean the ready scenario soft-buttons?"))
                let set = try await relayd.relayctl("run", "low-memory", "--set", "patince=1s")
                #expect(set.output.contains("did you mean patience?"), "\(set.output)")
            }
            try await Self.bench(config: Relayd.quickGoodbyes) { relayd in
                let off = try await relayd.relayctl("run", "slow-bluetooth")
                #expect(off.ending == .exited(2), "\(off.output)")
                #expect(off.output.contains("drive.enabled: true"), "\(off.output)")
            }
        }
    }

    @Test(
        "an interrupted run takes back its faults and its apps, and ends as ^C would have ended it")
    func interrupted() async throws {
        try await Self.bench { relayd in
            let file = try relayd.directory.write(
                """
                scenario: Waits
                apps: {t: {as: RPC tester}}
                steps:
                  - link: slow 20KB/s
                  - wait: rpc:Show
                """, to: "waits.yaml")
            let process = try await Program.relayctl.start(
                ["run", file], environment: ["RELAYD_SOCKET": relayd.controlSocket])
            try await relayd.until("both are there") { $0.faults?.rules == 1 && $0.apps.count == 1 }
            process.signal(SIGINT)
            #expect(try await process.ended() == .killed(by: SIGINT))
            let output = try await process.output.untilEnd().joined(separator: "\n")
            #expect(output.contains("interrupted"), "\(output)")
            try await relayd.until("both are gone") { $0.faults == nil && $0.apps.isEmpty }
        }
    }

    @Test("relayd is killed during a scenario: the trace is said to be incomplete")
    func killed() async throws {
        try await Relayd.run(
            accessory: "sim:", config: Relayd.driving, endsBy: .killed(by: SIGKILL)
        ) { relayd in
            let file = try relayd.directory.write(
                """
                scenario: A long wait
                apps: {app: {sample: relayd sample, app_id: relayd-sample}}
                steps:
                  - wait: rpc:Slider
                    within: 60s
                """, to: "long.yaml")
            let traces = relayd.directory.file("traces")
            let process = try await Program.relayctl.start(
                ["run", file, "--record", traces],
                environment: ["RELAYD_SOCKET": relayd.controlSocket])
            try await relayd.until("its app is there") { !$0.apps.isEmpty }
            relayd.process.signal(SIGKILL)
            #expect(try await process.ended() != .exited(0))
            let said = try await process.output.untilEnd() + process.errors.untilEnd()
            #expect(said.contains { $0.contains("long.pcapng is incomplete: ") }, "\(said)")
        }
    }

    @Test("a scenario that is made of a recording holds against the head unit that was recorded")
    func fromTrace() async throws {
        try await TemporaryDirectory.run { directory in
            let project = Checkout.root.appending(path: "config/scenarios/project").path
            let traces = directory.file("traces")
            let whole = try directory.write(
                """
                scenario: All that the sample app does
                apps: {app: {sample: relayd sample, app_id: relayd-sample}}
                steps:
                  - expect: rpc:Alert kind:response
                    within: 60s
                """, to: "first-screen.yaml")
            try await Self.bench("sim:") { relayd in
                let done = try await relayd.relayctl("run", whole, "--record", traces)
                #expect(done.ending == .exited(0), "\(done.output)\(done.errors)")
            }
            let trace = "\(traces)/first-screen.pcapng"
            // The recorded head unit answers the same scenario.
            try await Self.bench("replay:\(trace)?speed=max") { relayd in
                let done = try await relayd.relayctl("run", "\(project)/first-screen.yaml")
                #expect(done.ending == .exited(0), "\(done.output)\(done.errors)")
            }
            let made = try await Program.relayctl.run(["scenario", "from", trace])
            #expect(made.ending == .exited(0), "\(made.errors)")
            #expect(made.output.contains("- wait: \"rpc:PutFile\""), "\(made.output)")
            let file = try directory.write(made.output, to: "made.yaml")
            try await Self.bench("replay:\(trace)?speed=max") { relayd in
                let done = try await ScenarioBench.run(relayd, [file], title: "first-screen.pcapng")
                {
                    let app = try await relayd.relayctl(
                        "sample-app", "--connect", "127.0.0.1:\(relayd.port)")
                    #expect(app.ending == .exited(0), "\(app.errors)")
                }
                #expect(done.ending == .exited(0), "\(done.output)")
            }
        }
    }

    @Test("the project for build servers runs as it is, and its report says that all has passed")
    func project() async throws {
        try await TemporaryDirectory.run { directory in
            let folder = directory.file("project")
            try FileManager.default.copyItem(
                atPath: Checkout.root.appending(path: "config/scenarios/project").path,
                toPath: folder)
            let programs = try Program.relayctl.path().split(separator: "/").dropLast()
                .joined(separator: "/")
            try await UnusedPort.run { port in
                let path = Program.environment()["PATH"] ?? "/usr/bin:/bin"
                let done = try await ChildProcess.run(
                    "\(folder)/run-scenarios", [],
                    environment: Program.environment([
                        "PATH": "/\(programs):\(path)", "APP_PORT": "\(port)",
                    ]))
                #expect(done.ending == .exited(0), "\(done.output)\(done.errors)")
                let xml = try String(contentsOfFile: "\(folder)/results.xml", encoding: .utf8)
                #expect(xml.contains(#"failures="0" errors="0" skipped="0""#), "\(xml)")
                let trace = "\(folder)/traces/first-screen.pcapng"
                let info = try await Program.relayctl.run(["trace", "info", trace])
                #expect(info.ending == .exited(0), "\(info.errors)")
            }
        }
    }
}
