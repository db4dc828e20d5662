// Fuzz target: traces from which relayctl makes new ones.

import Foundation
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

@testable import Traces
@testable import relayctl

extension FuzzTarget {
    static let traces = FuzzTarget(
        name: "traces",
        about: "two traces of any bytes, frames and records, which are cut, merged and anonymised",
        promise:
            "what is made is a whole trace or none, has no frame that was in neither, and nothing more to mask",
        isScript: true,
        words: {
            TrafficWords.all + [
                "{\"record\":\"mark\",\"text\":\"\"}",
                "{\"record\":\"gap\",\"frames\":1,\"bytes\":1}",
                "{\"record\":\"later\"}", "\"vin\":", "\"phoneNumber\":\"", "authToken",
                "192.168.1.20:12345",
            ]
        },
        seeds: { FuzzSeeds.traces() },
        run: { bytes in
            let world = try TracesWorld()
            defer { world.remove() }
            for step in FuzzScript(bytes) { try world.take(step) }
            try world.end()
        })
}

extension FuzzSeeds {
    /// Recorded sessions in one trace and in both, with events around them.
    static func traces() -> [[UInt8]] {
        let connected = FuzzScript.Step(4, [0])
        let around: [FuzzScript.Step] = [
            .init(4, [2]), connected, .init(3, of: 1, "a mark of 192.168.1.20".utf8),
            .init(3, #"{"record":"gap","frames":2,"bytes":40}"#.utf8), .init(5, [7]),
            .init(8, [1, 2, 3]), .init(4, [1]), .init(4, [3]),
        ]
        let both = FuzzScript.Step(7, [])
        let sessions = dialogues(headUnit: 2, app: 1)
        return [FuzzScript.bytes(of: around), FuzzScript.bytes(of: [both] + around)]
            + sessions.map { FuzzScript.bytes(of: [connected]) + $0 }
            + sessions.suffix(4).map { FuzzScript.bytes(of: [both, connected]) + $0 }
            + (0..<8).map { place in
                FuzzScript.bytes(of: around + [.init(6, [UInt8(place * 31), 0, 0xFF])])
            }
    }
}

private final class TracesWorld {
    /// One of the two source traces.
    private struct Source {
        var encoder = TraceEncoder(
            TraceHeader(program: "relayd 0", accessory: "tcp:192.168.1.20:12345", started: ""))
        var bytes = ByteBuffer()
    }

    private let folder: FuzzFolder
    private var sources = [Source(), Source()]
    private var isBoth = false
    private var fromApps = (0..<3).map { _ in
        FrameDecoder(rules: .fromApp(), recovery: .resynchronise)
    }
    private var fromHeadUnit = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
    private var time: Int64 = 1_795_428_000_000_000_000
    private var now: WallTime { WallTime(nanoseconds: time) }

    init() throws {
        folder = try FuzzFolder()
        for index in sources.indices {
            var source = sources[index]
            source.encoder.begin(started: "", at: now, into: &source.bytes)
            sources[index] = source
        }
    }

    func remove() { folder.remove() }

    // MARK: The traces

    func take(_ step: FuzzScript.Step) throws {
        let app = AppID(rawValue: UInt64(step.whom >> 1 % 3 + 1))
        let trace = step.whom & 1
        switch step.kind {
        case 0: add(trace) { $0.bytes.writeBytes(step.bytes) }
        case 1:
            fromApps[step.whom >> 1 % 3].append(ByteBuffer(bytes: step.bytes))
            while let frame = try? fromApps[step.whom >> 1 % 3].next() {
                add(frame, .fromApp, app, trace)
            }
        case 2:
            fromHeadUnit.append(ByteBuffer(bytes: step.bytes))
            while let frame = try? fromHeadUnit.next() { add(frame, .fromAccessory, app, trace) }
        case 3:
            let record =
                (try? TraceRecord(json: ByteBuffer(bytes: step.bytes)))
                ?? .mark(text: String(decoding: step.bytes, as: UTF8.self))
            add(trace) { [now] in $0.encoder.append(record, at: now, to: &$0.bytes) }
        case 4: add(event(step.bytes.first ?? 0, app), trace)
        case 5: time += Int64(Int8(bitPattern: step.bytes.first ?? 1)) * 250_000_000
        case 6: damage(trace, FuzzBytes(step.bytes))
        case 7: isBoth.toggle()
        case 8:
            add(
                .bytes(
                    TappedBytes(
                        bytes: ByteBuffer(bytes: step.bytes), direction: .fromApp, app: app,
                        offset: 0, time: now)), trace)
        default: break
        }
    }

