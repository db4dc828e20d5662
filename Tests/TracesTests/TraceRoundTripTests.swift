// Items read back from what was written.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import Traces

@Suite("What a trace was made of is in it")
struct TraceRoundTripTests {
    private static let names = [
        "js-full-1", "js-killed-1", "js-core-stops-1", "java-zero-message-id-1",
    ]

    @Test(
        "a recorded session, read in pieces of any size", arguments: names,
        [611, 1 << 20])
    func captures(name: String, pieces: Int) throws {
        let items = try Capture.items(name)
        let entries = try Made.entries(Made.trace(items), pieces: pieces)
        let found = entries.compactMap(\.item).flatMap(\.summaries)
        #expect(found == items.flatMap(\.summaries))
        guard case .record(.trace(let header)) = entries.first?.content,
            case .record(.end(let end)) = entries.last?.content
        else {
            Issue.record("it begins or ends with something else")
            return
        }
        #expect(header.program == "relayd 0.0.0" && header.file == 1)
        let frames = items.reduce(0) {
            if case .frames(let frames) = $1 { $0 + frames.count } else { $0 }
        }
        #expect(end.reason == "stopped" && end.frames == frames && end.missedFrames == 0)
    }

    @Test("a few frames, byte by byte")
    func bytewise() throws {
        let items = Array(try Capture.items("js-killed-1").prefix(12))
        let entries = try Made.entries(Made.trace(items), pieces: 1)
        #expect(entries.compactMap(\.item).flatMap(\.summaries) == items.flatMap(\.summaries))
    }

