// Sources/ControlAPI/API.md against the built relayd: each of its examples is run, and each answer
// compared with its tables, both ways. `APITypesTests` compares the tables with the types.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The document of the control API", .serialized)
struct APIDocumentTests {
    @Test("it has every route there is, and no other") func routes() throws {
        let documented = try APIDocument().routes.map(\.title)
        let served = Routes.all.map { "\($0.method) \($0.path)" }
        #expect(Set(documented) == Set(served))
        #expect(documented.count == served.count)
    }

    @Test("it says of each route who may, where that does not follow from the method")
    func access() throws {
        let document = try APIDocument()
        for route in Routes.all {
            let section = try #require(document["\(route.method) \(route.path)"])
            let usual = route.method == "GET" ? "read" : "write"
            #expect(section.access ?? usual == route.access.rawValue, "\(route.path)")
        }
    }

    @Test("every route has an example and says what it answers") func isComplete() throws {
        for route in try APIDocument().routes {
            #expect(route.example != nil && route.answers != nil, "\(route.title)")
        }
    }

    // MARK: Examples

    /// Types that no example can show: request bodies, and devices that are not plugged in everywhere.
    private static let notAnswered: Set<String> = [
        "ReasonRequest", "RecordRequest", "DriveRequest", "MarkRequest", "ServerRequest",
        "VehicleCommandRequest", "OwnAppRequest", "DriveProblem",
        "VehicleDiagnosticRequest", "VehicleRepeatedRequest", "VehicleStreamBody",
        "VehicleWriteRequest", "VehicleLaneReport", "FaultRequest", "FaultRuleRequest",
        "FaultStatus", "USBDevice",
        "SerialDevice", "USBUse", "Fate", "DiskStall", "MediaStatus", "TraceNoteReport",
        "TraceStream", "ScenarioProblemReport", "ScenarioFailureReport", "ScenarioDifference",
    ]

    @Test("every example works, answers what its table says, and no table is left unused")
    func examples() async throws {
        let document = try APIDocument()
        var seen: Set<String> = []
        let config =
            Relayd.quickGoodbyes + "apps:\n  maximum: 2\nrecord:\n  last: 16 MiB\n"
            + "drive:\n  enabled: true\n"
        // Lenient, so that the app need not wait for the screen.
        try await Relayd.run(accessory: "sim:?lenient=on", config: config) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            _ = try await relayd.relayctl("record", "start", "--name", "busy")
            let app = try await busyApp(relayd)
            _ = try await relayd.relayctl("record", "stop")
            for route in document.routes {
                let example = try #require(route.example)
                if route.title.contains("/v1/vehicle") {
                    // With a head unit, all these routes give the same answer.
                    let answer = try await run(example, relayd)
                    #expect(answer.status == 409, "\(example): \(answer.body)")
                    #expect(try differences(answer, "APIError", document, seen: &seen) == [])
                    continue
                }
                if route.title.hasPrefix("PUT /v1/server") {
                    // Otherwise there is nothing to switch on.
                    _ = try await relayd.relayctl("server", "off")
                }
                let answer = try await run(example, relayd)
                #expect(answer.status == 200, "\(example): \(answer.body)")
                let found = try differences(
                    answer, try #require(route.answers), document, seen: &seen)
                #expect(found == [], "\(example)")
            }
            try await others(relayd, document, seen: &seen)
            await app.close()
        }
        try await vehicle(document, seen: &seen)
        try await absentHeadUnit(document, seen: &seen)
        let unused = Set(document.types.map(\.title)).subtracting(seen)
        #expect(unused.subtracting(Self.notAnswered) == [], "no answer had one of these")
    }

    private struct Answer {
        var body: String
        var status: Int
        var contentType: String
    }

    private func run(_ example: String, _ relayd: Relayd) async throws -> Answer {
        let curl = try await ChildProcess.run(
            "/bin/sh", ["-c", example + " -w '\\n%{http_code} %{content_type}'"],
            environment: Program.environment(["SOCKET": relayd.controlSocket]))
        #expect(curl.ending == .exited(0), "\(example)")
        let end = try #require(curl.output.lastIndex(of: "\n"))
        let words = curl.output[end...].dropFirst().split(separator: " ", maxSplits: 1)
        return Answer(
            body: String(curl.output[..<end]), status: Int(words.first ?? "") ?? 0,
            contentType: words.dropFirst().first.map { String($0) } ?? "")
    }

