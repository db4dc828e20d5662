// The head unit of a recording, on manual time.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Replays

@Suite("A recorded head unit")
struct RecordedHeadUnitTests {
    // MARK: A recording made by hand

    /// An app registers; 2 s later it is on the screen; it sends a Show, which takes half a second.
    private static func items(
        session: UInt8 = 3, name: String = "Map", app: UInt64 = 1, after: TimeAmount = .zero,
        _ recorder: inout Recorder
    ) {
        let start = NIODeadline.start + after
        recorder.connected(app)
        recorder.add(
            Frame(
                version: 1, type: .control, service: .rpc,
                info: ControlFrameType.startService.rawValue, sessionID: 0),
            .fromApp, app: app, at: start)
        let grant: BSONDocument = [
            ControlKey.hashID: .int32(77), ControlKey.protocolVersion: .string("5.4.0"),
        ]
        recorder.add(
            Frame(
                version: 5, type: .control, service: .rpc,
                info: ControlFrameType.startServiceACK.rawValue, sessionID: session,
                payload: grant.bytes),
            .fromAccessory, app: app, at: start + .milliseconds(100))
        func rpc(
            _ type: RPCType, _ function: FunctionID, _ json: String, _ correlation: Int32,
            _ milliseconds: Int64
        ) {
            recorder.add(
                .rpc(
                    version: 5, sessionID: session, messageID: 2, type: type,
                    functionID: function.rawValue, correlationID: correlation, json: json),
                type == .request ? .fromApp : .fromAccessory, app: app,
                at: start + .milliseconds(milliseconds))
        }
        let done = #"{"success":true,"resultCode":"SUCCESS"}"#
        rpc(.request, .registerAppInterface, #"{"appName":"\#(name)","appID":"\#(name)"}"#, 10, 200)
        rpc(.response, .registerAppInterface, done, 10, 300)
        rpc(.notification, .onHMIStatus, #"{"hmiLevel":"FULL"}"#, 0, 2200)
        rpc(.request, .show, #"{"mainField1":"\#(name)"}"#, 11, 3000)
        rpc(
            .response, .show, #"{"success":true,"resultCode":"SUCCESS","info":"\#(name)"}"#, 11,
            3500)
    }

    private static func speaker(
        _ options: RecordedHeadUnit.Options = .init(), piece: Int = 1000,
        apps names: [String] = ["Map"]
    ) throws -> Speaker {
        var recorder = Recorder()
        for (index, name) in names.enumerated() {
            items(
                session: UInt8(3 + index), name: name, app: UInt64(1 + index),
                after: .milliseconds(Int64(index)), &recorder)
        }
        return Speaker(ReplayingHeadUnit(try steps(recorder.items), piece: piece, options))
    }

    private static func registration(_ name: String) -> String {
        #"{"appName":"\#(name)","appID":"\#(name)"}"#
    }

    private static func show(_ text: String) -> String { #"{"mainField1":"\#(text)"}"# }

    @Test(
        "answers when it is asked, with the live session and correlation ID, as late as it did then"
    )
    func answers() throws {
        var app = try Self.speaker()
        #expect(app.start().isEmpty)
        #expect(app.wait(.milliseconds(99)).isEmpty)
        let grant = try #require(app.wait(.milliseconds(1)).first)
        #expect(grant.controlType == .startServiceACK && grant.sessionID == 1)
        #expect(grant.messageID == 0 && SessionGrant(grant).hashID == 77)
        // Much later than the recorded app.
        #expect(app.wait(.seconds(60)).isEmpty)
        #expect(
            app.ask(.registerAppInterface, Self.registration("Map"), correlation: 500).isEmpty)
        let answer = try #require(app.wait(.milliseconds(100)).first?.rpc)
        #expect(answer.functionID == .registerAppInterface && answer.correlationID == 500)
        #expect(app.wait(.milliseconds(1899)).isEmpty)
        let status = try #require(app.wait(.milliseconds(1)).first)
        #expect(status.rpc?.functionID == .onHMIStatus && status.sessionID == 1)
        #expect(status.messageID == 2)
        #expect(app.ask(.show, Self.show("Map"), correlation: 501).isEmpty)
        #expect(app.wait(.milliseconds(500)).first?.rpc?.correlationID == 501)
        #expect(app.unit.divergences.isEmpty)
    }

    @Test("at ten times the speed everything takes a tenth; at max nothing takes time")
    func speeds() throws {
        var options = RecordedHeadUnit.Options()
        options.speed = try #require(ReplaySpeed("10"))
        var fast = try Self.speaker(options)
        _ = fast.start()
        #expect(fast.wait(.milliseconds(9)).isEmpty)
        #expect(fast.wait(.milliseconds(1)).count == 1)
        _ = fast.ask(.registerAppInterface, Self.registration("Map"), correlation: 1)
        #expect(fast.wait(.milliseconds(10)).count == 1)
        #expect(fast.wait(.milliseconds(189)).isEmpty)
        #expect(fast.wait(.milliseconds(1)).count == 1)

        var instant = try Self.speaker(.maximum())
        #expect(instant.start().count == 1)
        let heard = instant.ask(
            .registerAppInterface, Self.registration("Map"), correlation: 1)
        #expect(
            heard.compactMap(\.rpc?.functionID) == [.registerAppInterface, .onHMIStatus])
        #expect(instant.unit.nextTime == nil)
    }

    @Test("what is asked in another order gets its own answers; other parameters are told")
    func parameters() throws {
        var recorder = Recorder()
        Self.items(&recorder)
        for (number, text) in ["a", "b", "c"].enumerated() {
            let correlation = Int32(20 + number)
            for (type, json) in [
                (RPCType.request, Self.show(text)),
                (.response, #"{"success":true,"resultCode":"SUCCESS","info":"\#(text)"}"#),
            ] {
                recorder.add(
                    .rpc(
                        version: 5, sessionID: 3, messageID: 2, type: type,
                        functionID: FunctionID.show.rawValue, correlationID: correlation, json: json
                    ),
                    type == .request ? .fromApp : .fromAccessory, app: 1,
                    at: .start + .seconds(Int64(10 + number)))
            }
        }
        var app = Speaker(
            ReplayingHeadUnit(
                try steps(recorder.items), piece: 1000, .maximum()))
        _ = app.start()
        _ = app.ask(.registerAppInterface, Self.registration("Map"), correlation: 1)
        func answer(_ text: String, _ correlation: Int32) -> String? {
            app.ask(.show, Self.show(text), correlation: correlation).compactMap(\.rpc).first?
                .parameters.string("info")
        }
        #expect(answer("c", 2) == "c")
        #expect(answer("a", 3) == "a")
        #expect(app.unit.divergences.isEmpty)
        #expect(answer("z", 4) == "Map")
        #expect(answer("y", 5) == "b")
        #expect(
            app.unit.divergences.map(\.description) == [
                "Map: Show came with other parameters than in the recording; it was answered as then"
            ])
    }

    @Test("what the recording does not have is refused as a head unit does, and told")
    func unknown() throws {
        var app = try Self.speaker(.maximum())
        _ = app.start()
        _ = app.ask(.registerAppInterface, Self.registration("Map"), correlation: 1)
        let alert = try #require(app.ask(.alert, correlation: 2).first?.rpc)
        #expect(alert.parameters.string("resultCode") == "UNSUPPORTED_REQUEST")
        #expect(alert.parameters.bool("success") == false && alert.correlationID == 2)
        #expect(
            alert.parameters.string("info")
                == "relayd replays a recording: Alert is not in the recording")
        let first = app.ask(.show, Self.show("Map"), correlation: 3).first?.rpc
        #expect(first?.parameters.bool("success") == true)
        let second = try #require(app.ask(.show, correlation: 4).first?.rpc)
        #expect(second.parameters.string("resultCode") == "GENERIC_ERROR")
        #expect(
            app.unit.divergences.map(\.description) == [
                "Map: Alert is not in the recording; it was answered with UNSUPPORTED_REQUEST",
                "Map: no further Show is in the recording; it was answered with GENERIC_ERROR",
            ])
        // An app may leave at any time.
        let goodbye = app.say(.endService(version: 5, sessionID: 1, hashID: 77))
        #expect(goodbye.map(\.controlType) == [.endServiceACK])
        #expect(app.unit.divergences.count == 2 && app.unit.unit.sessionIDs.isEmpty)
    }

