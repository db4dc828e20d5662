import ControlAPI
import Testing

@testable import relayctl

@Suite struct AppCommandTests {
    static let report: AppReport = {
        var report = AppReport(app: Samples.registeredApp)
        report.registration = RegistrationReport(requestedAt: Samples.start)
        report.registration?.requestedVersion = "8.0.0"
        report.registration?.version = "7.1.0"
        report.registration?.hmiTypes = ["NAVIGATION"]
        report.registration?.answeredAt = Samples.start
        report.registration?.resultCode = "SUCCESS"
        report.hmi = [
            HMIStatusReport(at: Samples.now, level: "FULL", audio: "AUDIBLE", context: "MAIN"),
            HMIStatusReport(at: Samples.start, level: "NONE"),
        ]
        var show = PermissionReport(rpc: "Show")
        show.allowed = ["FULL", "LIMITED"]
        show.answer = .yes
        // The levels alone would allow it; relayd knows more, in this case that the user has refused it.
        var speak = PermissionReport(rpc: "Speak")
        speak.allowed = ["FULL", "LIMITED"]
        speak.userDisallowed = ["FULL"]
        speak.answer = .no
        report.permissions = [show, speak]
        report.capabilities.displayName = "GENERIC"
        report.capabilities.displayWidth = 800
        report.capabilities.displayHeight = 480
        var icon = FileReport(name: "icon\u{1B}[2J")
        icon.type = "GRAPHIC_PNG"
        icon.bytes = 3078
        icon.totalBytes = 6000
        report.files.files = [icon]
        report.files.spaceAvailable = 1 << 20
        report.menu.commands = (0..<25).map { CommandReport(id: $0, name: "Command \($0)") }
        report.subscriptions.vehicleData = [
            VehicleDatumReport(name: "rpm", isSubscribed: true, value: "1930", at: Samples.now)
        ]
        report.subscriptions.buttons = ["OK"]
        var video = ServiceReport(service: "video", session: 1, since: Samples.start)
        video.format = "800×480 H264 RAW"
        video.bitsPerSecond = 2_430_000
        video.picturesPerSecond = 29.9
        report.services = [video]
        report.pending = [
            PendingReport(
                rpc: "Alert", correlationID: 7, from: "app", at: Samples.start, entry: 12)
        ]
        report.advice = [advice]
        report.requests = 12
        return report
    }()

    static let advice = AdviceReport(
        code: "putfile_crc", at: Samples.start, lastAt: Samples.now, count: 5, app: 1,
        appName: "Relay Test App", text: "PutFile \"icon\" has crc 1, but its data has 2",
        remedy: "compute crc over the bytes of this request", entry: 9)

