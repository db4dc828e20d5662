import DecodedTraces
import Foundation
import Glibc
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing
import Traces

@testable import relayctl

/// A conversation of two apps on one link, second by second.
struct TwoApps {
    static let radio = AppID(rawValue: 1)
    static let map = AppID(rawValue: 2)
    private(set) var items: [TapItem] = []
    private var message: UInt32 = 0

    /// 2026-11-23T10:00:00Z.
    static let start: Int64 = 1_795_428_000

    static func at(_ seconds: Double) -> WallTime {
        WallTime(nanoseconds: start * 1_000_000_000 + Int64(seconds * 1e9))
    }

    init() {
        items = [.linkOpened(number: 1, address: "tcp:192.168.1.20:12345", time: Self.at(0))]
    }

    mutating func connect(_ app: AppID, _ name: String, session: UInt8, at seconds: Double) {
        items.append(
            .appConnected(app, peer: "192.168.1.7:4000\(app.rawValue)", time: Self.at(seconds)))
        send(.startService(), app, .fromApp, at: seconds + 0.1)
        send(
            .control(.startServiceACK, session: session), app, .fromAccessory, at: seconds + 0.2,
            grant: .opens)
        request(
            app, session, .registerAppInterface, 1, #"{"appName":"\#(name)","appID":"\#(name)1"}"#,
            at: seconds + 0.3)
        respond(app, session, .registerAppInterface, 1, at: seconds + 0.4)
    }

    mutating func send(
        _ frame: Frame, _ app: AppID, _ direction: Direction, at seconds: Double,
        grant: GrantMeaning? = nil
    ) {
        items.append(
            .frames([
                TappedFrame(
                    frame: frame, direction: direction, app: app, time: Self.at(seconds),
                    grant: grant)
            ]))
    }

    mutating func request(
        _ app: AppID, _ session: UInt8, _ function: FunctionID, _ correlation: Int32,
        _ json: String,
        bulk: ByteBuffer = ByteBuffer(), at seconds: Double
    ) {
        message += 1
        send(
            .rpc(
                version: 5, sessionID: session, messageID: message, type: .request,
                functionID: function.rawValue, correlationID: correlation, json: json, bulk: bulk),
            app, .fromApp, at: seconds)
    }

    mutating func respond(
        _ app: AppID, _ session: UInt8, _ function: FunctionID, _ correlation: Int32,
        _ code: String = "SUCCESS", at seconds: Double
    ) {
        message += 1
        send(
            .rpc(
                version: 5, sessionID: session, messageID: message, type: .response,
                functionID: function.rawValue, correlationID: correlation,
                json: #"{"success":\#(code == "SUCCESS"),"resultCode":"\#(code)"}"#),
            app, .fromAccessory, at: seconds)
    }

    mutating func notify(
        _ app: AppID, _ session: UInt8, _ function: FunctionID, _ json: String, at seconds: Double
    ) {
        message += 1
        send(
            .rpc(
                version: 5, sessionID: session, messageID: message, type: .notification,
                functionID: function.rawValue, correlationID: 0, json: json), app, .fromAccessory,
            at: seconds)
    }

    mutating func add(_ item: TapItem) { items.append(item) }

    /// Both register and show something; the map's second Show fails.
    static func usual() -> TwoApps {
        var talk = TwoApps()
        talk.connect(radio, "Radio", session: 1, at: 1)
        talk.connect(map, "Map", session: 2, at: 2)
        talk.request(radio, 1, .show, 2, #"{"mainField1":"One"}"#, at: 10)
        talk.respond(radio, 1, .show, 2, at: 10.1)
        talk.request(map, 2, .show, 2, #"{"mainField1":"Two"}"#, at: 20)
        talk.respond(map, 2, .show, 2, "REJECTED", at: 20.1)
        talk.request(radio, 1, .show, 3, #"{"mainField1":"Three"}"#, at: 30)
        talk.respond(radio, 1, .show, 3, at: 30.1)
        talk.add(.appClosed(radio, reason: "the app closed the connection", time: at(40)))
        return talk
    }
}

@Suite("relayctl trace cut") struct TraceCutTests {
    /// The remaining messages: time since the start, app, kind, function.
    private func cut(
        _ items: [TapItem], _ arguments: String...
    ) async throws -> [String] {
        var lines: [String] = []
        try await TraceSamples.run(
            ["trace", "cut", "a.pcapng", "-o", "@b.pcapng"] + arguments,
            on: ["a.pcapng": TraceSamples.bytes(items)]
        ) { code, out, error, directory in
            #expect(code == 0, "\(error)")
            #expect(out.contains("b.pcapng: "))
            lines = try Self.messages(directory.file("b.pcapng"))
        }
        return lines
    }

    static func messages(_ path: String) throws -> [String] {
        var files = TraceFiles([path])
        var decoding = TraceDecoding()
        var decoded: [TrafficEntry] = []
        var last = Int64.min
        while let entry = try files.nextEntry() {
            #expect(entry.time.nanoseconds >= last || entry.record != nil, "in order of time")
            last = entry.time.nanoseconds
            decoding.receive(entry, into: &decoded)
        }
        return decoded.compactMap { message in
            let app = message.app.map(\.description) ?? "-"
            switch message.content {
            case .rpc(let rpc): return "\(app) \(rpc.message.type) \(rpc.message.functionName)"
            case .control(let control): return "\(app) \(control.type.name)"
            case .event(.appConnected): return "\(app) connected"
            case .event(.appClosed): return "\(app) left"
            case .event(.linkOpened): return "link"
            default: return "\(app) \(message.content.kind)"
            }
        }
    }

    private static func beginning(_ app: String) -> [String] {
        [
            "\(app) connected", "\(app) StartService", "\(app) StartServiceACK",
            "\(app) request RegisterAppInterface", "\(app) response RegisterAppInterface",
        ]
    }
    private static let show1 = ["#1 request Show", "#1 response Show"]
    private static let show2 = ["#2 request Show", "#2 response Show"]

    @Test("by time: what is between, and before it the beginning of the apps that are in it")
    func time() async throws {
        let items = TwoApps.usual().items
        #expect(
            try await cut(items, "--from", "+15s", "--to", "+25s") == ["link"]
                + Self.beginning("#2")
                + Self.show2)
        #expect(
            try await cut(items, "--from", "+5s", "--to", "+15s") == ["link"] + Self.beginning("#1")
                + Self.show1)
        #expect(
            try await cut(items, "--to", "2026-11-23T10:00:05Z") == ["link"] + Self.beginning("#1")
                + Self.beginning("#2"))
        #expect(
            try await cut(items, "--from", "2026-11-23T10:00:25Z") == ["link"]
                + Self.beginning("#1")
                + Self.show1 + ["#1 left"])
    }

