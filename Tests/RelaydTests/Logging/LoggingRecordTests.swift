import ControlAPI
import Foundation
import Logging
import RelayCore
import SDLTraffic
import Testing

@testable import relayd

// How one of relayd's own messages appears on a terminal, as JSON and in the journal.

@Suite("Log records")
struct LoggingRecordTests {
    private static let time = WallTime(nanoseconds: 1_795_257_067_123_456_789)

    private static func record(
        _ message: String = "opened", metadata: Logger.Metadata = [:],
        level: Logger.Level = .warning
    ) -> LogRecord {
        LogRecord(time: time, level: level, label: "link", message: message, metadata: metadata)
    }

    @Test("times are written as RFC 3339 and as a clock")
    func times() {
        #expect(Self.time.rfc3339 == "2026-11-21T10:31:07.123456Z")
        #expect(WallTime(nanoseconds: 999).rfc3339 == "1970-01-01T00:00:00.000000Z")
        // The hour depends on the machine's time zone, the rest does not.
        #expect(Self.time.clock.count == 12)
        #expect(Self.time.clock.hasSuffix(":07.123"))
    }

    @Test("text names time, level, part, message and values")
    func text() {
        let record = Self.record(metadata: ["link": "1", "accessory": "sim:"])
        #expect(
            record.text(color: false).hasSuffix(" warning link: opened (accessory=sim: link=1)"))
        #expect(!record.text(color: false).contains("\u{1B}"))
        #expect(record.text(color: true).contains("\u{1B}[33mwarning\u{1B}[0m link: opened"))
    }

    @Test("what a peer sent can neither forge a line nor command the terminal")
    func controlCharacters() {
        let record = Self.record(metadata: ["app": "a\nerror: b\u{1B}[2J\u{202E}\u{9B}"])
        #expect(
            record.text(color: false).hasSuffix(
                #"(app=a\nerror: b\u{1b}[2J\u{202e}\u{9b})"#))
    }

    @Test("JSON is one line that a parser takes")
    func json() throws {
        let record = Self.record(
            "said \"hi\"\n\u{1}\\ Grüße", metadata: ["app": "M", "list": ["a", ["k": "v"]]])
        #expect(
            record.json
                == #"{"time":"2026-11-21T10:31:07.123456Z","kind":"log","priority":"warning","#
                + #""level":"warning","logger":"link","#
                + #""message":"said \"hi\"\u000A\u0001\\ Grüße","metadata":{"app":"M","#
                + #""list":["a",{"k":"v"}]}}"#)
        let object =
            try JSONSerialization.jsonObject(with: Data(record.json.utf8)) as? [String: Any]
        #expect(object?["message"] as? String == "said \"hi\"\n\u{1}\\ Grüße")
    }

    @Test("advice is the object of the control API; app and session have the names of messages")
    func schema() throws {
        let advice = Self.record(
            "Music: x → y; more: relayctl explain putfile_crc",
            metadata: [
                LogRecord.adviceCode: "putfile_crc", LogRecord.adviceSentence: "Music: x",
                LogRecord.adviceRemedy: "y", LogRecord.appName: "Music", "app": "#1",
                "session": "3", "entry": "7",
            ])
        #expect(
            advice.json == """
                {"time":"2026-11-21T10:31:07.123456Z","kind":"advice","priority":"warning",\
                "level":"warning","app":"#1","app_name":"Music","session":3,"logger":"link",\
                "message":"Music: x","code":"putfile_crc","remedy":"y","count":1,"entry":7}
                """)
        let note = AdviceNote(
            AdviceReport(
                code: "putfile_crc", at: Timestamp(millisecondsSince1970: 0),
                lastAt: Timestamp(millisecondsSince1970: 1_795_257_067_123), app: 1,
                appName: "Music", session: 3, text: "x", remedy: "y", entry: 7))
        func keys(_ json: some DataProtocol) throws -> Set<String> {
            let object = try JSONSerialization.jsonObject(with: Data(json))
            return Set(try #require(object as? [String: Any]).keys)
        }
        #expect(
            try keys(Array(advice.json.utf8))
                == keys(APICoding.encodeLine(note)).union(["logger"]))
        let text = advice.text(color: false)
        #expect(text.contains("app=#1") && !text.contains("app_name"))
        #expect(
            Self.record(metadata: ["app": "-", "session": "4"]).json.hasSuffix(
                #""session":4,"logger":"link","message":"opened","metadata":{"app":"-"}}"#))
    }

    @Test("the journal gets every value as a field of its own")
    func journal() {
        var record = Self.record(metadata: ["app": "Music", "hmi-level": "FULL"])
        record.file = "relayd/Daemon.swift"
        record.line = 7
        record.function = "run()"
        let entry = JournalEntry(
            message: record.sentence, priority: SyslogPriority(record.level),
            fields: record.journalFields)
        #expect(
            entry.assignments == [
                "MESSAGE=link: opened (app=Music hmi-level=FULL)",
                "PRIORITY=4",
                "CODE_FILE=relayd/Daemon.swift",
                "CODE_FUNC=run()",
                "CODE_LINE=7",
                "RELAYD_HMI_LEVEL=FULL",
                "RELAYD_LOGGER=link",
                "SDL_CONNECTION=Music",
            ])
    }

    @Test("levels become the severities of syslog")
    func priorities() {
        #expect(
            Logger.Level.allCases.map { SyslogPriority($0).rawValue } == [7, 7, 6, 5, 4, 3, 2])
    }

    @Test("field names are what journald takes, whatever the key")
    func fieldNames() {
        #expect(JournalEntry.fieldName("correlationID") == "RELAYD_CORRELATIONID")
        #expect(JournalEntry.fieldName("é=\n") == "RELAYD_____")
        #expect(JournalEntry.fieldName(String(repeating: "x", count: 99)).count == 64)
    }

    @Test("a logger of swift-log writes through the handler, with all its metadata")
    func handler() async {
        let received = Collected<JournalEntry>()
        let writer = LineWriter(.journal(send: { received.add($0) }))
        var handler = WriterLogHandler(
            label: "hub", format: .text(color: true), threshold: LogThreshold(.info), writer: writer
        )
        handler.metadataProvider = Logger.MetadataProvider { ["session": "3"] }
        var logger = Logger(label: "hub", factory: { _ in handler })
        logger[metadataKey: "app"] = "#1"
        logger.debug("below the level")
        logger.error("closed", metadata: ["reason": "slow"])
        await writer.flush(within: .seconds(30))
        let entries = received.values
        #expect(entries.map(\.message) == ["hub: closed (app=#1 reason=slow session=3)"])
        #expect(entries.first?.priority == .error)
        #expect(entries.first?.fields["RELAYD_REASON"] == "slow")
        #expect(entries.first?.fields["SDL_SESSION"] == "3")
    }
}