    private func run(
        _ body: some Encodable, status: String = "200 OK", _ arguments: String...
    ) async throws -> (code: Int32, out: String, error: String) {
        let json = String(decoding: try APICoding.encode(body), as: UTF8.self)
        let server = try await StubServer(StubServer.relayd(json, status: status))
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            arguments + ["--socket", server.path], output: recorder.output())
        try await server.stop()
        return (code, recorder.text(), recorder.text(.error))
    }

    @Test("every section that has something in it is shown, in readable lines")
    func text() {
        let text = AppText(width: 100, now: Samples.now, localTime: .utc).render(Self.report)
        for words in [
            "Relay Test App  #1  ID 4711  registered  session 1  protocol 5.4.0  RPC 7.1.0",
            "12 requests, 0 failed",
            "\nAdvice\n  10:33:17 (5×) PutFile \"icon\" has crc 1, but its data has 2\n",
            "    → compute crc over the bytes of this request (putfile_crc)",
            "\nRegistration\n  asked     10:31:07  RPC 8.0.0  NAVIGATION\n  answered  SUCCESS",
            "\nHMI\n  10:33:17  FULL  AUDIBLE  MAIN\n  10:31:07  NONE\n",
            "\n  video     session 1  since 10:31:07  800×480 H264 RAW  29.9 pictures/s  2.4 Mbit/s",
            "\nWithout answer\n  Alert #7 of the app, for 2 min\n",
            "\n  allowed   1 of 2 RPCs in FULL\n  not now   Speak\n",
            "\n  display   GENERIC  800×480\n",
            "  1 file  1.0 MiB free  the app has not sent ListFiles: there may be more\n",
            "  icon  GRAPHIC_PNG  3.0 KiB  of 5.9 KiB\n",
            "  command 19  Command 19\n  … and 5 more (--json has all)\n",
            "  told of   OK\n  rpm = 1930 (10:33:17)\n",
        ] {
            #expect(text.contains(words), "\(words)\n---\n\(text)")
        }
        #expect(!text.contains("\u{1B}"))
        for line in text.split(separator: "\n") { #expect(String(line).columns <= 100) }
    }

    @Test("a narrow terminal gets narrow lines") func narrow() {
        let text = AppText(width: 40, now: Samples.now, localTime: .utc).render(Self.report)
        for line in text.split(separator: "\n") { #expect(String(line).columns <= 40, "\(line)") }
    }

    @Test("an app about which nothing is known is its row and no more") func empty() {
        let app = AppStatus(id: 2, peer: "p:1", connectedAt: Samples.start, state: .connected)
        let text = AppText(width: 100, now: Samples.now, localTime: .utc)
            .render(AppReport(app: app))
        #expect(text.split(separator: "\n").count == 1)
        #expect(text.hasPrefix("(no name)  #2  connected  p:1"))
    }

    @Test("the command shows the text, or with --json what relayd sent") func command()
        async throws
    {
        let text = try await run(Self.report, "app", "Relay Test App")
        #expect(text.code == 0 && text.out.hasPrefix("Relay Test App  #1"))
        let json = try await run(Self.report, "app", "1", "--json")
        let report = try APICoding.decode(AppReport.self, from: Array(json.out.utf8))
        #expect(report.app.id == 1)
        #expect(!json.out.contains("\u{1B}"))
    }

    @Test(
        "relayd's words about an unknown or ambiguous app are passed on, with exit code 3",
        arguments: [
            (APIError(.notFound, "there is no app \"X\"; connected: #1 A"), "404 Not Found"),
            (APIError(.ambiguous, "2 apps are called \"X\": #1, #2"), "409 Conflict"),
        ])
    func unknownApp(error: APIError, status: String) async throws {
        for command in [["app", "X"], ["permissions", "X", "Show"]] {
            let json = String(decoding: try APICoding.encode(error), as: UTF8.self)
            let server = try await StubServer(StubServer.relayd(json, status: status))
            let recorder = Recorder()
            let code = await RelayCtl.execute(
                command + ["--socket", server.path], output: recorder.output())
            try await server.stop()
            #expect(code == 3 && recorder.text().isEmpty)
            #expect(recorder.text(.error) == "relayctl: \(error.error.message)\n")
        }
    }

    @Test(
        "an empty name is a usage error: it means no app, and no path of relayd's",
        arguments: [
            ["app", ""], ["app", " "], ["permissions", "", "Show"], ["permissions", "X", ""],
            ["disconnect", ""], ["tail", "--app", ""], ["tail", "--rpc", ""], ["log", "--app", ""],
            ["log", "--rpc", ""], ["log", "--unit", ""], ["log-level", ""],
            ["log-level", "--app", ""], ["log-level", "--filter", ""], ["log-level", "--rpc", ""],
            ["doctor", "--config", ""],
            ["bugreport", "--file", ""], ["status", "--socket", ""],
        ])
    func emptyNames(arguments: [String]) async {
        let recorder = Recorder()
        #expect(await RelayCtl.execute(arguments, output: recorder.output()) == 64)
        #expect(recorder.text(.error).contains("is empty; "))
        #expect(recorder.text(.error).contains("relayctl \(arguments[0])"))
    }

    @Test("without relayd every command says so", arguments: [["app", "X"], ["advice"]])
    func notRunning(arguments: [String]) async {
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            arguments + ["--socket", "/nonexistent/c.sock"], output: recorder.output())
        #expect(code == 2)
        #expect(recorder.text(.error).hasPrefix("relayctl: relayd is not running"))
    }

    @Test("without the app's name there is a usage error") func missingArgument() async {
        let recorder = Recorder()
        #expect(await RelayCtl.execute(["permissions"], output: recorder.output()) == 64)
        #expect(recorder.text(.error).contains("<app>"))
    }
}

