// The app of a recording, on manual time.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SampleApp
import SimulatedAccessory
import Testing

@testable import Replays

@Suite("A recorded app")
struct RecordedAppTests {
    /// A replay from the connection to its end.
    private struct Play {
        var outcome: RecordedApp.Outcome?
        var counts = RecordedApp.Counts()
        var divergences: [Divergence] = []
        var ended = NIODeadline.start

        init(
            _ steps: [RecordedStep], _ unit: inout some HeadUnit, speed: String = "max",
            compares: Bool = true, piece: Int = 10
        ) throws {
            var options = RecordedApp.Options()
            options.speed = try #require(ReplaySpeed(speed))
            options.compares = compares
            var app = RecordedApp(options)
            var now = NIODeadline.start
            var toUnit: [Frame] = []
            var read = 0
            var found: [Divergence] = []
            func take(_ output: RecordedApp.Output) {
                found += output.divergences
                toUnit += output.frames
            }
            take(app.connected(at: now))
            for _ in 0..<100_000 {
                if app.outcome != nil { break }
                if app.wantsMore {
                    let end = min(read + piece, steps.count)
                    take(
                        app.feed(Array(steps[read..<end]), isLast: end == steps.count, at: now))
                    read = end
                    continue
                }
                if !toUnit.isEmpty {
                    let frame = toUnit.removeFirst()
                    now = now + .milliseconds(1)
                    for answer in unit.hear(frame, at: now) { take(app.receive(answer, at: now)) }
                    continue
                }
                guard let time = [unit.nextTime, app.nextDeadline].compactMap({ $0 }).min() else {
                    break
                }
                now = max(now, time)
                for answer in unit.pass(to: now) { take(app.receive(answer, at: now)) }
                take(app.advance(to: now))
            }
            (outcome, counts, divergences, ended) = (app.outcome, app.counts, found, now)
        }
    }

    private static func simulated(_ options: [String: String] = [:]) throws -> SimulatedAccessory {
        SimulatedAccessory(configuration: try .init(options: options))
    }

    @Test("the sample app's recording gets the same answers again", arguments: ["1", "20", "max"])
    func sampleApp(speed: String) throws {
        let recorded = try Conversation.recorded()
        var unit = try Self.simulated()
        let play = try Play(try steps(recorded.recorder.items, .app), &unit, speed: speed)
        #expect(play.outcome == .finished)
        #expect(play.divergences.isEmpty, "\(play.divergences)")
        #expect(play.counts.answers == play.counts.same && play.counts.requests == 9)
        let (then, now) = (recorded.ended - .start, play.ended - .start)
        #expect(speed != "1" || now >= then && now < then + .seconds(1), "\(then) \(now)")
        #expect(speed != "max" || now < then)
    }

