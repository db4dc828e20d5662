// Fuzz target: recordings that are replayed as the head unit and as the app.

import NIOCore
import RelayCore
import SDLProtocol

@testable import Replays
@testable import Traces

extension FuzzTarget {
    static let replay = FuzzTarget(
        name: "replay",
        about:
            "a recording of any bytes and frames, replayed to apps and to a head unit that say what they like",
        promise: "both parts speak in whole frames, and what is kept of the recording is bounded",
        isScript: true, words: { TrafficWords.all },
        seeds: { FuzzSeeds.replays() },
        run: { bytes in
            var world = ReplayWorld()
            for step in FuzzScript(bytes) { try world.take(step) }
            try world.end()
        })
}

extension FuzzSeeds {
    /// Dialogues that are recorded and then repeated live.
    static func replays() -> [[UInt8]] {
        zip(dialogues(headUnit: 2, app: 1), dialogues(headUnit: 4, app: 3)).map { $0 + $1 }
    }
}

private struct ReplayWorld {
    private static let maximumSteps = 64

    private var reader = TraceReader()
    private var readerHasFailed = false
    private var headUnitScript = RecordingScript(.headUnit)
    private var appScript = RecordingScript(.app)
    private var headUnit: RecordedHeadUnit
    private var app = RecordedApp()
    private var recorded = [
        FrameDecoder(rules: .fromApp(), recovery: .resynchronise),
        FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise),
    ]
    private var live = [
        FrameDecoder(rules: .fromApp(), recovery: .resynchronise),
        FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise),
    ]
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var recordedTime: Int64 = 1_795_257_067_000_000_000

    init() {
        var options = RecordedHeadUnit.Options()
        options.limits.steps = Self.maximumSteps
        options.limits.bytes = 1 << 20
        options.loops = true
        headUnit = RecordedHeadUnit(options)
        _ = app.connected(at: now)
    }

    mutating func take(_ step: FuzzScript.Step) throws {
        switch step.kind {
        case 0: try readTrace(step.bytes)
        case 1, 2: try record(step)
        case 3:
            live[0].append(ByteBuffer(bytes: step.bytes))
            while let frame = try live[0].next() { try check(headUnit.receive(frame, at: now)) }
        case 4:
            live[1].append(ByteBuffer(bytes: step.bytes))
            while let frame = try live[1].next() { try check(app.receive(frame, at: now)) }
        case 5:
            let time = Int64(step.bytes.first ?? 1) << Int64(step.whom % 8)
            now = now + .milliseconds(time)
            try check(headUnit.advance(to: now))
            try check(app.advance(to: now))
        case 6:
            let id = AppID(rawValue: UInt64(step.whom % 3))
            try read(
                TraceEntry(
                    time: WallTime(nanoseconds: recordedTime),
                    content: .record(.appLeft(id, reason: "")), comments: []))
        default: recordedTime += Int64(step.bytes.first ?? 0) * 1_000_000_000 - 1_000_000_000
        }
    }

    mutating func end() throws {
        try check(headUnit.feed([], isLast: true, at: now))
        if headUnit.wantsRestart { headUnit.restart() }
        try check(headUnit.feed([], isLast: true, at: now))
        try check(app.feed([], isLast: true, at: now))
        try check(app.disconnected(at: now))
        try check(headUnit.advance(to: now + .hours(10_000)))
    }

    private mutating func readTrace(_ bytes: [UInt8]) throws {
        guard !readerHasFailed else { return }
        reader.append(ByteBuffer(bytes: bytes))
        do {
            while let entry = try reader.next() { try read(entry) }
        } catch is TraceError {
            readerHasFailed = true
        }
    }

    private mutating func record(_ step: FuzzScript.Step) throws {
        let isFromApp = step.kind == 1
        let side = isFromApp ? 0 : 1
        recorded[side].append(ByteBuffer(bytes: step.bytes))
        while let frame = try recorded[side].next() {
            recordedTime += 50_000_000
            var tapped = TappedFrame(
                frame: frame, direction: isFromApp ? .fromApp : .fromAccessory,
                app: AppID(rawValue: UInt64(step.whom % 3)),
                time: WallTime(nanoseconds: recordedTime))
            if frame.controlType == .startServiceACK, step.whom < 8 { tapped.grant = .opens }
            try read(
                TraceEntry(
                    time: tapped.time, content: .frame(tapped, omitted: 0, isMasked: false)))
        }
    }

    private mutating func read(_ entry: TraceEntry) throws {
        var steps: [RecordedStep] = []
        headUnitScript.read(entry, into: &steps)
        try check(headUnit.feed(steps, isLast: false, at: now))
        steps = []
        appScript.read(entry, into: &steps)
        steps.removeAll { $0.app.rawValue != 0 }
        try check(app.feed(steps, isLast: false, at: now))
    }

    // MARK: Promises

    private func check(_ output: RecordedHeadUnit.Output) throws {
        try check(output.frames, output.divergences)
        let held = headUnit.held
        try ensure(held.steps >= 0 && held.bytes >= 0, "it keeps less than nothing: \(held)")
    }

    private func check(_ output: RecordedApp.Output) throws {
        try check(output.frames, output.divergences)
    }

    private func check(_ frames: [Frame], _ divergences: [Divergence]) throws {
        for frame in frames {
            try ensure(
                frame.wire.readableBytes == frame.headerBytes + frame.payloadBytes,
                "half a frame: \(frame)")
        }
        for divergence in divergences {
            try ensure(
                divergence.description.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F },
                "a control character in \(divergence)")
        }
    }
}