@Suite struct PermissionsCommandTests {
    private func run(
        _ answer: PermissionAnswer, _ arguments: String...
    ) async throws -> (code: Int32, out: String) {
        let json = String(decoding: try APICoding.encode(answer), as: UTF8.self)
        let server = try await StubServer(StubServer.relayd(json))
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["permissions", "A", "Show", "--socket", server.path] + arguments,
            output: recorder.output())
        try await server.stop()
        return (code, recorder.text())
    }

    private func answer(_ answer: MayIt) -> PermissionAnswer {
        var permission = PermissionReport(rpc: "Show")
        permission.allowed = ["FULL", "LIMITED"]
        return PermissionAnswer(
            app: 1, appName: "A", rpc: "Show", answer: answer, cause: "wrong_level",
            reason: "it is allowed in FULL or LIMITED, but the app is in NONE",
            remedy: "send it after OnHMIStatus with FULL or LIMITED", permission: permission)
    }

    @Test("no is 1 with reason and remedy, yes is 0, and not known is 1")
    func exitCodes() async throws {
        let no = try await run(answer(.no))
        #expect(no.code == 1)
        #expect(
            no.out == """
                no  Show of A: it is allowed in FULL or LIMITED, but the app is in NONE
                  → send it after OnHMIStatus with FULL or LIMITED
                  allowed in: FULL LIMITED

                """)
        #expect(try await run(answer(.yes)).code == 0)
        #expect(try await run(answer(.unknown)).code == 1)
        #expect(try await run(answer(.no), "--json").code == 1)
        #expect(try await run(answer(.no), "--json").out.contains("\"cause\" : \"wrong_level\""))
    }

    private func list(
        _ report: AppReport, _ arguments: String...
    ) async throws -> (code: Int32, out: String) {
        let json = String(decoding: try APICoding.encode(report), as: UTF8.self)
        let server = try await StubServer(StubServer.relayd(json))
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["permissions", "A", "--socket", server.path] + arguments, output: recorder.output())
        try await server.stop()
        return (code, recorder.text())
    }

    @Test("without an RPC all are listed, with the levels and whether that is the present one")
    func lists() async throws {
        var report = AppReport(app: Samples.busy.apps[0])
        var show = PermissionReport(rpc: "Show")
        show.allowed = ["FULL", "LIMITED"]
        var speak = PermissionReport(rpc: "Speak")
        speak.allowed = ["FULL"]
        speak.userDisallowed = ["LIMITED"]
        (show.answer, speak.answer) = (.yes, .no)
        report.permissions = [show, speak]
        report.hmi = [HMIStatusReport(at: Samples.now, level: "LIMITED")]
        let listed = try await list(report)
        #expect(listed.code == 0)
        #expect(
            listed.out == """
                Relay Test App may use 1 of 2 RPCs in LIMITED
                  RPC    Now  Allowed in    Refused by the user in
                  Show   yes  FULL LIMITED
                  Speak  no   FULL          LIMITED

                """)
        #expect(
            try APICoding.decode(
                [PermissionReport].self, from: Array(try await list(report, "--json").out.utf8))
                == [show, speak])
        report.hmi = []
        let early = try await list(report).out
        #expect(early.contains("1 of 2 RPCs before its first OnHMIStatus"))
        report.permissions = []
        let none = try await list(report)
        #expect(none.code == 1 && none.out.contains("has not said what Relay Test App may"))
    }
}

@Suite struct AdviceCommandTests {
    private func run(_ arguments: String...) async -> (code: Int32, out: String, error: String) {
        let recorder = Recorder()
        let code = await RelayCtl.execute(arguments, output: recorder.output())
        return (code, recorder.text(), recorder.text(.error))
    }

    @Test("explain lists every code, and each has a page that says what to do")
    func explain() async throws {
        let list = await run("explain")
        #expect(list.code == 0)
        let codes = list.out.split(separator: "\n").compactMap { $0.split(separator: " ").first }
        #expect(codes.count >= 40 && codes.contains("request_in_none"))
        for code in codes {
            let page = await run("explain", String(code))
            #expect(page.code == 0 && page.out.hasPrefix("\(code)  "))
            #expect(page.out.contains("\n\nWhat to do\n  "))
            #expect(page.out.contains("\n\nMore\n  "))
            for line in page.out.split(separator: "\n") { #expect(String(line).columns <= 100) }
        }
    }

    @Test("a mistyped code gets a hint, capitals do not matter") func mistyped() async {
        let result = await run("explain", "request-in-nome")
        #expect(result.code == 64)
        #expect(result.error.contains("did you mean 'request_in_none'?"))
        #expect(await run("explain", "REQUEST-IN-NONE").code == 0)
        #expect(await run("explain", "xyzzy").error.contains("'relayctl explain' lists all codes"))
    }

    @Test("advice is listed oldest first, and none is no failure") func advice() async throws {
        for (list, expected) in [
            ([AppCommandTests.advice], "Relay Test App: PutFile"), ([], "no advice"),
        ] {
            let json = String(
                decoding: try APICoding.encode(AdviceList(advice: list)), as: UTF8.self)
            let server = try await StubServer(StubServer.relayd(json))
            let recorder = Recorder()
            let code = await RelayCtl.execute(
                ["advice", "--socket", server.path], output: recorder.output())
            try await server.stop()
            #expect(code == 0 && recorder.text().contains(expected))
        }
    }

    @Test("status shows the latest advice under the app") func status() throws {
        let app = AppStatus(
            id: 1, peer: "p:1", connectedAt: Samples.start, state: .registered,
            appName: "Relay Test App", advice: AppCommandTests.advice)
        let text = StatusText(width: 100, now: Samples.now, localTime: .utc)
            .render(Samples.snapshot(apps: [app]))
        #expect(text.contains("PutFile \"icon\" has crc 1"))
        #expect(text.contains("→ compute crc over the bytes of this request (putfile_crc)"))
    }
}