    @Test("the decoder finds the same in it as in the session itself", arguments: names)
    func decoded(name: String) throws {
        let items = try Capture.items(name)
        #expect(
            Self.lines(try Made.entries(Made.trace(items)).compactMap(\.item)) == Self.lines(items))
    }

    private static func lines(_ items: [TapItem]) -> [String] {
        var decoder = TrafficDecoder()
        var entries: [TrafficEntry] = []
        for item in items { decoder.receive(item, into: &entries) }
        var formatter = TrafficFormatter(.init(format: .json))
        return formatter.lines(entries).map { String(decoding: $0.text, as: UTF8.self) }
    }

    @Test("whatever became of a frame", arguments: fates)
    func fate(fate: FrameFate) throws {
        for app in [AppID(rawValue: 7), nil] {
            for direction in [Direction.fromApp, .fromAccessory] {
                let frame = TappedFrame(
                    frame: .data(session: 3, bytes: 5), direction: direction, app: app,
                    time: Made.start, fate: fate)
                let item = TapItem.frames([frame])
                let entries = try Made.entries(Made.trace([item]))
                #expect(entries.compactMap(\.item).flatMap(\.summaries) == item.summaries)
            }
        }
    }

    private static let fates: [FrameFate] =
        [.forwarded, .amended, .replaced, .byRelay]
        + [
            .notItsSession(3), .noSuchSession(3), .farewell(3), .noLink, .secondaryTransport,
            .lateAnswer, .queueFull, .sessionOver(3), .endNotAsked(3), .lateWords(3),
            .emptyMessage, .messageTooLarge, .frameTooLarge, .answersRelay, .serviceOfRelay,
            .askerGone,
            .leftTooFast,
        ].map(FrameFate.dropped)

    @Test("what a grant means", arguments: [GrantMeaning.opens, .protects, .nothing])
    func grant(meaning: GrantMeaning) throws {
        let frame = TappedFrame(
            frame: .startServiceACK(session: 3), direction: .fromAccessory,
            app: AppID(rawValue: 1), time: Made.start, grant: meaning)
        let item = TapItem.frames([frame])
        #expect(
            try Made.entries(Made.trace([item])).compactMap(\.item).flatMap(\.summaries)
                == item.summaries)
    }

    @Test("a StartService that waits, and when it is sent")
    func waits() throws {
        let app = AppID(rawValue: 1)
        let start = TappedFrame(
            frame: .startService(), direction: .fromApp, app: app, time: Made.start,
            isWaiting: true)
        let items = try Made.entries(
            Made.trace([.frames([start]), .session(.startSent, app, time: Made.start)])
        ).compactMap(\.item)
        guard case .frames(let frames)? = items.first,
            case .session(.startSent, app, _)? = items.last
        else {
            Issue.record("\(items)")
            return
        }
        #expect(frames.map(\.isWaiting) == [true] && frames.map(\.fate) == [.forwarded])
    }

    @Test("bytes that were no frame, with their place in the stream")
    func bytes() throws {
        let items = [
            TapItem.bytes(
                TappedBytes(
                    bytes: ByteBuffer(string: "GET / HTTP/1.1\r\n"), direction: .fromApp,
                    app: AppID(rawValue: 2), offset: .max, time: Made.start)),
            .bytes(
                TappedBytes(
                    bytes: ByteBuffer(bytes: [0xFF]), direction: .fromAccessory, app: nil,
                    offset: 12, time: Made.start)),
        ]
        let entries = try Made.entries(Made.trace(items))
        #expect(entries.compactMap(\.item).flatMap(\.summaries) == items.flatMap(\.summaries))
    }

    @Test("every record", arguments: records)
    func record(record: TraceRecord) throws {
        #expect(try TraceRecord(json: record.json) == record)
    }

    private static let records: [TraceRecord] = [
        .trace(Made.header { $0.masked = ["vin"] }), .linkOpened(number: 3, address: "usb:"),
        .linkClosed(reason: "unplugged \"at once\"\n\u{1B}"),
        .appConnected(AppID(rawValue: .max), peer: "[::1]:1"),
        .appLeft(AppID(rawValue: 1), reason: "left"),
        .startSent(AppID(rawValue: 1)), .sessionEnded(AppID(rawValue: 1), session: 255),
        .serviceEnded(AppID(rawValue: 2), session: 1, .video),
        .notice(code: "garbage", text: "ü😀", app: nil),
        .advice(code: "request_rate", text: "", app: AppID(rawValue: 2)), .mark(text: "here"),
        .gap(frames: .max, bytes: .max), .end(TraceEnd(reason: "stopped")),
    ]

    @Test("a trace that does not say which records it has is older than they are")
    func olderHeader() throws {
        func events(_ fields: String) throws -> [String]? {
            let json = ByteBuffer(string: #"{"record":"trace","version":1\#(fields)}"#)
            guard case .trace(let header) = try TraceRecord(json: json) else { return nil }
            return header.events
        }
        #expect(try events("") == [])
        #expect(try events(#","events":["weather","service_ended"]"#) == ["service_ended"])
    }

    @Test("a record of a later version is passed over; what is none is named")
    func strangeRecords() throws {
        let weather = ByteBuffer(string: #"{"sun":true,"record":"weather","app":2}"#)
        let record = try TraceRecord(json: weather)
        #expect(record == .other(name: "weather", app: AppID(rawValue: 2), json: weather))
        #expect(record.json == weather)
        for text in ["", "{}", "[1]", "nonsense", #"{"record":7}"#, #"{"record":"app_left"}"#] {
            #expect(throws: TraceError.self) { try TraceRecord(json: ByteBuffer(string: text)) }
        }
    }

    @Test(
        "of more places than are remembered, each entry still is of its own",
        .timeLimit(.minutes(1)))
    func places() throws {
        var writer = TraceWriter(Made.header())
        var bytes = ByteBuffer()
        writer.begin(at: Made.start, into: &bytes)
        let apps = 0..<UInt64(2 * TraceInterfaces.maximumPlaces + 10)
        for app in apps {
            let run = TappedBytes(
                bytes: ByteBuffer(integer: app), direction: .fromApp, app: AppID(rawValue: app),
                offset: 0, time: Made.start)
            writer.append(TraceEntry(time: Made.start, content: .bytes(run)), into: &bytes)
        }
        var found: [UInt64] = []
        for entry in try Made.entries(bytes) {
            guard case .bytes(let run) = entry.content else { continue }
            #expect(run.bytes == run.app.map { ByteBuffer(integer: $0.rawValue) })
            found.append(run.app?.rawValue ?? .max)
        }
        #expect(found == Array(apps))
    }

    @Test("the next file of a ring begins with who is there")
    func ring() throws {
        var encoder = TraceEncoder(Made.header())
        var first = ByteBuffer()
        encoder.begin(started: Made.started, at: Made.start, into: &first)
        let app = AppID(rawValue: 1)
        let gone = AppID(rawValue: 2)
        let items: [TapItem] = [
            .linkOpened(number: 4, address: "sim:", time: Made.start),
            .appConnected(app, peer: "a", time: Made.start),
            .appConnected(gone, peer: "b", time: Made.start),
            .frames([
                TappedFrame(
                    frame: .data(session: 1, bytes: 1), direction: .fromApp, app: app,
                    time: Made.start)
            ]),
            .appClosed(gone, reason: "left", time: Made.start),
        ]
        for item in items { encoder.append(item, at: Made.start, into: &first) }
        var second = ByteBuffer()
        encoder.begin(started: Made.started, at: Made.start, into: &second)
        encoder.append(items[3], at: Made.start, into: &second)
        let entries = try Made.entries(second)
        let frame = try #require(items[3].summaries.first)
        #expect(
            entries.dropFirst().map(\.summary) == [
                "\(Made.start.nanoseconds) \(TraceRecord.linkOpened(number: 4, address: "sim:"))",
                "\(Made.start.nanoseconds) \(TraceRecord.appConnected(app, peer: "a"))", frame,
            ])
        guard case .record(.trace(let header)) = entries.first?.content else { return }
        #expect(header.file == 2)
    }

    @Test("without the payload of audio and video a frame keeps its size")
    func headersOnly() throws {
        let video = Frame(
            version: 5, type: .single, service: .video, sessionID: 1, messageID: 9,
            payload: ByteBuffer(repeating: 7, count: 1000))
        let item = TapItem.frames([
            TappedFrame(
                frame: video.headerOnly, direction: .fromApp, app: AppID(rawValue: 1),
                time: Made.start)
        ])
        let entry = try #require(try Made.entries(Made.trace([item])).dropLast().last)
        guard case .frame(let tapped, omitted: 1000, isMasked: false) = entry.content else {
            Issue.record("it is \(entry.summary)")
            return
        }
        #expect(tapped.frame.payloadBytes == 1000 && tapped.frame.payload.readableBytes == 0)
    }
}