    private func differences(
        _ answer: Answer, _ type: String, _ document: APIDocument, seen: inout Set<String>
    ) throws -> [String] {
        if type.contains("/") {
            return answer.contentType.hasPrefix(type) && !answer.body.isEmpty
                ? [] : ["it is \(answer.contentType), not \(type)"]
        }
        if type.hasPrefix("lines of ") {
            return try document.differences(
                inLines: answer.body, String(type.dropFirst(9)), seen: &seen)
        }
        let json = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
        return document.differences(json, type, seen: &seen)
    }

    /// Checks what the examples do not request: errors, a file's message, relayctl's own document.
    private func others(
        _ relayd: Relayd, _ document: APIDocument, seen: inout Set<String>
    ) async throws {
        func ask(_ path: String, _ type: String, status: Int = 200) async throws -> String {
            let answer = try await run(
                "curl -s --unix-socket \"$SOCKET\" 'http://relayd\(path)'", relayd)
            #expect(answer.status == status, "\(path): \(answer.body)")
            #expect(try differences(answer, type, document, seen: &seen) == [], "\(path)")
            return answer.body
        }
        _ = try await ask("/v1/apps/99", "APIError", status: 404)
        let files = try await ask(
            "/v1/messages?function=PutFile&type=request&service=bulk", "MessageList")
        let number = try #require(files.firstMatch(of: #/"n":(\d+)/#)?.1)
        let file = try await ask("/v1/messages/\(number)", "MessageDetail")
        #expect(file.contains("\"bulk\":{"))
        let recordings = try await ask("/v1/recordings", "RecordingList")
        let busy = try #require(recordings.firstMatch(of: #/"(relayd-[0-9-]+-busy\.pcapng)"/#)?.1)
        _ = try await ask("/v1/recordings/\(busy)/info", "TraceReport")
        _ = try await ask("/v1/recordings/\(busy)/stats", "TraceStatsReport")
        _ = try await ask("/v1/recordings/\(busy)/messages", "MessageList")
        _ = try await ask("/v1/messages?format=both&limit=1", "MessageList")
        let lines = try await ask(
            "/v1/messages/stream?follow=0&after=0&function=PutFile", "lines of Message")
        #expect(lines.contains("\"code\":\"putfile_length\""))
        let usb = try await relayd.relayctl("usb", "--json")
        let survey = try JSONSerialization.jsonObject(with: Data(usb.output.utf8))
        #expect(document.differences(survey, "USBSurvey", seen: &seen) == [])
        let devices = try await relayd.relayctl("devices", "--json")
        let list = try JSONSerialization.jsonObject(with: Data(devices.output.utf8))
        #expect(document.differences(list, "DeviceList", seen: &seen) == [])
    }

