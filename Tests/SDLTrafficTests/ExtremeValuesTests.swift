// No value that a peer can send may crash the program that shows it: everything that reads or prints traffic,
// fed with extreme values of every kind.

import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct ExtremeValuesTests {
    /// Everything in relayd that observes entries.
    private struct Observers {
        let facts = SessionFacts()
        let advisor: TrafficAdvisor
        let statistics = TrafficStatistics()
        let ring = MessageRing(maximumBytes: 1 << 20)

        init() { advisor = TrafficAdvisor(facts: facts) }

        /// Shows `entries` in every format; each line is one line, and each object is JSON.
        func show(_ entries: [TrafficEntry]) throws {
            advisor.consume(entries)
            statistics.consume(entries)
            ring.consume(entries)
            for format in [TrafficFormat.text, .json] {
                var formatter = TrafficFormatter(
                    TrafficLog.Configuration(
                        format: format, hasColours: true, timeZone: .fixed(seconds: 0)))
                let controls = formatter.lines(entries).filter { line in
                    line.text.contains { $0 < 0x20 && $0 != 0x1B || $0 == 0x7F }
                }
                #expect(controls.isEmpty)
            }
            var buffer = ByteBuffer()
            var formatter = MessageFormatter(.both, timeZone: .fixed(seconds: 0))
            for entry in entries {
                let kept = ring.message(entry.number) ?? entry
                buffer.clear()
                formatter.append(kept, to: &buffer)
                try Self.checkJSON(Data(buffer.readableBytesView))
                _ = kept.validation
            }
            for app in [AppID(rawValue: 1), AppID(rawValue: 2)] {
                let known = facts.facts(of: app) ?? AppFacts()
                _ = PermissionVerdict("Show", of: known).reason
                _ = "\(known)"
                _ = advisor.advice(about: app).map(\.sentence)
            }
        }

        private static func checkJSON(_ data: Data) throws {
            #expect(
                throws: Never.self, "\(String(decoding: data.prefix(2000), as: UTF8.self))"
            ) { _ = try JSONSerialization.jsonObject(with: data) }
        }
    }

    /// Functions whose parameters are evaluated, not only shown: every value is tried with them.
    private static let observed: Set<FunctionID> = [
        .registerAppInterface, .putFile, .onHMIStatus, .onPermissionsChange, .show,
    ]

    @Test(
        "every RPC, both ways, with extreme values in every parameter",
        arguments: ExtremeValues.values.map(\.name))
    func everyRPC(name: String) async throws {
        let index = try #require(ExtremeValues.values.firstIndex { $0.name == name })
        let value = ExtremeValues.values[index].json
        let observers = Observers()
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        var (shown, tried) = (0, 0)
        for (number, function) in RPCCatalogue.builtIn.functions.enumerated()
        where Self.observed.contains(function.id) || Effort.tries(index, number, oneIn: 8) {
            tried += 1
            let correlationID = Int32(truncatingIfNeeded: number + 100)
            let bulk = number.isMultiple(of: 3) ? ByteBuffer(string: "bulk") : ByteBuffer()
            let texts: [(Direction, String)] = [
                (.fromApp, ExtremeValues.flat(function, value)),
                (.fromAccessory, ExtremeValues.flat(function, value)),
                (
                    function.type == .request ? .fromApp : .fromAccessory,
                    ExtremeValues.nested(function, value)
                ),
            ]
            for (direction, json) in texts {
                talk.rpc(direction, function.type, function.id, correlationID, json, bulk: bulk)
                talk.milliseconds += 1
            }
            if number.isMultiple(of: 20) { talk.registers() }
            if talk.entries.count - shown > 200 {
                try observers.show(Array(talk.entries[shown...]))
                shown = talk.entries.count
            }
            await Task.yield()
        }
        talk.silence(2_000_000)
        talk.receive(.linkClosed(reason: value, time: talk.time))
        try observers.show(Array(talk.entries[shown...]))
        #expect(talk.entries.count > tried * 3 && tried > 20)
    }

    @Test("every control frame, event and notice with extreme numbers and texts")
    func everythingElse() async throws {
        let observers = Observers()
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        let texts = [
            "", String(repeating: "\u{1F697}", count: 5000), "\0\u{1B}[2J\n", "a\u{202E}b",
        ]
        let values: [BSONValue] =
            [.int32(.min), .int32(.max), .int64(.min), .int64(.max), .double(.nan)]
            + [.double(.infinity), .double(1e308), .double(-0.0), .bool(true), .array([])]
            + [.document([:])] + texts.map { .string($0) }
        let keys = [
            "hashId", "mtu", "protocolVersion", "reason", "rejectedParams", "width", "height",
            "videoCodec", "videoProtocol", "secondaryTransports", "audioServiceTransports",
            "tcpIpAddress", "tcpPort", "make", "model", "systemSoftwareVersion", "authToken", "",
        ]
        let services = ServiceType.allCases
        for (index, value) in values.enumerated() {
            var document: BSONDocument = [:]
            for key in keys { document[key] = value }
            for type in ControlFrameType.allCases {
                for (number, service) in services.enumerated()
                where service == .rpc || Effort.tries(index, number, oneIn: 3) {
                    for direction in [Direction.fromApp, .fromAccessory] {
                        talk.control(direction, type, service, payload: document.bytes)
                    }
                }
                await Task.yield()
            }
        }
        for (number, seconds) in [
            (Int.min, -Double.infinity), (-1, -0.0), (0, 1e308), (.max, .infinity), (1, .nan),
        ] {
            talk.receive(.missed(frames: number, bytes: number))
            for app in [AppID(rawValue: 1), AppID(rawValue: .max), nil] {
                talk.receive(
                    .noticed(.stoppedSending(bytes: number, seconds: seconds), app, time: talk.time)
                )
                talk.receive(
                    .noticed(
                        .stoppedReading(queuedBytes: number, seconds: seconds), app, time: talk.time
                    )
                )
                talk.receive(.noticed(.heartbeatAnswered(seconds: seconds), app, time: talk.time))
                for message in Self.endedMessages(UInt32(truncatingIfNeeded: number)) {
                    talk.receive(.noticed(.messageEnded(message), app, time: talk.time))
                }
            }
        }
        for fate in Self.fates {
            for direction in [Direction.fromApp, .fromAccessory] {
                let frame = TappedFrame(
                    frame: .rpc(session: 1, .request, .show), direction: direction,
                    app: AppID(rawValue: .max), time: talk.time, fate: fate)
                talk.receive(.frames([frame]))
            }
        }
        for text in texts {
            talk.receive(.linkOpened(number: 1, address: text, time: talk.time))
            talk.receive(.appConnected(AppID(rawValue: 2), peer: text, time: talk.time))
            talk.receive(.appClosed(AppID(rawValue: 2), reason: text, time: talk.time))
        }
        try observers.show(talk.entries)
    }

    /// The possible fates of a frame, besides being forwarded.
    private static let fates: [FrameFate] =
        [.amended, .replaced, .byRelay]
        + [UInt8.min, .max].flatMap { session -> [DropReason] in
            [
                .notItsSession(session), .noSuchSession(session), .farewell(session),
                .sessionOver(session), .lateWords(session), .noLink, .secondaryTransport,
                .lateAnswer, .queueFull, .emptyMessage, .messageTooLarge, .frameTooLarge,
                .leftTooFast, .askerGone, .serviceOfRelay,
            ]
        }.map(FrameFate.dropped)

    /// Messages that relayd ended for every reason, with the same number everywhere.
    private static func endedMessages(_ number: UInt32) -> [EndedMessage] {
        let causes: [EndedMessage.Cause] = [
            .left, .ended, .restarted, .dropped, .encrypted, .paused, .expiring, .exceeding,
        ]
        return causes.flatMap { cause in
            [number, nil].map { functionID in
                EndedMessage(
                    cause: cause, messageID: number, functionID: functionID,
                    correlationID: Int32(bitPattern: number), service: .rpc, frames: number,
                    announcedFrames: number)
            }
        }
    }

    @Test(
        "a clock that says anything",
        arguments: [Int64.min, -1, 0, 9_000_000_000_000_000_000, Int64.max])
    func extremeTimes(nanoseconds: Int64) throws {
        let observers = Observers()
        var decoder = TrafficDecoder()
        var entries: [TrafficEntry] = []
        func says(_ frame: Frame, at time: WallTime) {
            decoder.receive(
                .frames([
                    TappedFrame(
                        frame: frame, direction: .fromApp, app: AppID(rawValue: 1), time: time)
                ]), into: &entries)
        }
        for time in [nanoseconds, 1_795_257_067_000_000_000, nanoseconds] {
            let time = WallTime(nanoseconds: time)
            says(.startService(), at: time)
            says(.rpc(session: 1, .request, .show, correlation: 5), at: time)
            says(.data(session: 1, service: .video, bytes: 10), at: time)
            _ = decoder.nextDeadline
            decoder.advance(to: time, into: &entries)
            decoder.clockWasSet(by: nanoseconds)
        }
        try observers.show(entries)
    }

    @Test("a size that fits no number of tenths is shown") func largestSize() throws {
        var talk = Dialogue()
        talk.starts()
        talk.response(
            .putFile, 5, #"{"success":true,"spaceAvailable":9223372036854775807}"#)
        #expect(talk.lastLine?.contains("8388608.0 TiB free") == true)
    }
}