    private func event(_ number: UInt8, _ app: AppID) -> TapItem {
        switch number % 8 {
        case 0: .appConnected(app, peer: "192.168.1.7:40000", time: now)
        case 1: .appClosed(app, reason: "192.168.1.7 closed the connection", time: now)
        case 2: .linkOpened(number: Int(number), address: "tcp:192.168.1.20:12345", time: now)
        case 3: .linkClosed(reason: "it left", time: now)
        case 4: .session(.ended(number), app, time: now)
        case 5: .session(.startSent, app, time: now)
        case 6: .session(.serviceEnded(.video, session: number), app, time: now)
        default: .missed(frames: Int(number), bytes: Int(number))
        }
    }

    private func add(_ frame: Frame, _ direction: Direction, _ app: AppID, _ trace: Int) {
        time += 1_000_000
        add(
            .frames([TappedFrame(frame: frame, direction: direction, app: app, time: now)]), trace)
    }

    private func add(_ item: TapItem, _ trace: Int) {
        add(trace) { [now] in $0.encoder.append(item, at: now, into: &$0.bytes) }
    }

    private func add(_ trace: Int, _ write: (inout Source) -> Void) {
        write(&sources[trace])
        if isBoth { write(&sources[1 - trace]) }
    }

    private func damage(_ trace: Int, _ bytes: FuzzBytes) {
        var bytes = bytes
        let place = Int(bytes.byte()) << 8 | Int(bytes.byte())
        let count = sources[trace].bytes.writerIndex
        for (index, byte) in bytes.all().prefix(8).enumerated() where count > 0 {
            sources[trace].bytes.setInteger(byte, at: (place + index) % count)
        }
    }

    // MARK: New traces

    func end() throws {
        let paths = try zip(sources, ["a", "b"]).map {
            try folder.write($0.bytes.readableBytesView, to: $1)
        }
        let known = Set(try paths.flatMap { try read($0).frames.map(\.wire) })
        try made("cut", of: known) { path in
            var cut = TraceCut(
                [paths[0]], filter: MessageFilter(), apps: nil, from: TraceMoment("+0.5s"),
                to: TraceMoment("+2s"))
            _ = try cut.write(to: path)
        }
        try made("filtered", of: known) { path in
            var filter = MessageFilter()
            filter.expression = try FilterArgument.filter(["!ok"])
            var cut = TraceCut([paths[0]], filter: filter, apps: nil, from: nil, to: nil)
            _ = try cut.write(to: path)
        }
        try made("merged", of: known) { path in
            var merge = try TraceMerge(paths)
            _ = try merge.write(to: path)
        }
        try anonymise(paths[0])
        let left = try folder.names().filter {
            !["a", "b", "cut", "filtered", "merged", "anonymised", "again"].contains($0)
        }
        try ensure(left.isEmpty, "a draft is left: \(left)")
    }

    private struct Found {
        var frames: [Frame] = []
        var isEnded = false
        var problem: TraceFileError?
    }

    private func read(_ path: String) throws -> Found {
        var found = Found()
        do throws(TraceFileError) {
            var file = try TraceFile(path)
            while let entry = try file.next() {
                found.isEnded = false
                switch entry.content {
                case .frame(let tapped, _, _): found.frames.append(tapped.frame)
                case .record(.end): found.isEnded = true
                default: break
                }
            }
        } catch {
            found.problem = error
        }
        return found
    }

    /// - Parameter known: The frames that the trace may contain; nil when they may have been changed.
    @discardableResult
    private func made(
        _ name: String, of known: Set<ByteBuffer>?, _ make: (String) throws -> Void
    ) throws -> Found? {
        let path = folder.file(name)
        do {
            try make(path)
        } catch let error where error is TraceFileError || error is TraceFailure {
            try ensure(!"\(error)".isEmpty, "\(name) fails without words")
            try ensure(access(path, F_OK) != 0, "\(name) has failed, and there is a file")
            return nil
        }
        let found = try read(path)
        try ensure(found.problem == nil, "\(name) cannot be read: \(found.problem as Any)")
        try ensure(found.isEnded, "\(name) has no end")
        if let known {
            try ensure(
                found.frames.allSatisfy { known.contains($0.wire) }, "\(name) has another frame")
        }
        return found
    }

    private func anonymise(_ path: String) throws {
        let silent = Output(isTerminal: false, size: { (80, 24) }, sink: { _, _ in true })
        func run(_ from: String, _ to: String) throws {
            do {
                try Output.$current.withValue(silent) {
                    try TraceAnonymiseCommand.parse([from, "-o", to]).run()
                }
            } catch {
                throw TraceFailure("\(error)")
            }
        }
        guard let first = try made("anonymised", of: nil, { try run(path, $0) }) else { return }
        let before = try read(path).frames
        try ensure(first.frames.count == before.count, "frames are lost")
        for (old, new) in zip(before, first.frames) where !old.service.isStream {
            try ensure(
                old.wire.readableBytes == new.wire.readableBytes, "a frame's length has changed")
        }
        let again = try made("again", of: nil, { try run(folder.file("anonymised"), $0) })
        try ensure(
            again?.frames.map(\.wire) == first.frames.map(\.wire),
            "masked once more it is another")
    }
}
