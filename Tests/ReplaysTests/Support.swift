// Conversations on manual time: an app made of code with a head unit made of code or of a recording.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SampleApp
import SimulatedAccessory
import Testing
import Traces

@testable import Replays

/// Records a conversation as the tap would have delivered it.
struct Recorder {
    private(set) var items: [TapItem] = [
        .linkOpened(number: 1, address: "sim:", time: WallTime(nanoseconds: Self.epoch))
    ]
    static let epoch: Int64 = 1_795_257_067_000_000_000

    static func time(_ now: NIODeadline) -> WallTime {
        WallTime(nanoseconds: epoch + Int64(now.uptimeNanoseconds))
    }

    mutating func connected(_ app: UInt64) {
        items.append(
            .appConnected(AppID(rawValue: app), peer: "127.0.0.1:1", time: Self.time(.start)))
    }

    mutating func add(
        _ frame: Frame, _ direction: Direction, app: UInt64, at now: NIODeadline,
        fate: FrameFate = .forwarded
    ) {
        var tapped = TappedFrame(
            frame: frame, direction: direction, app: AppID(rawValue: app), time: Self.time(now),
            fate: fate)
        if direction == .fromAccessory, frame.controlType == .startServiceACK,
            frame.service == .rpc
        {
            tapped.grant = .opens
        }
        items.append(.frames([tapped]))
    }

    mutating func left(_ app: UInt64, at now: NIODeadline) {
        items.append(
            .appClosed(AppID(rawValue: app), reason: "it left", time: Self.time(now)))
    }
}

extension NIODeadline {
    static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
}

/// The bytes of a trace with these items.
func traceBytes(_ items: [TapItem]) -> ByteBuffer {
    var encoder = TraceEncoder(
        TraceHeader(program: "relayd 0.0.0", accessory: "sim:", started: "2026-11-21T10:31:07Z"))
    var bytes = ByteBuffer()
    let start = WallTime(nanoseconds: Recorder.epoch)
    encoder.begin(started: "2026-11-21T10:31:07Z", at: start, into: &bytes)
    for item in items { encoder.append(item, at: start, into: &bytes) }
    encoder.end(because: "stopped", at: start, into: &bytes)
    return bytes
}

/// The steps of a recording, read from the bytes of its file.
func steps(_ items: [TapItem], _ part: RecordingScript.Part = .headUnit) throws -> [RecordedStep] {
    var reader = TraceReader()
    reader.append(traceBytes(items))
    var script = RecordingScript(part)
    var steps: [RecordedStep] = []
    while let entry = try reader.next() { script.read(entry, into: &steps) }
    return steps
}

/// A head unit that can answer an app.
protocol HeadUnit {
    mutating func hear(_ frame: Frame, at now: NIODeadline) -> [Frame]
    mutating func pass(to now: NIODeadline) -> [Frame]
    var nextTime: NIODeadline? { get }
}

extension SimulatedAccessory: HeadUnit {
    mutating func hear(_ frame: Frame, at now: NIODeadline) -> [Frame] { receive(frame, at: now) }
    mutating func pass(to now: NIODeadline) -> [Frame] { advance(to: now) }
    var nextTime: NIODeadline? { nextDeadline }
}

/// The recorded head unit with a file that is read in pieces of any size.
struct ReplayingHeadUnit: HeadUnit {
    var unit: RecordedHeadUnit
    let steps: [RecordedStep]
    let piece: Int
    private var next = 0
    private(set) var divergences: [Divergence] = []

    init(
        _ steps: [RecordedStep], piece: Int = 1000, _ options: RecordedHeadUnit.Options = .init()
    ) {
        unit = RecordedHeadUnit(options)
        self.steps = steps
        self.piece = piece
    }

    private mutating func take(_ output: RecordedHeadUnit.Output, _ now: NIODeadline) -> [Frame] {
        divergences += output.divergences
        var frames = output.frames
        while true {
            if unit.wantsRestart {
                unit.restart()
                next = 0
            }
            guard unit.wantsMore else { break }
            let end = min(next + piece, steps.count)
            let more = unit.feed(
                Array(steps[next..<end]), isLast: end == steps.count, at: now)
            next = end
            divergences += more.divergences
            frames += more.frames
        }
        return frames
    }

