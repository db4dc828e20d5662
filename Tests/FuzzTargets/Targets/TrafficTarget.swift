// Fuzz target: everything that looks at traffic, from bytes to lines, facts and advice.

import ControlAPI
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

@testable import relayd

extension FuzzTarget {
    static let traffic = FuzzTarget(
        name: "traffic",
        about:
            "bytes of a head unit and of three apps through everything that decodes and shows them",
        promise:
            "text lines have no control characters, JSON lines are JSON, what is kept is bounded",
        isScript: true, words: { TrafficWords.all },
        seeds: { FuzzSeeds.dialogues(headUnit: 0, app: 1) },
        run: { bytes in
            var world = TrafficWorld()
            for step in FuzzScript(bytes) { try world.take(step) }
            try world.end()
        })
}

/// Names that peers use: those in the specification and those that relayd looks for.
enum TrafficWords {
    static let all: [String] = {
        let catalogue = RPCCatalogue.builtIn
        let parameters = catalogue.functions.flatMap(\.parameters)
        let used: Set<String> = Set(
            parameters.map { "\"\($0.name)\":" }
                + catalogue.structs.flatMap(\.parameters).map { "\"\($0.name)\":" })
        return used.sorted() + [
            "true", "false", "null", "\"SUCCESS\"", "\"GENERIC_ERROR\"", "\"DISALLOWED\"",
            "\"FULL\"", "\"BACKGROUND\"", "\"AUDIBLE\"", "\"GRAPHIC_PNG\"", "9223372036854775807",
            "-9223372036854775808", "1e309", "-0.0", "1.5", "{}", "[]", "\"\"", "\\u0000",
            "\\ud800",
            "\\u202e",
        ]
    }()
}

/// Everything a daemon does with traffic besides forwarding it.
private struct TrafficWorld {
    private static let apps = 3
    private static let ringBytes = 64 << 10

    private var link = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
    private var fromApps = (0..<apps).map { _ in Self.appDecoder() }
    private var decoder: TrafficDecoder
    private let facts = SessionFacts()
    private let advisor: TrafficAdvisor
    private let statistics = TrafficStatistics(since: start)
    private let ring = MessageRing(maximumBytes: ringBytes)
    private var text = TrafficFormatter(TrafficLog.Configuration(timeZone: .fixed(seconds: 3600)))
    private var colours = TrafficFormatter(
        TrafficLog.Configuration(hasColours: true, timeZone: .fixed(seconds: 0)))
    private var json = TrafficFormatter(TrafficLog.Configuration(format: .json))
    private var answers = MessageFormatter(.both, timeZone: .fixed(seconds: -3600))
    private var entries: [TrafficEntry] = []
    private var now = start

    private static let start = WallTime(nanoseconds: 1_795_257_067_000_000_000)

    private static func appDecoder() -> FrameDecoder {
        FrameDecoder(rules: .fromApp(), recovery: .fail)
    }

    init() {
        advisor = TrafficAdvisor(facts: facts)
        var limits = MessageAssembler.Limits()
        // A small limit, so that inputs reach it.
        limits.maximumMessageBytes = 4096
        limits.maximumKeptBytes = 8192
        limits.maximumUnfinished = 4
        decoder = TrafficDecoder(limits: limits)
        for app in 0..<Self.apps {
            see(.appConnected(Self.id(app), peer: "127.0.0.1:4000\(app)", time: now))
        }
    }

    private static func id(_ app: Int) -> AppID { AppID(rawValue: UInt64(app % apps + 1)) }

    private static func owner(of session: UInt8) -> AppID? {
        (1...apps).contains(Int(session)) ? AppID(rawValue: UInt64(session)) : nil
    }

    // MARK: Steps

