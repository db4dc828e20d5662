// The built programs drive a conversation: relayctl speaks in the place of an app and of the head unit,
// simulated or scripted.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

extension Relayd {
    /// Observers lag behind the traffic, so this asks until they have seen it.
    fileprivate func tailed(_ arguments: String..., shows words: String...) async throws {
        var output = ""
        for _ in 0..<100 {
            output = try await Program.relayctl.run(
                ["tail", "--once", "-n", "50"] + arguments,
                environment: [ControlSocket.environmentVariable: controlSocket]
            ).output
            if words.allSatisfy(output.contains) { return }
        }
        Issue.record("tail \(arguments) does not show \(words): \(output)")
    }

    fileprivate func logged(_ words: String...) async throws {
        _ = try await process.errors.wait(for: "the log: \(words)") { lines in
            lines.first { line in words.allSatisfy { line.contains($0) } }
        }
    }
}

@Suite("relayctl send and inject, and the built relayd", .serialized)
struct DriveProgramTests {
    @Test(
        "a request is sent in the app's place: the answer is printed, and the app hears nothing of it"
    )
    func send() async throws {
        try await Relayd.run(accessory: "sim:?lenient=on", config: Relayd.driving) { relayd in
            let (app, session) = try await relayd.registered("Radio")
            let done = try await relayd.relayctl(
                "send", "--app", "radio", "Show", "mainField1=Hello", "mainField2=")
            #expect(done.ending == .exited(0), "\(done.errors)")
            #expect(done.output.hasPrefix("SUCCESS  after "), "\(done.output)")
            try await relayd.logged(
                "drive: Show to the head unit as app #1 (Radio): SUCCESS after",
                "by uid \(getuid()) pid ")
            let list = try await relayd.relayctl(
                "send", "--app", "radio", "ListFiles", "--json")
            let report = try APICoding.decode(DriveReport.self, from: Array(list.output.utf8))
            #expect(report.success == true && report.resultCode == "SUCCESS" && report.app == 1)
            guard case .object(let members)? = report.response else {
                Issue.record("no response: \(list.output)")
                return
            }
            #expect(members["spaceAvailable"] != nil)
            // The app's own next answer is the first thing it hears.
            try await app.send(
                .rpc(session: session, .request, .listFiles, correlation: 77))
            while true {
                let frame = try await app.next()
                guard let header = RPCHeader(frame.payload), header.type == .response else {
                    continue
                }
                #expect(header.correlationID == 77)
                break
            }
            // Observers see who sent it.
            try await relayd.tailed("rpc:Show", shows: "by relayd", "to relayd")
            await app.close()
        }
    }