    /// A recording in which the user puts the app on the screen after it has asked for the list of files.
    private static func activatedLate() throws -> Speaker {
        var recorder = Recorder()
        recorder.connected(1)
        func add(_ frame: Frame, _ direction: Direction, _ milliseconds: Int64) {
            recorder.add(frame, direction, app: 1, at: .start + .milliseconds(milliseconds))
        }
        func rpc(_ type: RPCType, _ function: FunctionID, _ json: String, _ at: Int64) {
            let direction = type == .request ? Direction.fromApp : .fromAccessory
            add(
                .rpc(
                    version: 5, sessionID: 1, messageID: 2, type: type,
                    functionID: function.rawValue, correlationID: Int32(function.rawValue),
                    json: json), direction, at)
        }
        let done = #"{"success":true,"resultCode":"SUCCESS"}"#
        add(Frame(version: 1, type: .control, service: .rpc, info: 1, sessionID: 0), .fromApp, 0)
        add(
            Frame(version: 5, type: .control, service: .rpc, info: 2, sessionID: 1),
            .fromAccessory, 1)
        rpc(.request, .registerAppInterface, registration("Map"), 2)
        rpc(.response, .registerAppInterface, done, 3)
        rpc(.notification, .onHMIStatus, #"{"hmiLevel":"NONE"}"#, 4)
        rpc(.request, .listFiles, "{}", 5)
        rpc(.response, .listFiles, done, 6)
        rpc(.notification, .onHMIStatus, #"{"hmiLevel":"FULL"}"#, 400)
        return Speaker(ReplayingHeadUnit(try steps(recorder.items), .maximum()))
    }

    @Test("an app that waits for the screen before it asks what was asked then gets there")
    func activation() throws {
        var app = try Self.activatedLate()
        _ = app.start()
        _ = app.ask(.registerAppInterface, Self.registration("Map"), correlation: 1)
        #expect(app.wait(.milliseconds(1999)).isEmpty)
        let status = try #require(app.wait(.milliseconds(1)).first?.rpc)
        #expect(status.parameters.string("hmiLevel") == "FULL")
        // Only once, even if the app asks in the end.
        let answers = app.ask(.listFiles, correlation: 2).compactMap(\.rpc)
        #expect(answers.map(\.functionID) == [.listFiles])
        #expect(app.wait(.seconds(60)).isEmpty && app.unit.nextTime == nil)
        #expect(app.unit.divergences.isEmpty)

        // An app that asks as the recorded one did is put on the screen at the same point.
        var same = try Self.activatedLate()
        _ = same.start()
        _ = same.ask(.registerAppInterface, Self.registration("Map"), correlation: 1)
        let functions = same.ask(.listFiles, correlation: 2).compactMap(\.rpc?.functionID)
        #expect(functions == [.listFiles, .onHMIStatus])
        #expect(same.unit.nextTime == nil)
    }

    @Test("an app may unregister where the recording ended sooner")
    func unregisters() throws {
        var app = try Self.speaker(.maximum())
        _ = app.start()
        _ = app.ask(.registerAppInterface, Self.registration("Map"), correlation: 1)
        let answer = try #require(app.ask(.unregisterAppInterface, correlation: 2).first?.rpc)
        #expect(answer.parameters.string("resultCode") == "SUCCESS" && answer.correlationID == 2)
        #expect(app.unit.divergences.isEmpty)
    }

    @Test("what the app leaves out is told when it leaves")
    func leftOut() throws {
        var app = try Self.speaker(.maximum())
        _ = app.start()
        _ = app.ask(.registerAppInterface, Self.registration("Map"), correlation: 1)
        _ = app.say(.endService(version: 5, sessionID: 1, hashID: 77))
        #expect(
            app.unit.divergences.map(\.description) == [
                "Map: the recorded app asked Show, this one did not"
            ])
    }

    @Test(
        "several apps: each gets its own part, in whatever order they come", arguments: [1, 1000])
    func severalApps(piece: Int) throws {
        var apps = try Self.speaker(
            .maximum(), piece: piece, apps: ["Map", "Radio", "News"])
        for _ in 0..<3 { #expect(apps.start().count == 1) }
        for (name, session) in [("News", 1), ("Map", 2), ("Radio", 3)] as [(String, UInt8)] {
            _ = apps.ask(
                .registerAppInterface, Self.registration(name), correlation: 1, session: session)
        }
        for (name, session) in [("News", 1), ("Map", 2), ("Radio", 3)] as [(String, UInt8)] {
            let show = try #require(
                apps.ask(.show, Self.show(name), correlation: 9, session: session).first)
            #expect(show.sessionID == session)
            #expect(show.rpc?.parameters.string("info") == name)
        }
        #expect(apps.unit.divergences.isEmpty)
    }

    @Test("one app of several, which is not the first")
    func oneOfSeveral() throws {
        var app = try Self.speaker(
            .maximum(), piece: 1, apps: ["Map", "Radio"])
        _ = app.start()
        _ = app.ask(.registerAppInterface, Self.registration("Radio"), correlation: 1)
        #expect(
            app.ask(.show, Self.show("Radio"), correlation: 2).first?.rpc?.parameters
                .string("info") == "Radio")
        // The other recorded app can be played again.
        _ = app.start()
        _ = app.ask(.registerAppInterface, Self.registration("Map"), correlation: 1, session: 2)
        #expect(
            app.ask(.show, Self.show("Map"), correlation: 2, session: 2).first?.rpc?.parameters
                .string("info") == "Map")
        #expect(app.unit.divergences.isEmpty)
    }

    @Test("an app with another name gets the next part, and that is told")
    func stranger() throws {
        var app = try Self.speaker(.maximum())
        _ = app.start()
        #expect(
            !app.ask(.registerAppInterface, Self.registration("Mine"), correlation: 1).isEmpty)
        #expect(
            app.unit.divergences.map(\.description) == [
                "Mine: the recording has no app of that name; it gets the answers of Map"
            ])
    }

    @Test("more apps than recorded sessions are refused; with loop=on it begins again")
    func loops() throws {
        var app = try Self.speaker(.maximum())
        _ = app.start()
        #expect(app.start().map(\.controlType) == [.startServiceNAK])
        #expect(app.unit.divergences.map(\.kind) == [.noSession])

        var again = try Self.speaker(.maximum(loops: true))
        for session in 1...5 as ClosedRange<UInt8> {
            #expect(again.start().map(\.sessionID) == [session])
            #expect(
                again.ask(
                    .registerAppInterface, Self.registration("Map"), correlation: 1,
                    session: session
                ).count == 2)
        }
        #expect(again.unit.divergences.isEmpty)
    }

    @Test("heartbeats are answered whatever was recorded")
    func heartbeats() throws {
        var app = try Self.speaker(.maximum())
        _ = app.start()
        let beat = Frame(
            version: 5, type: .control, service: .control,
            info: ControlFrameType.heartbeat.rawValue, sessionID: 1, messageID: 8)
        let answer = try #require(app.say(beat).first)
        #expect(answer.controlType == .heartbeatACK && answer.messageID == 8)
    }

    @Test(
        "what is read ahead is bounded, and an app that never comes keeps no other from its answers"
    )
    func bounds() throws {
        var recorder = Recorder()
        Self.items(session: 3, name: "Map", app: 1, &recorder)
        Self.items(session: 4, name: "Never", app: 2, after: .seconds(10), &recorder)
        for number in 0..<200 as Range<Int64> {
            recorder.add(
                .rpc(
                    version: 5, sessionID: 4, messageID: 1, type: .request,
                    functionID: FunctionID.show.rawValue, correlationID: 20),
                .fromApp, app: 2, at: .start + .seconds(20 + number))
        }
        for (type, direction) in [
            (RPCType.request, Direction.fromApp), (.response, .fromAccessory),
        ] {
            recorder.add(
                .rpc(
                    version: 5, sessionID: 3, messageID: 1, type: type,
                    functionID: FunctionID.alert.rawValue, correlationID: 30,
                    json: #"{"resultCode":"ABORTED"}"#),
                direction, app: 1, at: .start + .seconds(300))
        }
        var options = RecordedHeadUnit.Options.maximum()
        options.limits.steps = 50
        var app = Speaker(ReplayingHeadUnit(try steps(recorder.items), piece: 1, options))
        _ = app.start()
        _ = app.ask(.registerAppInterface, Self.registration("Map"), correlation: 1)
        #expect(app.unit.unit.held.steps == 50)
        let question = #"{"resultCode":"ABORTED"}"#
        let alert = try #require(app.ask(.alert, question, correlation: 2).first?.rpc)
        #expect(alert.parameters.string("resultCode") == "ABORTED")
        #expect(app.unit.unit.held.steps <= 50)
        #expect(app.unit.divergences.map(\.kind) == [.passedOver])
        #expect(app.unit.divergences.first?.app == "Never")
    }

    @Test(
        "speeds that are none", arguments: ["", "0", "-1", "0.09", "101", "nan", "fast", "1e400"])
    func noSpeed(text: String) {
        #expect(ReplaySpeed(text) == nil)
    }
}