    /// Runs the examples about a vehicle interface: it has said something of each kind, and its client has
    /// asked for something of each kind.
    private func vehicle(_ document: APIDocument, seen: inout Set<String>) async throws {
        var found: Set<String> = []
        let config = "openxc:\n  listen: 127.0.0.1:0\n  writes: [\"127.0.0.1 can:1:0x7e0\"]\n"
        let dialogues: [String: [VehicleBench.Exchange]] = [
            "POST /v1/vehicle/stream": [
                .diagnostic("add", pid: 13, frequency: 1),
                .diagnostic("cancel", pid: 13, frequency: 1),
            ],
            "POST /v1/vehicle/command": [.command("version", "8.2.1 (fake)")],
            "POST /v1/vehicle/diagnostic": [
                .diagnostic(
                    "add", pid: 12,
                    #"{"bus":1,"id":2016,"mode":1,"success":true,"pid":12,"value":772}"#)
            ],
            "POST /v1/vehicle/write": [.init(#"{"bus":1,"id":2016,"data":"0x02010d"}"#)],
        ]
        try await VehicleBench.run(config) { bench in
            try await bench.isBusy()
            for route in document.routes where route.title.contains("/v1/vehicle") {
                let example = try #require(route.example)
                let dialogue = dialogues[route.title] ?? []
                let answer = try await bench.during(dialogue) {
                    try await run(example, bench.relayd)
                }
                #expect(answer.status == 200, "\(example): \(answer.body)")
                let differences = try differences(
                    answer, try #require(route.answers), document, seen: &found)
                #expect(differences == [], "\(example)")
            }
        }
        seen.formUnion(found)
    }

    private func absentHeadUnit(_ document: APIDocument, seen: inout Set<String>) async throws {
        var found: Set<String> = []
        try await Relayd.run(accessory: "serial:/nowhere/tty") { relayd in
            try await relayd.until("waiting") { $0.accessory.state == .waiting }
            for (path, status) in [(Routes.status, 200), (Routes.health, 503)] {
                let answer = try await run(
                    "curl -s --unix-socket \"$SOCKET\" 'http://relayd\(path)'", relayd)
                #expect(answer.status == status)
                let type = path == Routes.status ? "StatusSnapshot" : "HealthReport"
                #expect(try differences(answer, type, document, seen: &found) == [])
            }
        }
        seen.formUnion(found)
    }

    // MARK: A bench with something of everything

    /// App 1 registers, uploads, subscribes, has a menu, does something wrong and waits for an
    /// answer. Another one leaves, and a third finds no room.
    private func busyApp(_ relayd: Relayd) async throws -> FramePeer {
        let app = try await relayd.connectApp()
        let session = try await app.startSession().sessionID
        try await app.register("Busy", session: session)
        let requests: [(FunctionID, String)] = [
            (.addSubMenu, #"{"menuID":1,"menuName":"More"}"#),
            (.addCommand, #"{"cmdID":2,"menuParams":{"menuName":"Go"},"vrCommands":["go"]}"#),
            (
                .createInteractionChoiceSet,
                #"{"interactionChoiceSetID":3,"choiceSet":[{"choiceID":1,"menuName":"One"}]}"#
            ),
            (.subscribeButton, #"{"buttonName":"OK"}"#),
            (.subscribeVehicleData, #"{"speed":true}"#),
            (.putFile, #"{"syncFileName":"lost"}"#),
            (.show, #"{"mainField1":"Hi","alignment":"MIDDLE"}"#),
            (
                .performAudioPassThru,
                #"{"samplingRate":"8KHZ","maxDuration":1000000,"bitsPerSample":"8_BIT","#
                    + #""audioType":"PCM"}"#
            ),
        ]
        for (number, (function, json)) in requests.enumerated() {
            try await app.send(
                .rpc(
                    session: session, .request, function, correlation: Int32(number + 10),
                    json: json))
        }
        try await app.send(
            .rpc(
                version: 5, service: .bulk, sessionID: session, messageID: 30, type: .request,
                functionID: FunctionID.putFile.rawValue, correlationID: 30,
                json: #"{"syncFileName":"icon","fileType":"GRAPHIC_PNG"}"#,
                bulk: TrafficFeed.image))
        let second = try await relayd.connectApp()
        try await relayd.until("two apps") { $0.apps.count == 2 }
        let third = try await relayd.connectApp()
        try await relayd.until("no room") { !$0.limitsHit.isEmpty }
        await third.close()
        await second.close()
        try await relayd.until("one app") { $0.apps.count == 1 && !$0.recentDepartures.isEmpty }
        try await untilBusy(relayd)
        return app
    }

    /// Waits until all of it has been seen and answered.
    private func untilBusy(_ relayd: Relayd) async throws {
        let deadline = NIODeadline.now() + FramePeer.patience
        while true {
            let answer = try await ControlRequest.get("/v1/apps/1", at: relayd.controlSocket)
            let report = try APICoding.decode(AppReport.self, from: answer.body)
            let menu = report.menu
            if report.registration?.answeredAt != nil, !report.hmi.isEmpty,
                !report.permissions.isEmpty, !report.files.files.isEmpty,
                !report.subscriptions.vehicleData.isEmpty, !menu.commands.isEmpty,
                !menu.subMenus.isEmpty, !menu.choiceSets.isEmpty, !report.services.isEmpty,
                !report.pending.isEmpty, !report.advice.isEmpty
            {
                return
            }
            // Each request waits for relayd's answer.
            try #require(NIODeadline.now() < deadline, "\(report)")
        }
    }

    // MARK: The comparison itself

    @Test("a field that is missing, unknown or of another type would be found") func differences()
        throws
    {
        let document = try APIDocument()
        var seen: Set<String> = []
        func found(_ json: [String: Any], _ type: String = "ActionReport") -> [String] {
            document.differences(json, type, seen: &seen)
        }
        let good: [String: Any] = ["schema": 1, "summary": "done"]
        #expect(found(good) == [])
        #expect(found(["schema": 1]).count == 1)
        #expect(found(["schema": "1", "summary": ""]).count == 1)
        #expect(found(["schema": true, "summary": ""]) == [".schema is no number"])
        #expect(
            found(good.merging(["extra": 1]) { $1 }) == [
                ".extra is not documented in ActionReport"
            ])
        #expect(
            found(["schema": 1, "health": "splendid", "summary": ""], "HealthReport") == [
                ".health is splendid, which Health does not have"
            ])
        #expect(seen == ["ActionReport", "HealthReport", "Health"])
    }
}