    @Test("a check says what would be refused and why; nothing is said, and nothing logged")
    func check() async throws {
        try await Relayd.run(accessory: "sim:?lenient=on", config: Relayd.driving) { relayd in
            let (app, session) = try await relayd.registered("Radio")
            func ask(_ way: String, _ body: String) async throws -> DriveReport {
                let answer = try await ControlRequest.post(
                    "/v1/apps/radio/\(way)", body, at: relayd.controlSocket)
                #expect(answer.statusLine.contains(" 200 "), "\(answer.text)")
                return try APICoding.decode(DriveReport.self, from: answer.body)
            }
            let right = try await ask(
                "send", #"{"rpc": "Show", "parameters": {"mainField1": ""}, "check": true}"#)
            #expect(right.refusal == nil && right.problems == nil && right.resultCode == nil)
            let wrong = try await ask(
                "send",
                #"{"rpc": "Show", "parameters": {"softButtons": [{"type": "TXT"}], "alignment": 3}, "check": true}"#
            )
            let refusal = try #require(wrong.refusal)
            let problems = try #require(wrong.problems)
            #expect(
                Set(problems.map(\.path)) == [
                    "softButtons[0].type", "softButtons[0].softButtonID", "alignment",
                ])
            // The same words as without a check.
            let one = try await ask(
                "send", #"{"rpc": "Show", "parameters": {"alignment": 3}, "check": true}"#)
            let sent = try await relayd.relayctl(
                "send", "--app", "radio", "Show", "alignment:=3")
            #expect(sent.errors.contains(try #require(one.refusal)), "\(sent.errors)")
            #expect(refusal.contains("alignment is 3"))
            // A request that makes no sense is a bad one, with or without a check.
            let request = try await ControlRequest.post(
                "/v1/apps/radio/inject", #"{"rpc": "Show", "type": "request", "check": true}"#,
                at: relayd.controlSocket)
            #expect(request.statusLine.contains(" 400 ") && request.text.contains("expected type"))
            let registration = try await ask(
                "send", #"{"rpc": "UnregisterAppInterface", "check": true}"#)
            #expect(registration.refusal?.contains("relayctl disconnect") == true)
            _ = try await ask(
                "inject",
                #"{"rpc": "OnButtonPress", "parameters": {"buttonName": "OK", "buttonPressMode": "SHORT"}, "check": true}"#
            )
            // Of all this, two lines are in the log: the send that was refused, and the bad request.
            _ = try await relayd.relayctl("inject", "--app", "radio", "driver-distraction", "on")
            let lines = try await relayd.process.errors.wait(for: "the injection") { all in
                let driven = all.filter { $0.contains("drive: ") }
                return driven.contains { $0.contains("OnDriverDistraction") } ? driven : nil
            }
            #expect(
                lines.count == 3 && lines.prefix(2).allSatisfy { $0.contains("failed") }, "\(lines)"
            )
            try await app.send(.rpc(session: session, .request, .listFiles, correlation: 77))
            while true {
                let frame = try await app.next()
                guard let header = RPCHeader(frame.payload) else { continue }
                if header.type == .response {
                    #expect(header.correlationID == 77)
                    break
                }
                #expect(header.functionID != FunctionID.onButtonPress.rawValue)
            }
            await app.close()
        }
    }

    @Test("what is wrong is told with the parameter, and nothing is sent; unchecked it is")
    func wrong() async throws {
        try await Relayd.run(accessory: "sim:?lenient=on", config: Relayd.driving) { relayd in
            let (app, _) = try await relayd.registered("Radio")
            let rows: [(arguments: [String], words: String)] = [
                (["Show", "mainFeild1=x"], "did you mean mainField1?"),
                (["Alert", "duration=5"], "duration is 5, expected an Integer from 3000 to 10000"),
                (["SubscribeButton"], "mandatory parameter buttonName is missing"),
                (["Shaw"], "did you mean Show?"),
                (["RegisterAppInterface", "--unchecked"], "would register it twice"),
                (["RegisterAppInterface"], "would register it twice"),
                (["UnregisterAppInterface"], "relayctl disconnect"),
                (["Show", "--session", "200"], "no open session"),
            ]
            for row in rows {
                let done = try await Program.relayctl.run(
                    ["send", "--app", "radio"] + row.arguments,
                    environment: [ControlSocket.environmentVariable: relayd.controlSocket])
                #expect(done.ending == .exited(3), "\(row.arguments): \(done.output)")
                #expect(done.errors.contains(row.words), "\(done.errors)")
            }
            let unchecked = try await relayd.relayctl(
                "send", "--app", "radio", "SubscribeButton", "--unchecked")
            #expect(unchecked.ending == .exited(1), "\(unchecked.output)\(unchecked.errors)")
            #expect(unchecked.output.hasPrefix("INVALID_DATA"), "\(unchecked.output)")
            try await relayd.logged("SubscribeButton (unchecked) to the head unit")
            let nobody = try await relayd.relayctl("send", "--app", "nobody", "Show")
            #expect(nobody.ending == .exited(3) && nobody.errors.contains("there is no app"))
            await app.close()
        }
    }

    @Test(
        "while drive.enabled is off nothing is said, and the answer says what to do; a reload turns it on"
    )
    func off() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let (app, _) = try await relayd.registered("Radio")
            for command in [
                ["send", "--app", "1", "ListFiles"], ["inject", "--app", "1", "press", "OK"],
                ["send", "--as", "RPC tester"],
            ] {
                let done = try await Program.relayctl.run(
                    command, environment: [ControlSocket.environmentVariable: relayd.controlSocket])
                #expect(done.ending == .exited(3) && done.errors.contains("drive.enabled: true"))
            }
            try Relayd.driving.write(
                toFile: relayd.directory.file("relayd.yaml"), atomically: true, encoding: .utf8)
            let reload = try await relayd.relayctl("reload")
            #expect(reload.ending == .exited(0), "\(reload.errors)")
            let done = try await relayd.relayctl("send", "--app", "1", "ListFiles")
            #expect(done.ending == .exited(0), "\(done.errors)")
            await app.close()
        }
    }

    @Test(
        "a head unit that does not answer: who asked is told in time, the late answer reaches nobody"
    )
    func late() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", config: Relayd.driving
            ) {
                relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.registered("Radio", with: headUnit)
                let done = try await relayd.relayctl(
                    "send", "--app", "1", "Show", "mainField1=Hello", "--timeout", "100ms")
                #expect(done.ending == .exited(3))
                #expect(done.errors.contains("no answer within 100 ms"), "\(done.errors)")
                let request = try await headUnit.next()
                #expect(RPCHeader(request.payload)?.functionID == FunctionID.show.rawValue)
                let answer = try #require(request.success)
                try await headUnit.send(answer)
                try await relayd.logged("answered Show of relayd's too late")
                // The next thing that the app hears is the answer to its own request.
                try await headUnit.checkBothWays(app, session: 1)
                await app.close()
            }
        }
    }

    @Test("a file is put in pieces, with a checksum each, and lies on the head unit whole")
    func file() async throws {
        try await Relayd.run(accessory: "sim:?lenient=on", config: Relayd.driving) { relayd in
            let (app, _) = try await relayd.registered("Radio")
            let bytes = (0..<1_300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            let path = relayd.directory.file("icon.png")
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let done = try await relayd.relayctl(
                "send", "--app", "radio", "PutFile", "syncFileName=icon",
                "fileType=GRAPHIC_PNG", "--bulk", path)
            #expect(done.ending == .exited(0), "\(done.output)\(done.errors)")
            let list = try await relayd.relayctl("send", "--app", "radio", "ListFiles")
            #expect(list.output.contains("\"icon\""), "\(list.output)")
            await app.close()
        }
    }

    @Test("a button is pressed: the app hears what a head unit sends, the head unit hears nothing")
    func inject() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", config: Relayd.driving
            ) {
                relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.registered("Radio", with: headUnit)
                let done = try await relayd.relayctl("inject", "--app", "1", "press", "OK")
                #expect(done.ending == .exited(0), "\(done.errors)")
                #expect(done.output.contains("the head unit has not said it"), "\(done.output)")
                var heard: [String] = []
                for function in [FunctionID.onButtonEvent, .onButtonEvent, .onButtonPress] {
                    let frame = try await app.next()
                    let header = try #require(RPCHeader(frame.payload))
                    #expect(header.functionID == function.rawValue)
                    #expect(header.type == .notification && frame.sessionID == 1)
                    heard.append(
                        String(
                            buffer: frame.payload.getSlice(at: 12, length: frame.payloadBytes - 12)
                                ?? ByteBuffer()))
                }
                #expect(heard[2] == #"{"buttonName":"OK","buttonPressMode":"SHORT"}"#)
                try await relayd.logged(
                    "drive: OnButtonPress to app #1 (Radio) in the place of the head unit tcp:",
                    "by uid \(getuid()) pid ")
                // What the head unit hears next is the app's.
                try await headUnit.checkBothWays(app, session: 1)
                try await relayd.tailed(
                    "--json", "rpc:OnButtonPress", shows: #""fate":"by_relay""#)
                let events = try APICoding.decode(
                    EventList.self,
                    from: try await ControlRequest.get("/v1/events", at: relayd.controlSocket).body)
                let said = events.events.last { $0.text.contains("OnButtonPress to app #1") }
                #expect(said?.event == .control && said?.app == 1)
                let stats = try await relayd.relayctl("stats", "--json")
                #expect(stats.output.contains("\"relayd\""))
                await app.close()
            }
        }
    }

    /// The simulated head unit has no user; the page about it says what to do instead.
    @Test("what the page says in place of a user of sim: reaches the app, as in a car")
    func user() async throws {
        let page = try #require(
            try MarkdownPage.all().first { $0.path == "Documentation/connect-your-head-unit.md" })
        let commands = page.codeSpans.map(\.text).filter { $0.hasPrefix("relayctl inject") }
        #expect(commands.count == 3)
        try await Relayd.run(accessory: "sim:?vehicle-data=off", config: Relayd.driving) { relayd in
            let (app, _) = try await relayd.registered("Radio")
            for (command, expected) in zip(
                commands,
                [
                    (FunctionID.onButtonPress, #""buttonName":"OK""#),
                    (.onHMIStatus, #""systemContext":"MENU""#),
                    (.onHMIStatus, #""hmiLevel":"BACKGROUND""#),
                ])
            {
                let words = command.split(separator: " ").dropFirst().map(String.init)
                let done = try await Program.relayctl.run(
                    words, environment: [ControlSocket.environmentVariable: relayd.controlSocket])
                #expect(done.ending == .exited(0), "\(command): \(done.errors)")
                // Until then the app hears of its registration and of being activated.
                while true {
                    let payload = try await app.next().payload
                    guard RPCHeader(payload)?.functionID == expected.0.rawValue else { continue }
                    if String(buffer: payload).contains(expected.1) { break }
                }
            }
            await app.close()
        }
    }

    @Test("a voice command is found by what the app has said that it is called")
    func voice() async throws {
        try await Relayd.run(accessory: "sim:?lenient=on", config: Relayd.driving) { relayd in
            let (app, session) = try await relayd.registered("Radio")
            try await app.send(
                .rpc(
                    session: session, .request, .addCommand, correlation: 9,
                    json: #"{"cmdID":4,"vrCommands":["play","go on"]}"#))
            while true {
                let frame = try await app.next()
                if let header = RPCHeader(frame.payload), header.type == .response { break }
            }
            // The app has its answer before relayd has decoded it.
            while true {
                let report = try await ControlRequest.get("/v1/apps/1", at: relayd.controlSocket)
                if String(decoding: report.body, as: UTF8.self).contains("go on") { break }
            }
            let wrong = try await relayd.relayctl("inject", "--app", "1", "voice", "stop")
            #expect(wrong.ending == .exited(64))
            #expect(wrong.errors.contains("expected one of \"play\", \"go on\""), "\(wrong.errors)")
            let done = try await relayd.relayctl("inject", "--app", "1", "voice", "Go on")
            #expect(done.ending == .exited(0), "\(done.errors)")
            while true {
                let frame = try await app.next()
                guard RPCHeader(frame.payload)?.functionID == FunctionID.onCommand.rawValue else {
                    continue
                }
                #expect(
                    String(buffer: frame.payload).contains(#"{"cmdID":4,"triggerSource":"VR"}"#))
                break
            }
            await app.close()
        }
    }
}