    @Test("a pipe is refused before anybody waits for it") func pipe() async throws {
        try await TemporaryDirectory.run { directory in
            let pipe = directory.file("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            for path in [pipe, "/dev/zero"] {
                let recorder = Recorder()
                let code = await RelayCtl.execute(
                    ["trace", "cut", path, "-o", directory.file("new")],
                    output: recorder.output())
                #expect(code == 3)
                #expect(
                    recorder.text(.error)
                        == "relayctl: \(path) is not a file, and a trace is cut in two "
                        + "readings: write it to a file first\n")
            }
        }
    }

    @Test("by app: all of it, whether named by name, ID or number") func app() async throws {
        let items = TwoApps.usual().items
        for name in ["Radio", "radio1", "#1"] {
            #expect(
                try await cut(items, "--app", name) == ["link"] + Self.beginning("#1") + Self.show1
                    + Self.show1 + ["#1 left"])
        }
        #expect(try await cut(items, "--app", "nobody") == ["link"])
    }

    @Test("by filter: the messages it accepts, a request with its answer, and the beginning")
    func filter() async throws {
        let items = TwoApps.usual().items
        #expect(
            try await cut(items, "result:REJECTED") == ["link"] + Self.beginning("#2") + Self.show2)
        #expect(
            try await cut(items, "param.mainField1=Three") == ["link"] + Self.beginning("#1")
                + Self.show1 + ["#1 left"])
        #expect(
            try await cut(items, "rpc:Show", "--app", "Map") == ["link"] + Self.beginning("#2")
                + Self.show2)
        #expect(
            try await cut(items, "--failed", "--from", "+15s") == ["link"] + Self.beginning("#2")
                + Self.show2)
    }

    @Test("with nothing left out the messages stay the same, frame by frame")
    func whole() async throws {
        for name in ["js-full-1", "js-killed-1"] {
            let items = try Capture.items(name)
            let shown = try await cut(items, "--from", "+0s")
            let filtered = try await cut(items, "bytes>=0 | !bytes>=0")
            var decoder = TrafficDecoder()
            var all: [TrafficEntry] = []
            for item in items { decoder.receive(item, into: &all) }
            #expect(shown.count >= all.count - 1 && shown.count <= all.count + 2)
            #expect(filtered.filter { !$0.contains("stream") }.count >= shown.count - 40)
        }
    }

    @Test("all frames of a message that is in several, and all of a stream's second")
    func several() async throws {
        let items = try Capture.items("js-full-1")
        let lines = try await cut(items, "rpc:PutFile")
        #expect(lines.contains("#1 request PutFile") && lines.contains("#1 response PutFile"))
        #expect(!lines.contains { $0.hasSuffix(" Show") || $0.hasSuffix("undecodable") })
        var talk = TwoApps.usual()
        for index in 0..<60 {
            talk.send(
                Frame(
                    version: 5, type: .single, service: .video, sessionID: 2, messageID: 7,
                    payload: ByteBuffer(repeating: 0, count: 100)), TwoApps.map, .fromApp,
                at: 41 + Double(index) * 0.04)
        }
        let video = try await cut(talk.items, "service:video")
        #expect(video.starts(with: ["link"] + Self.beginning("#2")))
        #expect(video.contains("#2 stream") && !video.contains { $0.hasSuffix(" Show") })
    }

    @Test("what relayd said in an app's place, and the answer to it, in several frames each")
    func driven() async throws {
        var talk = TwoApps.usual()
        func add(
            _ type: RPCType, _ json: String, _ direction: Direction, _ app: AppID?,
            _ fate: FrameFate, at seconds: Double
        ) {
            let whole = Frame.rpc(
                version: 5, sessionID: 2, messageID: 900, type: type,
                functionID: FunctionID.listFiles.rawValue, correlationID: 0x7000_0001, json: json)
            let frames = Frame.message(
                version: 5, sessionID: 2, messageID: 900, payload: whole.payload, limit: 13)
            for frame in frames {
                talk.add(
                    .frames([
                        TappedFrame(
                            frame: frame, direction: direction, app: app, time: TwoApps.at(seconds),
                            fate: fate)
                    ]))
            }
        }
        add(.request, #"{"x":1}"#, .fromApp, TwoApps.map, .byRelay, at: 42)
        add(
            .response, #"{"success":true,"resultCode":"SUCCESS"}"#, .fromAccessory, nil,
            .dropped(.answersRelay), at: 43)
        let lines = try await cut(talk.items, "rpc:ListFiles")
        #expect(
            lines == ["link"] + Self.beginning("#2")
                + ["#2 request ListFiles", "#2 response ListFiles"])
    }

    @Test("no file is overwritten, none is left behind, and nobody else can read it")
    func files() async throws {
        let bytes = try TraceSamples.bytes("js-killed-1")
        try await TraceSamples.run(
            ["trace", "cut", "a.pcapng", "-o", "b.pcapng"],
            on: ["a.pcapng": bytes, "b.pcapng": ByteBuffer(string: "mine")]
        ) { code, _, error, directory in
            #expect(
                code == 3
                    && error.contains("b.pcapng already exists, and relayctl overwrites nothing")
            )
            let mine = try String(contentsOfFile: directory.file("b.pcapng"), encoding: .utf8)
            #expect(mine == "mine")
        }
        try await TraceSamples.run(
            ["trace", "cut", "a.pcapng", "-o", "@b.pcapng"], on: ["a.pcapng": bytes]
        ) { _, _, _, directory in
            var status = stat()
            #expect(
                stat(directory.file("b.pcapng"), &status) == 0 && status.st_mode & 0o777 == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names.sorted() == ["a.pcapng", "b.pcapng"])
        }
        var damaged = bytes
        damaged.setInteger(UInt32(3), at: 4, endianness: .little)
        try await TraceSamples.run(
            ["trace", "cut", "a.pcapng", "-o", "@b.pcapng"], on: ["a.pcapng": damaged]
        ) { code, _, _, directory in
            #expect(code == 3)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names == ["a.pcapng"])
        }
        try await TraceSamples.run(
            ["trace", "cut", "a.pcapng", "-o", "@no/b.pcapng"], on: ["a.pcapng": bytes]
        ) { code, _, error, _ in
            #expect(code == 3 && error.contains("cannot be written: No such file or directory"))
        }
    }

    @Test("times that are none are refused with what was expected") func badTimes() async throws {
        for time in ["90s", "soon", "+", "25:00"] {
            try await TraceSamples.run(
                ["trace", "cut", "a", "-o", "b", "--from", time], on: [:]
            ) { code, _, error, _ in
                #expect(code == 64 && error.contains("--from is \"\(time)\"; expected a time"))
            }
        }
    }
}

extension TraceEntry {
    var record: TraceRecord? {
        if case .record(let record) = content { record } else { nil }
    }
}
