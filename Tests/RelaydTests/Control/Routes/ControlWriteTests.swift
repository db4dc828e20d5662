import ControlAPI
import Glibc
import Logging
import RelayTesting
import SDLTraffic
import Synchronization
import Testing

@testable import relayd

/// The actions that a control server was asked to perform, in words.
private final class Deeds: Sendable {
    private let deeds = Mutex<[String]>([])
    var all: [String] { deeds.withLock { $0 } }
    func add(_ deed: String) { deeds.withLock { $0.append(deed) } }

    func actions(
        leaves: Bool = false, reload: (@Sendable () async throws -> ReloadReport)? = nil
    ) -> ControlActions {
        ControlActions(
            disconnect: { app, reason in
                self.add("disconnect \(app) \(reason ?? "-")")
                return !leaves
            },
            reopen: { self.add("reopen \($0 ?? "-")") },
            setServer: {
                self.add("server \($0)")
                return "the server is \($0 ? "on" : "off")"
            }, reload: reload ?? { ReloadReport(summary: "nothing has changed") })
    }
}

@Suite struct ControlWriteTests {
    private func error(_ body: String) throws -> APIError.Detail {
        try APICoding.decode(APIError.self, from: Array(body.utf8)).error
    }

    private func summary(_ body: String) throws -> String {
        try APICoding.decode(ActionReport.self, from: Array(body.utf8)).summary
    }