    mutating func take(_ step: FuzzScript.Step) throws {
        var bytes = FuzzBytes(step.bytes)
        switch step.kind {
        case 0: fromHeadUnit(ByteBuffer(bytes: step.bytes))
        case 1: from(step.whom, ByteBuffer(bytes: step.bytes))
        case 2, 3, 4: for frame in Frame.made(of: &bytes) { fromHeadUnit(frame.wire) }
        case 5, 6, 7: for frame in Frame.made(of: &bytes) { from(step.whom, frame.wire) }
        case 8: pass(nanoseconds: Int64(bytes.number()) << Int64(step.whom))
        case 9: happen(step.whom, &bytes)
        case 10:
            let fates: [FrameFate] = [
                .amended, .byRelay, .dropped(.noLink), .dropped(.queueFull),
                .dropped(.notItsSession(bytes.byte())), .dropped(.noSuchSession(bytes.byte())),
                .dropped(.farewell(bytes.byte())), .dropped(.secondaryTransport),
                .dropped(.lateAnswer), .replaced, .dropped(.sessionOver(bytes.byte())),
                .dropped(.lateWords(bytes.byte())), .dropped(.emptyMessage),
                .dropped(.messageTooLarge), .dropped(.frameTooLarge), .dropped(.leftTooFast),
                .dropped(.askerGone),
            ]
            let fate = fates[step.whom % fates.count]
            for frame in Frame.made(of: &bytes) where Self.isValid(frame) {
                let app = Self.owner(of: frame.sessionID)
                see(frame, bytes.byte() & 1 == 0 ? .fromApp : .fromAccessory, app, fate)
            }
        case 11:
            let step = Int64(Int32(bitPattern: bytes.number())) << Int64(step.whom)
            decoder.clockWasSet(by: step)
            now.nanoseconds &+= step
        case 12:
            link.abandonPartialFrame()
            drainLink()
        default: notice(step.whom, &bytes)
        }
        try show()
    }

    private mutating func fromHeadUnit(_ bytes: ByteBuffer) {
        link.append(bytes)
        drainLink()
    }

    private mutating func drainLink() {
        // With resynchronisation, `next` does not throw.
        while let frame = try? link.next() {
            see(frame, .fromAccessory, Self.owner(of: frame.sessionID), .forwarded)
        }
        guard let report = link.takeGarbageReport() else { return }
        let notice = GarbageNotice(
            offset: report.offset, error: report.error,
            recognised: WrongProtocol(firstBytes: report.excerpt))
        see(.noticed(.garbage(notice), nil, time: now))
    }

    private mutating func from(_ whom: Int, _ bytes: ByteBuffer) {
        let app = whom % Self.apps
        fromApps[app].append(bytes)
        do {
            while let frame = try fromApps[app].next() {
                see(frame, .fromApp, Self.id(app), .forwarded)
            }
        } catch {
            fromApps[app] = Self.appDecoder()
            see(.appClosed(Self.id(app), reason: "\(error)", time: now))
            see(.appConnected(Self.id(app), peer: "127.0.0.1:4000\(app)", time: now))
        }
    }

    private static func isValid(_ frame: Frame) -> Bool {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        decoder.append(frame.wire)
        return (try? decoder.next()) != nil
    }

    private mutating func pass(nanoseconds: Int64) {
        now.nanoseconds &+= nanoseconds & (1 << 50 - 1)
        decoder.advance(to: now, into: &entries)
    }

    private mutating func happen(_ what: Int, _ bytes: inout FuzzBytes) {
        let app = Self.id(Int(bytes.byte()))
        switch what % 11 {
        case 0: see(.appConnected(app, peer: bytes.text(), time: now))
        case 1: see(.appClosed(app, reason: bytes.text(), time: now))
        case 2: see(.linkOpened(number: 1, address: bytes.text(), time: now))
        case 3: see(.linkClosed(reason: bytes.text(), time: now))
        case 4: see(.missed(frames: Int(bytes.number()), bytes: Int(bytes.number())))
        case 5: see(.session(.ended(bytes.byte()), app, time: now))
        case 6: see(.session(.startSent, app, time: now))
        case 7:
            let sent: WrongHash.Sent =
                bytes.byte() & 1 == 0 ? .hash(bytes.number()) : .type(bytes.text())
            let hash = WrongHash(sent: sent, expected: bytes.number())
            see(.session(.wrongHash(hash, session: bytes.byte()), app, time: now))
        case 8:
            let end = SessionEvent.serviceEnded(
                bytes.one(of: [.audio, .video]), session: bytes.byte())
            see(.session(end, app, time: now))
        case 9:
            let offer = SessionEvent.transportOffered(
                session: bytes.byte(), isPassedOn: bytes.byte() & 1 == 0)
            see(.session(offer, app, time: now))
        default: link.expected.sessions.insert(bytes.byte())
        }
    }

