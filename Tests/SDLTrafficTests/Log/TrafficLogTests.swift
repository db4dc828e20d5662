import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Synchronization
import Testing

@Suite struct TrafficLogTests {
    @Test("an RPC is one line: time, app, direction, kind, function, result, size, latency")
    func rpcLines() {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.milliseconds = 140
        talk.notification(
            .onHMIStatus,
            #"{"hmiLevel":"NONE","audioStreamingState":"NOT_AUDIBLE","systemContext":"MAIN"}"#)
        talk.milliseconds = 1000
        talk.request(.addCommand, 12, #"{"cmdID":7,"menuParams":{"menuName":"Play"}}"#)
        talk.milliseconds = 1003
        talk.response(
            .addCommand, 12,
            #"{"success":false,"resultCode":"DISALLOWED","info":"not in\u000athis level"}"#)
        talk.request(.getVehicleData, 13, #"{"speed":true}"#)
        talk.milliseconds = 3503
        talk.response(.genericResponse, 13, #"{"success":true,"resultCode":"WARNINGS","info":"?"}"#)
        let expected = """
            10:31:07.000  #1                →  control   StartService rpc
            10:31:07.000  #1                ←  control   StartServiceACK rpc          \
            session 1  protocol 5.4.0  hash 0x00010005  mtu 131072  Bench Sim  88 B
            10:31:07.000  Relay Test        →  request   RegisterAppInterface #1      \
            "Relay Test" appID relay-test RPC 8.0.0  93 B
            10:31:07.000  Relay Test        ←  response  RegisterAppInterface #1      \
            SUCCESS  RPC 7.1.0 Ford Focus 2019  202 B  0.0 ms
            10:31:07.140  Relay Test        ←  notify    OnHMIStatus                  \
            NONE NOT_AUDIBLE MAIN  90 B
            10:31:08.000  Relay Test        →  request   AddCommand #12               \
            7 "Play"  56 B
            10:31:08.003  Relay Test        ←  response  AddCommand #12               \
            DISALLOWED!  "not in this level"  87 B  3 ms
            10:31:08.003  Relay Test        →  request   GetVehicleData #13           \
            speed  26 B
            10:31:10.503  Relay Test        ←  response  GenericResponse #13          \
            WARNINGS  "?"  to GetVehicleData  63 B  2500 ms slow
            """
        for (line, expected) in zip(talk.lines().dropFirst(2), expected.split(separator: "\n")) {
            #expect(line == expected)
        }
        #expect(talk.lines().count == 11)
    }

    @Test("a StartService that waits in relayd says so, to people and to programs")
    func waitsForTurn() throws {
        for isWaiting in [true, false] {
            var talk = Dialogue()
            talk.app = AppID(rawValue: 2)
            talk.receive(
                .frames([
                    TappedFrame(
                        frame: .startService(), direction: .fromApp, app: talk.app, time: talk.time,
                        isWaiting: isWaiting)
                ]))
            let json = talk.lines(TrafficLog.Configuration(format: .json)).last
            #expect(talk.lastLine?.contains("waits for its turn") == isWaiting)
            #expect(json?.contains(#""waits_for_turn":true"#) == isWaiting)
        }
    }

    @Test("control frames say what they ask for, grant and refuse")
    func controlLines() {
        var talk = Dialogue()
        let wanted: BSONDocument = [
            "height": .int32(480), "width": .int32(800), "videoProtocol": .string("RAW"),
            "videoCodec": .string("H264"),
        ]
        talk.control(.fromApp, .startService, .video, payload: wanted.bytes)
        #expect(
            talk.lastLine?.contains("StartService video           session 1  800×480  H264 RAW")
                == true)
        let refused: BSONDocument = [
            "rejectedParams": .array([.string("videoCodec")]),
            "reason": .string("codec not\u{1B}[2J supported"),
        ]
        talk.control(.fromAccessory, .startServiceNAK, .video, payload: refused.bytes)
        #expect(
            talk.lastLine?.contains(
                "StartServiceNAK! video       session 1  \"codec not[2J supported\"  "
                    + "rejects [videoCodec]  ") == true)
        #expect(talk.entries.last?.priority == .warning)
        talk.control(
            .fromApp, .endService, version: 4, payload: ByteBuffer(bytes: [0, 1, 0, 5]))
        #expect(
            talk.lastLine?.hasSuffix("EndService rpc               session 1  hash 0x00010005  4 B")
                == true)
        talk.control(.fromApp, .endService, payload: ByteBuffer(bytes: [1, 2, 3, 4, 5, 6]))
        #expect(talk.lastLine?.contains("unreadable payload [01 02 03 04 05 06]") == true)
        let token: BSONDocument = ["authToken": .string("secret"), "hashId": .int64(1)]
        talk.control(.fromAccessory, .startServiceACK, payload: token.bytes)
        #expect(talk.lastLine?.contains("secret") == false)
        #expect(talk.lastLine?.contains("hash 1, not an int32") == true)
        #expect(
            talk.lines(TrafficLog.Configuration(format: .json)).last?.contains(
                #""payload":{"authToken":"…","hashId":1}"#) == true)
        talk.control(.fromAccessory, .heartbeat, .control)
        #expect(talk.entries.last?.priority == .debug)
    }

    @Test(
        "results have the colours of the RPC Builder console",
        arguments: [
            ("SUCCESS", true, "32"), ("WARNINGS", true, "33"), ("WRONG_LANGUAGE", true, "33"),
            ("ABORTED", false, "33"), ("TIMED_OUT", false, "33"), ("REJECTED", false, "1;31"),
            ("DISALLOWED", false, "1;31"), ("GENERIC_ERROR", false, "1;31"),
        ])
    func colours(resultCode: String, success: Bool, colour: String) {
        var talk = Dialogue()
        talk.request(.alert, 1)
        talk.response(.alert, 1, #"{"success":\#(success),"resultCode":"\#(resultCode)"}"#)
        talk.notification(.onHMIStatus, "{}")
        let lines = talk.lines(
            TrafficLog.Configuration(hasColours: true, timeZone: .fixed(seconds: 0)))
        #expect(lines[0].contains("\u{1B}[34mrequest \u{1B}[0m"))
        #expect(lines[1].contains("\u{1B}[\(colour)mresponse\u{1B}[0m"))
        let mark = success ? "" : "!"
        #expect(lines[1].contains("\u{1B}[\(colour)m\(resultCode)\(mark)\u{1B}[0m"))
        #expect(lines[2].contains("\u{1B}[36mnotify  \u{1B}[0m"))
        #expect(!talk.lines().contains { $0.contains("\u{1B}") })
    }

    @Test(
        "the arrow stands in one column, whatever an app is called",
        arguments: [
            "Bench Navigation", "Bench Navigation2", "Radio Südwest – das Programm",
            "地図アプリケーション", "한국어 라디오 방송국", #"e\u0301e\u0301\u0302"#, "👩‍🚀🚀🇩🇪 Space",
            "क्षि रेडियो", #"\u202eMaps\u001b[31m"#, #"a\tb\nc\r"#, "ﾗｼﾞｵ", "",
        ])
    func appColumn(name: String) throws {
        func line(_ name: String) throws -> String {
            var talk = Dialogue()
            talk.opens()
            talk.request(.registerAppInterface, 1, #"{"appName":"\#(name)","appID":"x"}"#)
            return try #require(talk.lastLine)
        }
        func start(_ line: String) throws -> Int {
            let arrow = try #require(line.firstIndex(of: "→"))
            return String(line[..<arrow]).terminalColumns
        }
        let found = try line(name)
        #expect(try start(found) == start(line("A")), "\(found)")
    }

    @Test("nothing a peer sends reaches a terminal as a control character")
    func stripsControlCharacters() {
        var talk = Dialogue()
        talk.opens()
        talk.registers(name: #"A\u001b]0;x\u0007"#)
        talk.request(.show, 2, #"{"mainField1":"\u001b[31m\u009b1m\nred"}"#)
        talk.response(.show, 2, #"{"success":false,"resultCode":"X\u001b","info":"\u0008y"}"#)
        talk.receive(.linkClosed(reason: "gone\u{1B}", time: talk.time))
        for format in TrafficFormat.allCases {
            for line in talk.lines(TrafficLog.Configuration(format: format)) {
                #expect(!line.unicodeScalars.contains { !PrintableText.isPrintable($0) })
            }
        }
    }

    @Test("a JSON line tells everything, bulk data only by its size")
    func jsonLine() throws {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.milliseconds = 500
        talk.rpc(
            .fromApp, .request, .putFile, 9, "{ \"syncFileName\" : \"a\\u0022b\",\n\"offset\":0 }",
            bulk: ByteBuffer(bytes: [1, 2, 3]))
        talk.milliseconds = 508
        talk.response(.putFile, 9, #"{"success":true,"resultCode":"SUCCESS","info":"ok"}"#)
        let lines = talk.lines(TrafficLog.Configuration(format: .json))
        let request = """
            {"n":7,"time":"2026-11-21T10:31:07.500000Z","kind":"request","priority":"info",\
            "level":"info","app":"#1","app_name":"Relay Test","app_id":"relay-test","session":1,"service":"bulk",\
            "from":"app","bytes":58,"function":"PutFile","function_id":32,"correlation_id":9,\
            "bulk_bytes":3,"params":{"syncFileName":"a\\u0022b","offset":0},\
            "message":"Relay Test → request PutFile #9 \\"a\\"b\\" bulk 3 B 58 B"}
            """
        #expect(lines[lines.count - 2] == request)
        let response = """
            "success":true,"result_code":"SUCCESS","info":"ok","latency_ms":8.000,"request":7
            """
        #expect(lines.last?.contains(response) == true)
        for line in lines {
            _ = try JSONSerialization.jsonObject(with: Data(line.utf8))
        }
    }

    @Test("a JSON line says in words what the text log says, for collectors that show a message")
    func messages() throws {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.notification(.onPermissionsChange, #"{"permissionItem":[{"rpcName":"\"\\\u0007"}]}"#)
        let zone = LogTimeZone.fixed(seconds: 0)
        let words = talk.lines(TrafficLog.Configuration(timeZone: zone)).map { line in
            let untimed = line.drop { $0 != " " }.split(separator: " ")
            return untimed.joined(separator: " ")
        }
        let lines = talk.lines(TrafficLog.Configuration(format: .json, timeZone: zone))
        let objects = try lines.map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(objects.map { $0["message"] as? String } == words)
        #expect(
            words.last == "Relay Test ← notify OnPermissionsChange 1 permission 57 B")
        for object in objects {
            #expect(object["level"] as? String == object["priority"] as? String)
        }
    }

    @Test("a JSON line leaves out parameters that would make it longer than collectors take")
    func longJSONLine() throws {
        var talk = Dialogue()
        for count in [14_000, 15_000] {
            let text = String(repeating: "x", count: count)
            talk.notification(.onPermissionsChange, #"{"permissionItem":[{"rpcName":"\#(text)"}]}"#)
        }
        let lines = talk.lines(TrafficLog.Configuration(format: .json))
        #expect(lines.map { $0.utf8.count < 16 << 10 } == [true, true])
        #expect(lines.map { $0.contains(#""params":{"permissionItem""#) } == [true, false])
        #expect(lines.map { $0.contains(#""params_truncated":true"#) } == [false, true])
    }

    @Test("the journal gets fields to search by")
    func journalFields() throws {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        var formatter = TrafficFormatter(TrafficLog.Configuration())
        let line = try #require(formatter.lines(talk.entries).last)
        #expect(
            line.journalFields == [
                "SDL_NUMBER": "6", "SDL_KIND": "response", "SDL_APP": "Relay Test",
                "SDL_APP_ID": "relay-test", "SDL_CONNECTION": "#1", "SDL_SESSION": "1",
                "SDL_SERVICE": "rpc", "SDL_FROM": "accessory", "SDL_BYTES": "202",
                "SDL_FUNCTION": "RegisterAppInterface", "SDL_CORRELATION_ID": "1",
                "SDL_RESULT": "SUCCESS", "SDL_SUCCESS": "1", "SDL_LATENCY_MS": "0",
            ])
    }

    @Test("observer, log and facts share one decoding pass; lines arrive in batches, in order")
    func observerFeedsLog() async throws {
        let batches = Mutex<[[String]]>([])
        let log = TrafficLog(
            configuration: TrafficLog.Configuration(timeZone: .fixed(seconds: 0))
        ) { lines in
            batches.withLock { batches in
                batches.append(lines.map { String(decoding: $0.text, as: UTF8.self) })
            }
        }
        let facts = SessionFacts()
        let observer = TrafficObserver(consumers: [log, facts])
        let items = try Capture.items("js-full-1")
        await observer.observe(Array(items.prefix(4)))
        await observer.observe(Array(items.dropFirst(4)))
        #expect(batches.withLock { $0.count } == 2)
        #expect(
            batches.withLock { $0.flatMap(\.self) }
                == (try Capture.lines(
                    "js-full-1", TrafficLog.Configuration(timeZone: .fixed(seconds: 0)))))
        #expect(facts.facts().isEmpty)
        await log.reconfigure(
            TrafficLog.Configuration(filter: try TrafficFilter(minimumPriority: .error)))
        await observer.observe(items)
        #expect(batches.withLock { $0.count } == 2)
    }

    @Test(
        "UTC times are right across leap days and ends of years",
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199_999_999_000, "2024-02-29T23:59:59.999999Z"),
            (1_735_689_599_123_456_000, "2024-12-31T23:59:59.123456Z"),
            (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000Z"),
            (-1_000, "1969-12-31T23:59:59.999999Z"),
            (Int64.min, "1677-09-21T00:12:43.145224Z"),
            (Int64.max, "2262-04-11T23:47:16.854775Z"),
        ])
    func utcTimes(nanoseconds: Int64, text: String) {
        var decoder = TrafficDecoder()
        var entries: [TrafficEntry] = []
        decoder.receive(
            .linkOpened(number: 1, address: "sim:", time: WallTime(nanoseconds: nanoseconds)),
            into: &entries)
        var formatter = TrafficFormatter(TrafficLog.Configuration(format: .json))
        let line = formatter.lines(entries).first.map { String(decoding: $0.text, as: UTF8.self) }
        #expect(line?.contains(text) == true)
    }

    @Test("local time follows the machine's zone")
    func localTimes() throws {
        var talk = Dialogue()
        talk.request(.show, 1)
        let seconds = TimeZone.current.secondsFromGMT(
            for: Date(timeIntervalSince1970: Double(talk.time.nanoseconds / 1_000_000_000)))
        #expect(
            talk.lines(TrafficLog.Configuration(timeZone: .local))
                == talk.lines(TrafficLog.Configuration(timeZone: .fixed(seconds: seconds))))
        #expect(
            talk.lines(TrafficLog.Configuration(timeZone: .fixed(seconds: 19_800)))
                .first?.hasPrefix("16:01:07.000") == true)
    }
}