    @Test("an app is disconnected by its number, with the reason that was given")
    func disconnect() async throws {
        let deeds = Deeds()
        try await ControlTestServer.with(actions: deeds.actions()) { test in
            let bare = try await test.send("POST", "/v1/apps/1/disconnect")
            #expect(bare.status == 200)
            #expect(try summary(bare.body) == "app #1 disconnected")
            let full = try await test.send(
                "POST", "/v1/apps/%231/disconnect", #"{"reason":"makes\nroom \u001b[2J"}"#)
            #expect(full.status == 200)
            #expect(deeds.all == ["disconnect #1 -", "disconnect #1 makes room [2J"])
        }
    }

    @Test("an app that is not there, or has left meanwhile, is 404") func nobody() async throws {
        let deeds = Deeds()
        try await ControlTestServer.with(actions: deeds.actions(leaves: true)) { test in
            let unknown = try await test.send("POST", "/v1/apps/Nobody/disconnect")
            #expect(unknown.status == 404)
            #expect(try error(unknown.body).message.contains("connected: #1"))
            #expect(deeds.all.isEmpty)
            let left = try await test.send("POST", "/v1/apps/1/disconnect")
            #expect(left.status == 404)
            #expect(try error(left.body).message.contains("has already left"))
        }
    }

    @Test("the link is reopened and the server switched") func linkAndServer() async throws {
        let deeds = Deeds()
        try await ControlTestServer.with(actions: deeds.actions()) { test in
            #expect(try await test.send("POST", "/v1/link/reopen").status == 200)
            let off = try await test.send("PUT", "/v1/server", #"{"active": false}"#)
            #expect(off.status == 200)
            #expect(try summary(off.body) == "the server is off")
            #expect(try await test.send("PUT", "/v1/server", #"{"active":true}"#).status == 200)
            #expect(deeds.all == ["reopen -", "server false", "server true"])
        }
    }

    @Test(
        "a body that is not understood changes nothing and is told what was expected",
        arguments: [
            ("", "expected {\"active\": false}"), ("[]", "not a JSON object"),
            ("{\"active\": 1}", "expected {\"active\": false}"),
            (
                "{\"activ\": true}",
                "there is no \"activ\" in this body; known: active; did you mean \"active\"?"
            ),
            ("{\"active\": true", "not a JSON object"), ("\u{0}", "not a JSON object"),
        ])
    func badBody(body: String, words: String) async throws {
        let deeds = Deeds()
        try await ControlTestServer.with(actions: deeds.actions()) { test in
            let answer = try await test.send("PUT", "/v1/server", body)
            #expect(answer.status == 400)
            #expect(try error(answer.body).message.contains(words), "\(answer.body)")
            #expect(deeds.all.isEmpty)
        }
    }

    @Test("a body larger than any request needs is 413") func largeBody() async throws {
        try await ControlTestServer.with(actions: Deeds().actions()) { test in
            let body = #"{"reason":""# + String(repeating: "x", count: 20_000) + #""}"#
            let answer = try await test.send("POST", "/v1/link/reopen", body)
            #expect(answer.status == 413)
            #expect(try error(answer.body).code == .tooLarge)
        }
    }

    @Test("a reload tells what has changed, a refused one what is wrong")
    func reload() async throws {
        let can = Deeds().actions(reload: {
            ReloadReport(summary: "done", changed: ["log.level"], needsRestart: ["listen"])
        })
        try await ControlTestServer.with(actions: can) { test in
            let answer = try await test.send("POST", "/v1/reload")
            #expect(answer.status == 200)
            let report = try APICoding.decode(ReloadReport.self, from: Array(answer.body.utf8))
            #expect(report.changed == ["log.level"] && report.needsRestart == ["listen"])
            #expect(try await test.get("/").contains("/v1/reload"))
        }
        let cannot = Deeds().actions(reload: { throw APIError(.badRequest, "relayd.yaml:3:1: …") })
        try await ControlTestServer.with(actions: cannot) { test in
            let answer = try await test.send("POST", "/v1/reload")
            #expect(answer.status == 400)
        }
    }

    @Test("every change is logged with who made it; looking is not") func logged() async throws {
        let log = LoggedLines()
        try await ControlTestServer.with(
            actions: Deeds().actions(), logger: Logger(label: "control", factory: { _ in log })
        ) { test in
            _ = try await test.get("/v1/status")
            _ = try await test.send("POST", "/v1/link/reopen")
        }
        let lines = log.records.map(\.message).filter { $0.hasPrefix("control: ") }
        #expect(
            lines == ["control: POST /v1/link/reopen by uid \(getuid()) pid \(getpid()): 200"])
    }

    @Test("the log's level and filters are read and changed, all or nothing") func logging()
        async throws
    {
        let threshold = LogThreshold(.info)
        var config = Config.Log()
        config.functions = ["!OnVehicleData"]
        let log = try LogControl(
            config, threshold: threshold, format: TrafficLog.Configuration(), sink: { _ in })
        try await ControlTestServer.with(log: log) { test in
            func settings(_ body: String) throws -> LogSettings {
                try APICoding.decode(LogSettings.self, from: Array(body.utf8))
            }
            let before = LogSettings(
                schema: 1, level: "info", traffic: true, filter: "", apps: [],
                functions: ["!OnVehicleData"], services: [])
            #expect(try settings(await test.send("GET", "/v1/log").body) == before)

            // Settings that were read may be sent back.
            let read = try await test.send("GET", "/v1/log").body
            #expect(try settings(await test.send("PUT", "/v1/log", read).body) == before)

            let changed = try await test.send(
                "PUT", "/v1/log",
                #"{"level":"debug","filter":"rpc:On*","apps":["Music"],"services":["rpc"]}"#)
            var after = before
            (after.level, after.apps, after.services) = ("debug", ["Music"], ["rpc"])
            after.filter = "rpc:On*"
            #expect(changed.status == 200)
            #expect(try settings(changed.body) == after && threshold.level == .debug)

            for (body, words) in [
                (#"{"level":"loud"}"#, "expected one of error, warning"),
                (#"{"level":"error","functions":["Shw"]}"#, "did you mean 'Show'?"),
                (#"{"filter":"app:radio rcp:On*"}"#, "character 11: there is no key 'rcp'"),
                (#"{"schema":2,"level":"error"}"#, "schema is 2; expected 1"),
                (#"{"services":["vidoe"]}"#, "did you mean \"video\"?"),
            ] {
                let refused = try await test.send("PUT", "/v1/log", body)
                #expect(refused.status == 400)
                #expect(try error(refused.body).message.contains(words), "\(refused.body)")
            }
            #expect(log.settings == after && threshold.level == .debug)
        }
    }
}