    @Test("another head unit gives other answers, which are shown")
    func other() throws {
        let recorded = try Conversation.recorded()
        var unit = try Self.simulated(["model": "Other"])
        let play = try Play(try steps(recorded.recorder.items, .app), &unit)
        #expect(play.outcome == .finished)
        #expect(
            play.divergences.map(\.lines) == [
                [
                    "- vehicleType.model: Simulated head unit", "+ vehicleType.model: Other",
                ]
            ])
        #expect(play.divergences.map(\.text) == ["a different answer to RegisterAppInterface"])
    }

    @Test(
        "recorded apps with the head unit of their recording: every answer is the recorded one",
        arguments: ["js-full-1", "js-killed-1", "js-core-stops-1", "java-zero-message-id-1"])
    func bothParts(name: String) throws {
        let items = try Capture.items(name)
        var options = RecordedHeadUnit.Options()
        options.speed = .maximum
        var unit = ReplayingHeadUnit(try steps(items), piece: 5, options)
        let play = try Play(try steps(items, .app), &unit)
        #expect(play.outcome == .finished)
        #expect(play.divergences.isEmpty, "\(play.divergences)")
        #expect(unit.divergences.isEmpty, "\(unit.divergences)")
        #expect(play.counts.answers > 3 && play.counts.answers == play.counts.same)
    }

    @Test(
        "recorded apps get through with the simulated head unit",
        arguments: ["js-full-1", "js-killed-1", "js-core-stops-1", "java-zero-message-id-1"])
    func simulatedHeadUnit(name: String) throws {
        var unit = try Self.simulated()
        let play = try Play(
            try steps(try Capture.items(name), .app), &unit, compares: false)
        #expect(play.outcome == .finished)
        // The simulated head unit exchanges no policies.
        #expect(play.divergences.allSatisfy { $0.kind == .notTold }, "\(play.divergences)")
        #expect(play.counts.answers >= play.counts.requests)
    }

    @Test("a connection that is lost before the file is read is lost before the recording is over")
    func lostAtOnce() throws {
        let recorded = try steps(try Conversation.recorded().recorder.items, .app)
        var app = RecordedApp()
        _ = app.connected(at: .start)
        _ = app.disconnected(at: .start)
        #expect(app.outcome == nil, "nobody knows yet what there is to be said")
        let said = app.feed(Array(recorded.prefix(5)), isLast: false, at: .start)
        #expect(
            app.outcome == .failed("the connection was closed before the recording was over"))
        #expect(said.divergences.map(\.kind) == [.closed] && said.frames.isEmpty)
    }

    @Test("once the app has said everything, the connection may go, however long the file goes on")
    func lostInTheEnd() throws {
        var app = RecordedApp()
        _ = app.connected(at: .start)
        _ = app.disconnected(at: .start)
        // Messages of other apps, which are left out.
        for _ in 0..<10 {
            #expect(app.wantsMore)
            _ = app.feed([], isLast: false, at: .start)
        }
        let said = app.feed([], isLast: true, at: .start)
        #expect(app.outcome == .finished && said.divergences.isEmpty)
    }

    /// A head unit that is silent or refuses.
    private struct Silent: HeadUnit {
        var refuses = false
        var nextTime: NIODeadline? { nil }

        mutating func hear(_ frame: Frame, at now: NIODeadline) -> [Frame] {
            refuses && frame.controlType == .startService
                ? [.startServiceNAK(of: frame, reason: "busy")] : []
        }
        mutating func pass(to now: NIODeadline) -> [Frame] { [] }
    }

    @Test("a head unit that does not answer, or refuses, ends it with words")
    func noAnswer() throws {
        let recorded = try steps(try Conversation.recorded().recorder.items, .app)
        var silent = Silent()
        let waited = try Play(recorded, &silent)
        #expect(waited.outcome == .failed("the head unit did not answer StartService"))
        #expect(waited.ended == .start + .seconds(20))
        var refusing = Silent(refuses: true)
        let refused = try Play(recorded, &refusing)
        guard case .failed(let reason) = refused.outcome else {
            Issue.record("\(refused)")
            return
        }
        #expect(reason.hasPrefix("the head unit refused the session"))
    }

    // MARK: Fault rules

    @Test(
        "what a fault rule spoilt is played as the app said it, and heard as the app heard it",
        arguments: [
            (RecordingScript.Part.app, ["asked"], ["spoilt"]),
            // What the other side says is kept without its bytes.
            (.headUnit, [""], ["answered"]),
        ])
    func spoilt(part: RecordingScript.Part, fromApp: [String], fromHeadUnit: [String]) throws {
        var recorder = Recorder()
        recorder.connected(1)
        recorder.add(
            Frame(
                version: 1, type: .control, service: .rpc,
                info: ControlFrameType.startService.rawValue, sessionID: 0),
            .fromApp, app: 1, at: .start)
        recorder.add(
            Frame(
                version: 5, type: .control, service: .rpc,
                info: ControlFrameType.startServiceACK.rawValue, sessionID: 1),
            .fromAccessory, app: 1, at: .start)
        let mark = FaultMark(rule: 1, kind: .corrupted)
        for (direction, type, words) in [
            (Direction.fromApp, RPCType.request, ["asked", "spoilt"]),
            (.fromAccessory, .response, ["answered", "spoilt"]),
        ] {
            for (word, fate) in zip(words, [FrameFate.replaced, .faulted(mark)]) {
                let frame = Frame.rpc(
                    version: 5, sessionID: 1, messageID: 2, type: type,
                    functionID: FunctionID.show.rawValue, correlationID: 7,
                    json: #"{"info":"\#(word)"}"#)
                recorder.add(frame, direction, app: 1, at: .start, fate: fate)
            }
        }
        func word(_ message: RecordedMessage) -> String? {
            guard case .rpc = message.kind else { return nil }
            let text = String(decoding: message.payload.readableBytesView, as: UTF8.self)
            return ["asked", "answered", "spoilt"].first { text.contains($0) } ?? ""
        }
        var said: [String] = []
        var heard: [String] = []
        for step in try steps(recorder.items, part) {
            switch step.content {
            case .fromApp(let message): said += [word(message)].compactMap(\.self)
            case .fromHeadUnit(let message): heard += [word(message)].compactMap(\.self)
            case .began, .ended: break
            }
        }
        #expect(said == fromApp, "\(said)")
        #expect(heard == fromHeadUnit, "\(heard)")
    }

    // MARK: Comparing

    private static func response(_ function: FunctionID, _ json: String) throws -> RPCMessage {
        let frame = Frame.rpc(
            version: 5, sessionID: 1, messageID: 1, type: .response,
            functionID: function.rawValue, correlationID: 1, json: json)
        return try RPCMessage(Message(single: frame))
    }

    @Test("what is compared, and what is not")
    func comparison() throws {
        func lines(_ then: String, _ now: String, _ function: FunctionID = .show) throws -> [String]
        {
            AnswerComparison.differences(
                recorded: try Self.response(function, then), live: try Self.response(function, now))
        }
        #expect(try lines(#"{"a":1,"hashID":"x"}"#, #"{"hashID":"y","a":1}"#) == [])
        #expect(
            try lines(#"{"a":{"b":[1,2]}}"#, #"{"a":{"b":[1,3]}}"#) == [
                "- a.b[1]: 2", "+ a.b[1]: 3",
            ])
        #expect(try lines(#"{"a":[]}"#, #"{"b":{}}"#) == ["- a: []", "+ b: {}"])
        #expect(try lines(#"{"speed":1}"#, #"{"speed":2}"#, .getVehicleData) == [])
        #expect(
            try lines(#"{"speed":1,"success":true}"#, #"{"success":false}"#, .getVehicleData)
                == ["- speed: …", "- success: true", "+ success: false"])
    }

    @Test("what was overwritten in the recording is not compared, the rest is")
    func masked() throws {
        let then = #"{"success":true,"gps":{"dataType":"xxxx"},"list":[{"VIN":"xx","a":1}]}"#
        let now = #"{"success":true,"gps":{"dataType":"GPS"},"list":[{"VIN":"1H","a":2}]}"#
        let lines = AnswerComparison.differences(
            recorded: try Self.response(.subscribeVehicleData, then),
            live: try Self.response(.subscribeVehicleData, now), masked: ["GPS", "vin"])
        #expect(lines == ["- list[0].a: 1", "+ list[0].a: 2"])
    }

    // MARK: Hostile recordings

    @Test("very many sessions in a recording cost no more than is allowed")
    func manySessions() throws {
        var recorder = Recorder()
        for number in 0..<5000 as Range<UInt64> {
            let now = NIODeadline.start + .milliseconds(Int64(number))
            recorder.add(
                Frame(version: 1, type: .control, service: .rpc, info: 1, sessionID: 0),
                .fromApp, app: number, at: now)
            recorder.add(
                Frame(
                    version: 5, type: .control, service: .rpc, info: 2,
                    sessionID: UInt8(1 + number % 255)), .fromAccessory, app: number, at: now)
        }
        var options = RecordedHeadUnit.Options()
        options.speed = .maximum
        options.limits.steps = 500
        var unit = ReplayingHeadUnit(try steps(recorder.items), piece: 64, options)
        let start = Frame(version: 1, type: .control, service: .rpc, info: 1, sessionID: 0)
        for _ in 0..<255 {
            #expect(unit.hear(start, at: .start).map(\.controlType) == [.startServiceACK])
        }
        #expect(unit.hear(start, at: .start).map(\.controlType) == [.startServiceNAK])
        #expect(unit.unit.held.steps < 600)
    }

    @Test("what an app asked is known however many were answered before it, left or not")
    func manyAnswered() throws {
        var recorder = Recorder()
        for number in 0..<2000 as Range<UInt64> {
            let now = NIODeadline.start + .milliseconds(Int64(number))
            recorder.add(.startService(), .fromApp, app: number, at: now)
            recorder.add(
                number % 2 == 0 ? .startServiceACK(session: 1) : .startServiceNAK(),
                .fromAccessory, app: number, at: now)
        }
        let asked = try steps(recorder.items, .app).filter {
            if case .fromApp(let message) = $0.content {
                message.kind == .control(.startService)
            } else {
                false
            }
        }
        #expect(asked.map(\.app.rawValue) == Array(0..<2000))
    }

    @Test("frames of sessions that were never granted are left out")
    func noGrant() throws {
        var recorder = Recorder()
        recorder.add(
            .rpc(
                version: 5, sessionID: 9, messageID: 1, type: .request,
                functionID: FunctionID.show.rawValue, correlationID: 1), .fromApp, app: 1,
            at: .start)
        #expect(try steps(recorder.items).isEmpty)
        var unit = ReplayingHeadUnit([])
        let start = Frame(version: 1, type: .control, service: .rpc, info: 1, sessionID: 0)
        // The replay first has to know that nothing follows.
        #expect(unit.hear(start, at: .start).map(\.controlType) == [.startServiceNAK])
    }
}
