import ControlAPI
import DecodedTraces
import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing
import Traces

/// Traces made up to exhaust the memory of a program that reads them.
@Suite("A hostile trace is decoded within bounds") struct TraceBoundsTests {
    private static let start: Int64 = 1_795_257_067_000_000_000

    private static func entry(_ app: UInt64, _ second: Int64, _ name: String) -> TraceEntry {
        let time = WallTime(nanoseconds: start + second * 1_000_000)
        let frame = Frame.rpc(
            version: 5, sessionID: UInt8(truncatingIfNeeded: app) | 1,
            messageID: UInt32(truncatingIfNeeded: app), type: .request,
            functionID: FunctionID.registerAppInterface.rawValue, correlationID: 1,
            json: #"{"appName":"\#(name)","appID":"1"}"#)
        return TraceEntry(
            time: time,
            content: .frame(
                TappedFrame(
                    frame: frame, direction: .fromApp, app: AppID(rawValue: app), time: time),
                omitted: 0, isMasked: false))
    }

    @Test("of more apps than there may be, the rest is left out and told as missed") func apps() {
        var decoding = TraceDecoding()
        var entries: [TrafficEntry] = []
        let beyond = 300
        for app in 0..<(TraceDecoding.maximumApps + beyond) {
            decoding.receive(Self.entry(UInt64(app), Int64(app), "A"), into: &entries)
        }
        #expect(decoding.leftOutFrames == beyond)
        #expect(Set(entries.compactMap(\.app)).count <= TraceDecoding.maximumApps)
        entries = []
        decoding.finish(into: &entries)
        var missed = 0
        for entry in entries {
            if case .event(.missed(let frames, _)) = entry.content { missed += frames }
        }
        #expect(missed == beyond)
    }

    @Test("an app that has left makes room for another") func room() {
        var decoding = TraceDecoding()
        var entries: [TrafficEntry] = []
        for app in 0..<(3 * TraceDecoding.maximumApps) {
            let entry = Self.entry(UInt64(app), Int64(app), "A")
            decoding.receive(entry, into: &entries)
            let left = TraceRecord.appLeft(AppID(rawValue: UInt64(app)), reason: "")
            decoding.receive(
                TraceEntry(time: entry.time, content: .record(left)), into: &entries)
        }
        #expect(decoding.leftOutFrames == 0)
    }

    @Test("a survey lists so many apps, links, notes and masked names, and says what is left out")
    func survey() async throws {
        try await TemporaryDirectory.run { directory in
            var header = TraceHeader(program: "x", accessory: "tcp:", started: "")
            header.masked = (0..<2000).map { "name\($0)" }
            var writer = TraceWriter(header)
            var bytes = ByteBuffer()
            let time = WallTime(nanoseconds: Self.start)
            writer.begin(at: time, into: &bytes)
            for number in 0..<2000 {
                for record in [
                    TraceRecord.linkOpened(number: number, address: "tcp:"),
                    .linkClosed(reason: ""), .mark(text: "m"),
                    .appConnected(AppID(rawValue: UInt64(number)), peer: "p"),
                ] {
                    writer.append(TraceEntry(time: time, content: .record(record)), into: &bytes)
                }
            }
            let path = directory.file("x.pcapng")
            try Data(bytes.readableBytesView).write(to: URL(fileURLWithPath: path))
            var survey = TraceSurvey()
            try survey.read(path)
            let report = survey.report
            for count in [
                report.apps.count, report.links.count, report.notes.count, report.masked.count,
            ] {
                #expect(count == 500)
            }
            #expect(
                report.more == ["apps": 1500, "links": 1500, "notes": 1500, "parameters": 1500])
        }
    }

    @Test("streams beyond those that are told apart are counted as left out") func streams() {
        var count = TraceCount()
        var frames = 0
        // One name for each odd session, and four streams of each.
        for app in stride(from: UInt64(1), to: 256, by: 2) {
            let second = Int64(app) * 3
            count.receive(Self.entry(app, second, "App \(app)"))
            let time = WallTime(nanoseconds: Self.start + (second + 1) * 1_000_000)
            for service in [ServiceType.video, .audio] {
                let frame = Frame(
                    version: 5, type: .single, service: service,
                    sessionID: UInt8(truncatingIfNeeded: app), messageID: 1,
                    payload: ByteBuffer(repeating: 0, count: 10))
                for direction in [Direction.fromApp, .fromAccessory] {
                    let tapped = TappedFrame(
                        frame: frame, direction: direction, app: AppID(rawValue: app), time: time)
                    count.receive(
                        TraceEntry(
                            time: time, content: .frame(tapped, omitted: 0, isMasked: false)))
                    frames += 1
                }
            }
        }
        let report = count.finish()
        #expect(report.streams.count == 256 && frames == 512)
        #expect(report.streams.map(\.frames).reduce(0, +) + (report.leftOut ?? 0) == frames)
    }
}

@Suite("What is counted in a trace") struct TraceCountTests {
    @Test("is what is counted of the same traffic live") func same() throws {
        let items = try Capture.items("js-full-1")
        let statistics = TrafficStatistics(since: WallTime(nanoseconds: 0))
        var count = TraceCount()
        var decoding = TraceDecoding(isValidating: false)
        var decoded: [TrafficEntry] = []
        var encoder = TraceEncoder(TraceHeader(program: "x", accessory: "tcp:", started: ""))
        var bytes = ByteBuffer()
        let start = WallTime(nanoseconds: 0)
        encoder.begin(started: "", at: start, into: &bytes)
        for item in items { encoder.append(item, at: start, into: &bytes) }
        var reader = TraceReader()
        reader.append(bytes)
        var last = start
        while let entry = try reader.next() {
            last = max(last, entry.time)
            count.receive(entry)
            decoding.receive(entry, into: &decoded)
        }
        decoding.finish(into: &decoded)
        statistics.consume(decoded)
        let live = StatsReport(statistics.current, since: start, at: last)
        let traced = count.finish().counts
        #expect(traced == live)
        #expect(traced.functions.contains { $0.function == "RegisterAppInterface" })
    }
}
