import ControlAPI
import Foundation
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import ServiceLifecycle
import Testing

@testable import relayd

@Suite struct AppHandlersTests {
    private static let start = WallTime(nanoseconds: 1_795_257_067_000_000_000)

    /// Runs a server that knows two apps, the first of which has registered, uploaded and failed.
    private func with(
        names: [String?] = ["Relay Test", nil], _ body: (ControlTestServer) async throws -> Void
    ) async throws {
        let facts = SessionFacts()
        let advisor = TrafficAdvisor(facts: facts)
        advisor.consume(Self.traffic())
        let apps = names.enumerated().map { index, name in
            AppStatus(
                id: index + 1, peer: "127.0.0.1:\(40_000 + index)",
                connectedAt: Timestamp(Self.start), state: .connected, appName: name,
                appID: name.map { _ in "id-\(index + 1)" })
        }
        let known = ControlTestServer.snapshot
        let snapshot = StatusSnapshot(
            relayd: known.relayd, accessory: known.accessory, link: known.link,
            server: known.server, apps: apps,
            recentDepartures: [
                AppDeparture(
                    id: 7, peer: "p", appName: "Gone", closedAt: Timestamp(Self.start),
                    reason: "closed by the app")
            ])
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try ControlServer(
            configuration: .init(socketPath: test.path, mode: 0o660, group: nil),
            status: { snapshot },
            apps: AppHandlers(status: { snapshot }, facts: facts, advisor: advisor),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: ControlTestServer.quiet)
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        do {
            try await body(test)
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running
    }

    /// App 1 registers, receives permissions, uploads a file with a wrong CRC, and waits for Show.
    private static func traffic() -> [TrafficEntry] {
        var decoder = TrafficDecoder()
        var entries: [TrafficEntry] = []
        let app = AppID(rawValue: 1)
        func frame(_ direction: Direction, _ frame: Frame) {
            decoder.receive(
                .frames([.seen(frame, direction, app: app, time: start)]), into: &entries)
        }
        func rpc(
            _ direction: Direction, _ type: RPCType, _ function: FunctionID, _ id: Int32,
            _ json: String, bulk: String = ""
        ) {
            frame(
                direction,
                .rpc(
                    version: 5, sessionID: 1, messageID: 1, type: type,
                    functionID: function.rawValue, correlationID: id, json: json,
                    bulk: ByteBuffer(string: bulk)))
        }
        let ok = #"{"success":true,"resultCode":"SUCCESS"}"#
        decoder.receive(.appConnected(app, peer: "127.0.0.1:40000", time: start), into: &entries)
        rpc(
            .fromApp, .request, .registerAppInterface, 1,
            #"{"appName":"Relay Test","appID":"id-1","appHMIType":["MEDIA"]}"#)
        rpc(.fromAccessory, .response, .registerAppInterface, 1, ok)
        rpc(.fromAccessory, .notification, .onHMIStatus, 0, #"{"hmiLevel":"FULL"}"#)
        rpc(
            .fromAccessory, .notification, .onPermissionsChange, 0,
            #"{"permissionItem":[{"rpcName":"Show","hmiPermissions":{"allowed":["FULL"],"#
                + #""userDisallowed":[]},"parameterPermissions":{"allowed":[],"#
                + #""userDisallowed":[]}}]}"#)
        rpc(.fromApp, .request, .putFile, 2, #"{"syncFileName":"icon","crc":1}"#, bulk: "abc")
        rpc(.fromAccessory, .response, .putFile, 2, ok)
        rpc(.fromApp, .request, .show, 3, "{}")
        return entries
    }

    private func body(_ answer: String) -> [UInt8] {
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1)
        return Array((parts.count > 1 ? parts[1] : "").utf8)
    }

    private func error(_ answer: String) throws -> APIError.Detail {
        try APICoding.decode(APIError.self, from: body(answer)).error
    }

    @Test(
        "an app is found by number, name in any case, app ID, and part of a name",
        arguments: [
            "1", "%231", "Relay%20Test", "relay%20test", "id-1", "y%20TE", "r*t", "id-",
        ])
    func found(path: String) async throws {
        try await with { test in
            let answer = try await test.get("/v1/apps/\(path)")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            let report = try APICoding.decode(AppReport.self, from: body(answer))
            #expect(report.app.id == 1)
            #expect(report.registration?.hmiTypes == ["MEDIA"])
            #expect(report.hmi.map(\.level) == ["FULL"])
            #expect(report.permissions.map(\.rpc) == ["Show"])
            #expect(report.permissions.map(\.answer) == [.yes])
            #expect(report.files.files.map(\.name) == ["icon"])
            #expect(report.pending.map(\.rpc) == ["Show"])
            #expect(report.advice.map(\.code) == ["putfile_crc"])
            #expect(report.requests == 3)
        }
    }

    @Test("an app that has said nothing has an empty report")
    func silent() async throws {
        try await with { test in
            let answer = try await test.get("/v1/apps/2")
            let report = try APICoding.decode(AppReport.self, from: body(answer))
            #expect(report.registration == nil && report.permissions.isEmpty)
        }
    }

    @Test("an unknown app is 404 and says who is there, or when it left")
    func unknown() async throws {
        try await with { test in
            let answer = try await test.get("/v1/apps/Nobody")
            #expect(answer.hasPrefix("HTTP/1.1 404"))
            let error = try error(answer)
            #expect(error.code == .notFound)
            #expect(
                error.message == "there is no app \"Nobody\"; connected: #1 Relay Test, "
                    + "#2 (not registered)")
            let gone = try self.error(try await test.get("/v1/apps/gone"))
            #expect(gone.message.contains("it left at 2026-11-21T"))
            #expect(gone.message.hasSuffix("closed by the app"))
        }
        try await with(names: []) { test in
            let answer = try await test.get("/v1/apps/1")
            #expect(try error(answer).message.hasSuffix("no app is connected"))
        }
    }

    @Test("a name that two apps have is 409 and lists them")
    func ambiguous() async throws {
        try await with(names: ["Twin", "twin"]) { test in
            let answer = try await test.get("/v1/apps/twin")
            #expect(answer.hasPrefix("HTTP/1.1 409"))
            let error = try error(answer)
            #expect(error.code == .ambiguous)
            #expect(error.message.contains("#1 (127.0.0.1:40000), #2 (127.0.0.1:40001)"))
        }
        try await with(names: ["Web Radio", "Radio"]) { test in
            #expect(try await test.get("/v1/apps/radio").contains("\"id\" : 2"))
            let several = try await test.get("/v1/apps/rad")
            #expect(several.hasPrefix("HTTP/1.1 409"))
            #expect(
                try error(several).message
                    == "\"rad\" fits 2 apps: #1 Web Radio, #2 Radio; say which by number")
        }
    }

    @Test("broken percent-encoding is an unknown app, not a crash", arguments: ["%", "%4", "%ZZ"])
    func brokenEncoding(path: String) async throws {
        try await with { test in
            let answer = try await test.get("/v1/apps/\(path)")
            #expect(answer.hasPrefix("HTTP/1.1 404"))
        }
    }

    @Test("a permission is answered with its reason")
    func permission() async throws {
        try await with { test in
            let yes = try APICoding.decode(
                PermissionAnswer.self,
                from: body(try await test.get("/v1/apps/1/permissions/Show")))
            #expect(yes.answer == .yes && yes.cause == "allowed")
            #expect(yes.permission?.allowed == ["FULL"])
            let no = try APICoding.decode(
                PermissionAnswer.self,
                from: body(try await test.get("/v1/apps/1/permissions/Alert")))
            #expect(no.answer == .no && no.cause == "not_granted" && no.remedy != nil)
            let unregistered = try APICoding.decode(
                PermissionAnswer.self,
                from: body(try await test.get("/v1/apps/2/permissions/Show")))
            #expect(unregistered.cause == "not_registered")
        }
    }

    @Test("an unknown RPC is 404 with the nearest name")
    func unknownRPC() async throws {
        try await with { test in
            for (name, hint) in [("show", "Show"), ("Shwo", "Show"), ("Alrt", "Alert")] {
                let answer = try await test.get("/v1/apps/1/permissions/\(name)")
                #expect(answer.hasPrefix("HTTP/1.1 404"))
                #expect(try error(answer).message.hasSuffix("; did you mean \(hint)?"))
            }
        }
    }

    @Test("advice is listed, newest first")
    func advice() async throws {
        try await with { test in
            let list = try APICoding.decode(
                AdviceList.self, from: body(try await test.get("/v1/advice")))
            #expect(list.advice.map(\.code) == ["putfile_crc"])
            #expect(list.advice.first?.app == 1)
            #expect(list.advice.first?.text.contains("PutFile \"icon\"") == true)
        }
    }

    @Test("advice is logged as a warning with its code as a journal field of its own")
    func logged() throws {
        let lines = LoggedLines()
        let logger = Logger(label: "advice") { _ in lines }
        let facts = SessionFacts()
        let advisor = TrafficAdvisor(facts: facts, sink: { logger.log($0) })
        advisor.consume(Self.traffic())
        let record = try #require(lines.records.first)
        #expect(lines.records.count == 1)
        #expect(record.level == .warning)
        #expect(record.message.hasPrefix("Relay Test: PutFile \"icon\" has crc 1"))
        #expect(record.message.hasSuffix("; more: relayctl explain putfile_crc"))
        let line = LogRecord(
            time: .now(), level: record.level, label: "advice", message: record.message,
            metadata: record.metadata)
        let fields = line.journalFields
        #expect(fields["ADVICE_CODE"] == "putfile_crc")
        #expect(fields["SDL_CONNECTION"] == "#1")
        // Programs need not parse the sentence.
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(line.json.utf8)) as? [String: Any])
        #expect(object["kind"] as? String == "advice" && object["priority"] as? String == "warning")
        #expect(object["code"] as? String == "putfile_crc")
        let (message, remedy) = (object["message"] as? String, object["remedy"] as? String)
        #expect(message?.hasPrefix("Relay Test: PutFile \"icon\" has crc 1") == true)
        #expect(message?.contains("→") == false && remedy?.isEmpty == false)
        #expect(!line.sentence.contains("ADVICE_SENTENCE"))
    }
}