    mutating func hear(_ frame: Frame, at now: NIODeadline) -> [Frame] {
        take(unit.receive(frame, at: now), now)
    }
    mutating func pass(to now: NIODeadline) -> [Frame] { take(unit.advance(to: now), now) }
    var nextTime: NIODeadline? { unit.nextDeadline }
}

/// A sample app's conversation, from connection to end.
struct Conversation {
    var lines: [String] = []
    var outcome: SampleApp.Outcome?
    var recorder = Recorder()
    var ended = NIODeadline.start
    var heard: [Frame] = []

    static func run(
        _ unit: inout some HeadUnit, name: String = "relayd sample", id: UInt64 = 1,
        recorder: Recorder = Recorder(), from start: NIODeadline = .start
    ) throws -> Conversation {
        var configuration = SampleApp.Configuration()
        configuration.name = name
        configuration.appID = name
        var app = SampleApp(configuration: configuration)
        var talk = Conversation()
        talk.recorder = recorder
        var now = start
        talk.recorder.connected(id)
        var toUnit: [Frame] = []
        func take(_ output: SampleApp.Output) {
            talk.lines += output.lines
            toUnit += output.frames
        }
        take(app.connected(at: now))
        for _ in 0..<100_000 {
            if !toUnit.isEmpty {
                let frame = toUnit.removeFirst()
                talk.recorder.add(frame, .fromApp, app: id, at: now)
                now = now + .milliseconds(1)
                for answer in unit.hear(frame, at: now) {
                    talk.recorder.add(answer, .fromAccessory, app: id, at: now)
                    talk.heard.append(answer)
                    take(app.receive(answer, at: now))
                }
                continue
            }
            if app.outcome != nil { break }
            let times = [unit.nextTime, app.nextDeadline].compactMap { $0 }
            guard let time = times.min() else { break }
            now = max(now, time)
            for answer in unit.pass(to: now) {
                talk.recorder.add(answer, .fromAccessory, app: id, at: now)
                talk.heard.append(answer)
                take(app.receive(answer, at: now))
            }
            take(app.advance(to: now))
        }
        talk.recorder.left(id, at: now)
        talk.outcome = app.outcome
        talk.ended = now
        return talk
    }

    /// The sample app with the simulated head unit.
    static func recorded(
        name: String = "relayd sample", id: UInt64 = 1, recorder: Recorder = Recorder()
    ) throws -> Conversation {
        var unit = SimulatedAccessory(configuration: try .init(options: [:]))
        let talk = try run(&unit, name: name, id: id, recorder: recorder)
        try #require(talk.outcome == .finished, "\(talk.lines)")
        return talk
    }
}

/// A peer of the recorded head unit that sends what the test wants.
struct Speaker {
    var unit: ReplayingHeadUnit
    var now = NIODeadline.start
    private var messages: UInt32 = 0

    init(_ unit: ReplayingHeadUnit) { self.unit = unit }

    mutating func say(_ frame: Frame) -> [Frame] { unit.hear(frame, at: now) }

    mutating func wait(_ time: TimeAmount) -> [Frame] {
        now = now + time
        return unit.pass(to: now)
    }

    mutating func start() -> [Frame] {
        say(
            Frame(
                version: 1, type: .control, service: .rpc,
                info: ControlFrameType.startService.rawValue, sessionID: 0))
    }

    mutating func ask(
        _ function: FunctionID, _ json: String = "{}", correlation: Int32, session: UInt8 = 1
    ) -> [Frame] {
        messages += 1
        return say(
            .rpc(
                version: 5, sessionID: session, messageID: messages, type: .request,
                functionID: function.rawValue, correlationID: correlation, json: json))
    }
}

extension RecordedHeadUnit.Options {
    /// Options with which nothing takes time.
    static func maximum(loops: Bool = false) -> Self {
        var options = Self()
        options.speed = .maximum
        options.loops = loops
        return options
    }
}

extension Frame {
    /// The RPC in a single frame.
    var rpc: RPCMessage? { type == .single ? try? RPCMessage(Message(single: self)) : nil }
}