    private mutating func notice(_ what: Int, _ bytes: inout FuzzBytes) {
        let app = bytes.byte() & 1 == 0 ? nil : Self.id(what)
        let count = Int(bytes.number())
        let notice: RelayNotice =
            switch what % 7 {
            case 0: .stoppedSending(bytes: count, seconds: Double(bytes.byte()))
            case 1: .stoppedReading(queuedBytes: count, seconds: Double(bytes.byte()) / 2)
            case 2: .stoppedReading(queuedBytes: count, seconds: nil)
            case 3: .fellBehind(queuedBytes: count)
            case 4: .paced(framesPerSecond: count)
            case 5: .messageEnded(Self.endedMessage(&bytes, announcedFrames: UInt32(count)))
            default: .heartbeatAnswered(seconds: Double(bytes.byte()) / 2)
            }
        see(.noticed(notice, app, time: now))
    }

    private static func endedMessage(
        _ bytes: inout FuzzBytes, announcedFrames: UInt32
    ) -> EndedMessage {
        let isKnown = bytes.byte() & 1 == 1
        return EndedMessage(
            cause: bytes.one(of: [
                .left, .ended, .restarted, .dropped, .encrypted, .paused, .expiring, .exceeding,
            ]),
            messageID: bytes.number(), functionID: isKnown ? bytes.number() : nil,
            correlationID: isKnown ? Int32(bitPattern: bytes.number()) : nil,
            service: bytes.one(of: ServiceType.allCases), frames: bytes.number(),
            announcedFrames: announcedFrames)
    }

    // MARK: Seeing and showing

    private mutating func see(
        _ frame: Frame, _ direction: Direction, _ app: AppID?, _ fate: FrameFate
    ) {
        now.nanoseconds &+= 1_000_000
        see(
            .frames([.seen(frame, direction, app: app, time: now, fate: fate)]))
    }

    private mutating func see(_ item: TapItem) {
        decoder.receive(item, into: &entries)
    }

    private mutating func show() throws {
        guard !entries.isEmpty else { return }
        defer { entries.removeAll(keepingCapacity: true) }
        advisor.consume(entries)
        statistics.consume(entries)
        ring.consume(entries)
        for line in text.lines(entries) {
            try Self.checkText(line.text, mayHaveColours: false)
            for (key, value) in line.journalFields {
                try ensure(
                    !value.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "field \(key): \(value)")
            }
        }
        for line in colours.lines(entries) { try Self.checkText(line.text, mayHaveColours: true) }
        for line in json.lines(entries) { try Self.checkJSON(ByteBuffer(bytes: line.text)) }
        var look = LookBack(ring, entries.count, matching: .everything)
        while look.step() {}
        let reading = look.reading
        for entry in reading.entries {
            var line = ByteBuffer()
            answers.append(entry, to: &line)
            try Self.checkJSON(line)
        }
        _ = decoder.nextDeadline
    }

    private static func checkText(_ line: [UInt8], mayHaveColours: Bool) throws {
        let hasControls = line.contains {
            ($0 < 0x20 || $0 == 0x7F) && !(mayHaveColours && $0 == 0x1B)
        }
        try ensure(!hasControls, "a control character in \(line.debugText)")
        try ensure(String(validating: line, as: UTF8.self) != nil, "no UTF-8: \(line.debugText)")
    }

    private static func checkJSON(_ line: ByteBuffer) throws {
        do {
            _ = try JSONObject(line)
        } catch {
            throw BrokenPromise("no JSON, \(error): \(String(buffer: line).debugDescription)")
        }
        try ensure(!line.readableBytesView.contains { $0 < 0x20 }, "a JSON line is not one line")
    }

    // MARK: The end

    /// Builds the answers that the control API would give now.
    func end() throws {
        let usage = ring.usage
        try ensure(usage.bytes <= Self.ringBytes, "the ring keeps \(usage.bytes) bytes")
        let recent = advisor.recent()
        try ensure(recent.count <= TrafficAdvisor.keptTogether, "\(recent.count) pieces of advice")
        try ensure(link.partialBytes <= link.rules.maximumPayloadBytes + 12, "a partial frame")
        _ = facts.headUnit()
        _ = statistics.current
        for (id, known) in facts.facts() {
            let number = Int(id.rawValue)
            let app = AppStatus(
                id: number, peer: "", connectedAt: Timestamp(millisecondsSince1970: 0),
                state: .registered)
            let report = AppReport(
                app: app, facts: known, now: now, advice: advisor.advice(about: id))
            // Encoding is slow, and has few ways to fail.
            if number == 1 { _ = try APICoding.encodeLine(report) }
        }
    }
}

extension [UInt8] {
    fileprivate var debugText: String { String(decoding: self, as: UTF8.self).debugDescription }
}
