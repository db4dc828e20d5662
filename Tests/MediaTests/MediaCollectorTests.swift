import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import Media

/// Files as the events make them.
struct Shelf {
    private var collector: MediaCollector
    private var decoder = TrafficDecoder()
    private var seconds = 0.0
    private var message: UInt32 = 0
    private var open: [MediaID: [UInt8]] = [:]
    private(set) var files: [(item: MediaItem, bytes: [UInt8], summary: MediaSummary)] = []
    /// Pictures that a decoder may begin with, with all that it needs.
    private(set) var entries: [[UInt8]] = []
    private(set) var left: [(item: MediaItem, summary: MediaSummary)] = []

    static let app = AppID(rawValue: 1)

    init(_ collector: MediaCollector = MediaCollector()) {
        self.collector = collector
    }

    var heldBytes: Int { collector.heldBytes }

    var isBulkMasked: Bool {
        get { collector.isBulkMasked }
        set { collector.isBulkMasked = newValue }
    }

    private mutating func now() -> WallTime {
        seconds += 0.1
        return WallTime(nanoseconds: 1_795_428_000_000_000_000 + Int64(seconds * 1e9))
    }

    mutating func send(
        _ frame: Frame, _ direction: Direction = .fromApp, app: AppID = Shelf.app,
        fate: FrameFate = .forwarded, omitted: Int = 0, grant: GrantMeaning? = nil
    ) {
        let tapped = TappedFrame(
            frame: frame, direction: direction, app: app, time: now(), fate: fate, grant: grant)
        take(.frames([tapped]))
        collector.receive(tapped, omitted: omitted)
        write()
    }

    mutating func take(_ item: TapItem) {
        var entries: [TrafficEntry] = []
        decoder.receive(item, into: &entries)
        for entry in entries { collector.receive(entry) }
        write()
    }

    mutating func leave() {
        take(.appClosed(Self.app, reason: "gone", time: now()))
    }

    mutating func finish() {
        var entries: [TrafficEntry] = []
        decoder.finish(into: &entries)
        for entry in entries { collector.receive(entry) }
        collector.finish()
        write()
        #expect(open.isEmpty, "everything that began has ended")
    }

    private mutating func write() {
        for event in collector.takeEvents() {
            switch event {
            case .began(let id, _):
                #expect(open[id] == nil)
                open[id] = []
            case .entry(let id, let bytes):
                #expect(open[id] != nil)
                entries.append(bytes.array)
            case .bytes(let id, let bytes, let place):
                var file = open[id] ?? []
                let end = place + bytes.readableBytes
                if file.count < end { file += [UInt8](repeating: 0, count: end - file.count) }
                file.replaceSubrange(place..<end, with: bytes.array)
                open[id] = file
            case .ended(let id?, let item, let summary):
                let bytes = open.removeValue(forKey: id) ?? []
                #expect(bytes.count == summary.bytes)
                files.append((item, bytes, summary))
            case .ended(nil, let item, let summary): left.append((item, summary))
            }
        }
    }

    // MARK: What apps and head units say

    mutating func register(
        _ name: String = "Navigation", session: UInt8 = 1, capabilities: String = ""
    ) {
        send(.startService())
        send(.startServiceACK(session: session), .fromAccessory, grant: .opens)
        rpc(.request, .registerAppInterface, 1, #"{"appName":"\#(name)"}"#, session: session)
        rpc(
            .response, .registerAppInterface, 1,
            #"{"success":true,"resultCode":"SUCCESS"\#(capabilities)}"#, .fromAccessory,
            session: session)
    }

    mutating func rpc(
        _ type: RPCType, _ function: FunctionID, _ correlation: Int32, _ json: String = "{}",
        _ direction: Direction = .fromApp, bulk: [UInt8] = [], session: UInt8 = 1
    ) {
        message += 1
        send(
            .rpc(
                version: 5, service: bulk.isEmpty ? .rpc : .bulk, sessionID: session,
                messageID: message, type: type, functionID: function.rawValue,
                correlationID: correlation, json: json, bulk: ByteBuffer(bytes: bulk)), direction)
    }

    mutating func put(
        _ name: String, _ bytes: [UInt8], _ correlation: Int32, session: UInt8 = 1
    ) {
        put(name, "", bytes, correlation, session: session)
    }

    mutating func put(
        _ name: String, _ more: String, _ bytes: [UInt8], _ correlation: Int32,
        answer: String? = "SUCCESS", session: UInt8 = 1
    ) {
        rpc(
            .request, .putFile, correlation,
            #"{"syncFileName":"\#(name)","fileType":"BINARY"\#(more)}"#, bulk: bytes,
            session: session)
        guard let answer else { return }
        rpc(
            .response, .putFile, correlation,
            #"{"success":\#(answer == "SUCCESS"),"resultCode":"\#(answer)"}"#, .fromAccessory,
            session: session)
    }

    mutating func startVideo(_ transport: String? = nil, codec: String = "H264") {
        var document = BSONDocument()
        if let transport {
            document[ControlKey.videoProtocol] = .string(transport)
            document[ControlKey.videoCodec] = .string(codec)
            document[ControlKey.width] = .int32(800)
            document[ControlKey.height] = .int32(480)
        }
        let payload = transport == nil ? ByteBuffer() : document.bytes
        send(.control(.startService, service: .video, session: 1, payload: payload))
        send(.control(.startServiceACK, service: .video, session: 1), .fromAccessory)
    }

    mutating func stream(
        _ bytes: [UInt8], _ service: ServiceType = .video, isEncrypted: Bool = false,
        omitted: Int = 0
    ) {
        message += 1
        send(
            Frame(
                version: 5, isEncrypted: isEncrypted, type: .single, service: service,
                sessionID: 1, messageID: message, payload: ByteBuffer(bytes: bytes)),
            omitted: omitted)
    }
}

@Suite("Pictures, sound and files out of the traffic") struct MediaCollectorTests {
    private static let pictures = [
        Units.annexB([Units.sequence, Units.picture, Units.key(1)]),
        Units.annexB([Units.other(1)]), Units.annexB([Units.other(2)]),
    ]

    @Test("a video service becomes a file with the very bytes")
    func video() throws {
        var shelf = Shelf()
        shelf.register()
        shelf.startVideo("RAW")
        for picture in Self.pictures { shelf.stream(picture) }
        shelf.send(.control(.endService, service: .video, session: 1))
        let file = try #require(shelf.files.first)
        #expect(file.bytes == Self.pictures.flatMap { $0 })
        #expect(file.item.fileName == "Navigation-video.h264")
        #expect(file.item.format == "H264 RAW 800×480")
        #expect(file.summary.pictures == 3 && file.summary.keyPictures == 1)
        #expect(file.summary.problems == [])
        // The next start is another file.
        shelf.startVideo("RAW")
        for picture in Self.pictures { shelf.stream(picture) }
        shelf.leave()
        #expect(shelf.files.count == 2)
        shelf.finish()
    }

    @Test("messages of several frames are put together; what was not passed on is not in it")
    func frames() throws {
        var shelf = Shelf()
        shelf.register()
        shelf.startVideo("RAW")
        let bytes = Self.pictures.flatMap { $0 }
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(bytes.count))
        announcement.writeInteger(UInt32(2))
        func frame(_ type: FrameType, _ info: UInt8, _ payload: ByteBuffer) -> Frame {
            Frame(
                version: 5, type: type, service: .video, info: info, sessionID: 1, messageID: 99,
                payload: payload)
        }
        shelf.send(frame(.first, 0, announcement))
        shelf.send(frame(.consecutive, 1, ByteBuffer(bytes: bytes.prefix(20))))
        shelf.send(frame(.single, 0, ByteBuffer(bytes: [1, 2, 3])), fate: .dropped(.noLink))
        shelf.send(frame(.consecutive, 0, ByteBuffer(bytes: bytes.dropFirst(20))))
        // How relayd ends a message that an app left unfinished.
        shelf.send(frame(.consecutive, 0, ByteBuffer(bytes: [9, 9, 9])), fate: .byRelay)
        shelf.finish()
        #expect(try #require(shelf.files.first).bytes == bytes)
    }

    @Test("RTP becomes a stream, other formats are named and left")
    func formats() throws {
        var shelf = Shelf()
        shelf.register()
        shelf.startVideo("RTP")
        shelf.stream(
            Packets.framed(
                Packets.packet(
                    1, marked: true,
                    Packets.aggregate(Units.sequence, Units.picture, Units.key(1)))))
        shelf.startVideo("RTP", codec: "VP9")
        shelf.stream([1, 2, 3])
        shelf.finish()
        #expect(shelf.files.map(\.bytes) == [Self.pictures[0]])
        #expect(shelf.left.map(\.summary.problems) == [[.unreadableFormat("VP9 RTP 800×480")]])
        #expect(shelf.left.map(\.item.kind) == [.video])
    }

    @Test("encrypted frames are not read, and frames without payload, and both is told")
    func unreadable() {
        var shelf = Shelf()
        shelf.register()
        shelf.startVideo("RAW")
        shelf.stream([1, 2, 3, 4], isEncrypted: true)
        shelf.stream([1, 2, 3, 4], isEncrypted: true)
        shelf.stream([], .audio, omitted: 100)
        shelf.finish()
        #expect(shelf.files.isEmpty)
        #expect(
            Set(shelf.left.map(\.summary.problems)) == [
                [.encrypted(frames: 2)], [.notRecorded(frames: 1)],
            ])
    }

    @Test("behind a gap video goes on with a key picture, and sound with whole samples")
    func gap() throws {
        var shelf = Shelf()
        shelf.register(
            capabilities:
                #","pcmStreamCapabilities":{"samplingRate":"22KHZ","bitsPerSample":"16_BIT","audioType":"PCM"}"#
        )
        shelf.startVideo("RAW")
        shelf.stream(Self.pictures.flatMap { $0 })
        shelf.stream([1, 2, 3], .audio)
        shelf.take(.missed(frames: 3, bytes: 300))
        shelf.stream(Self.pictures[1] + Self.pictures.flatMap { $0 })
        shelf.stream([5, 6], .audio)
        shelf.finish()
        let video = try #require(shelf.files.first { $0.item.kind == .video })
        // Of the first three the last two have no end.
        #expect(video.bytes == Self.pictures[0] + Self.pictures.flatMap { $0 })
        #expect(video.summary.problems == [.lost(pictures: 1), .gaps(1)])
        let audio = try #require(shelf.files.first { $0.item.kind == .audio })
        #expect(audio.bytes.dropFirst(WAVHeader.bytes) == [1, 2, 3, 0, 5, 6])
        #expect(audio.item.format == "PCM 22.05 kHz 16 bit")
        #expect(audio.summary.problems == [.gaps(1)])
    }

    @Test("a WAV header has the format and, at the end, the sizes")
    func wave() throws {
        var shelf = Shelf()
        shelf.register()
        shelf.rpc(
            .request, .performAudioPassThru, 2,
            #"{"samplingRate":"8KHZ","bitsPerSample":"8_BIT","audioType":"PCM"}"#)
        shelf.rpc(.notification, .onAudioPassThru, 0, "{}", .fromAccessory, bulk: [1, 2])
        shelf.rpc(.notification, .onAudioPassThru, 0, "{}", .fromAccessory, bulk: [3])
        shelf.rpc(
            .response, .performAudioPassThru, 2, #"{"success":true,"resultCode":"SUCCESS"}"#,
            .fromAccessory)
        let file = try #require(shelf.files.first)
        var wanted: [UInt8] = Array("RIFF".utf8)
        wanted += [40, 0, 0, 0]  // what follows: 36 of the header, three samples, one to be even
        wanted += Array("WAVEfmt ".utf8)
        wanted += [16, 0, 0, 0, 1, 0, 1, 0]  // PCM, one channel
        wanted += [0x40, 0x1F, 0, 0, 0x40, 0x1F, 0, 0]  // 8,000 samples and bytes per second
        wanted += [1, 0, 8, 0]  // one byte, 8 bits
        wanted += Array("data".utf8) + [3, 0, 0, 0, 1, 2, 3, 0]
        #expect(file.bytes == wanted)
        #expect(file.summary.duration == 375_000 && file.summary.problems == [])
        #expect(file.item.fileName == "Navigation-speech.wav")
        // What is not ended yet.
        let open = WAVHeader.make(.usual, dataBytes: nil).array
        #expect(open.count == 44 && open[4..<8] == [255, 255, 255, 255])
        #expect(open[40..<44] == [255, 255, 255, 255])
    }

    @Test("files of one and of several pieces, kept apart by app and name, in any order")
    func uploads() throws {
        var shelf = Shelf()
        shelf.register()
        shelf.register("Radio", session: 2)
        shelf.put("a.bin", #","offset":0,"length":6"#, [1, 2], 2)
        shelf.put("b.bin", [7], 3)
        shelf.put("a.bin", #","offset":0,"length":2"#, [8, 9], 4, session: 2)
        shelf.put("a.bin", #","offset":4,"length":2"#, [5, 6], 5)
        shelf.put("a.bin", #","offset":2,"length":2"#, [3, 4], 6)
        shelf.finish()
        #expect(
            shelf.files.map(\.item.fileName) == [
                "Navigation-b.bin", "Radio-a.bin", "Navigation-a.bin",
            ])
        #expect(shelf.files.map(\.bytes) == [[7], [8, 9], [1, 2, 3, 4, 5, 6]])
        #expect(shelf.files.allSatisfy { $0.summary.problems.isEmpty })
    }

    @Test("checksums, refusals, holes and second tries are told")
    func trouble() throws {
        var shelf = Shelf()
        shelf.register()
        let crc = CRC32.checksum(of: [1, 2, 3])
        shelf.put("right", #","crc":\#(crc)"#, [1, 2, 3], 2)
        shelf.put("wrong", #","crc":\#(crc)"#, [1, 2, 4], 3, answer: "CORRUPTED_DATA")
        shelf.put("half", #","offset":0,"length":9"#, [1, 2, 3], 4)
        shelf.put("half", #","offset":0,"length":9"#, [1, 2, 3], 5)
        shelf.put("half", #","offset":6,"length":3"#, [7, 8, 9], 6)
        shelf.put("far", #","offset":1999999999,"length":3"#, [7, 8, 9], 7)
        shelf.put("before", #","offset":-1"#, [7], 8)
        shelf.finish()
        func told(_ title: String) -> [MediaSummary] {
            shelf.files.filter { $0.item.title == title }.map(\.summary)
                + shelf.left.filter { $0.item.title == title }.map(\.summary)
        }
        #expect(told("right").map(\.isChecksumRight) == [true])
        #expect(told("right").first?.problems == [])
        #expect(told("wrong").map(\.isChecksumRight) == [false])
        #expect(
            told("wrong").first?.problems == [
                .wrongChecksum(pieces: 1), .refused("CORRUPTED_DATA"),
            ])
        #expect(
            told("half").map(\.problems) == [
                [.incomplete(missing: 3..<9, of: 9), .replaced],
                [.incomplete(missing: 3..<6, of: 9)],
            ])
        let tooLarge = MediaProblem.tooLarge(bytes: MediaLimits.maximumUploadBytes)
        #expect(told("far").first?.problems.contains(tooLarge) == true)
        #expect(told("before").first?.problems.contains(tooLarge) == true)
    }

    @Test("a file of few bytes does not reach far, and many of them not together")
    func extent() {
        var shelf = Shelf()
        shelf.register()
        shelf.put("far", #","offset":1999999999,"length":1"#, [1], 2)
        for number in 0..<64 {
            shelf.put("f\(number)", #","offset":16777216,"length":1"#, [1], Int32(number + 3))
        }
        shelf.finish()
        let bytes = shelf.files.map(\.summary.bytes)
        #expect(!bytes.isEmpty && bytes.reduce(0, +) <= MediaLimits.maximumHoleBytes + 64)
        let tooFar = MediaProblem.tooFarApart(bytes: MediaLimits.maximumHoleBytes)
        #expect(shelf.left.allSatisfy { $0.summary.problems == [tooFar] })
        #expect(shelf.left.contains { $0.item.title == "far" })
        // Pieces that come from behind leave no hole.
        var backwards = Shelf()
        backwards.register()
        for number in (0..<64).reversed() {
            backwards.put(
                "b", #","offset":\#(number * 300_000),"length":300000"#,
                [UInt8](repeating: 7, count: 300_000), Int32(number + 3))
        }
        backwards.finish()
        #expect(backwards.files.map(\.summary.bytes) == [19_200_000])
        #expect(backwards.files.first?.summary.problems == [])
    }

    @Test("names of apps and of their files cannot lead out of a folder")
    func names() {
        var shelf = Shelf()
        shelf.register(#"..\/..\/"#)
        shelf.put(#"..\/..\/etc\/passwd"#, [1], 2)
        shelf.put(#".\u0000\u202e.x"#, [1], 3)
        shelf.put(String(repeating: "n", count: 4096), [1], 4)
        shelf.put("", [1], 5)
        shelf.finish()
        let names = shelf.files.map(\.item.fileName)
        #expect(names.prefix(2) == ["app-etc-passwd", "app-x"])
        #expect(names.allSatisfy { $0.utf8.count <= MediaLimits.maximumNameBytes + 10 })
        #expect(names.allSatisfy { !$0.contains("/") && !$0.hasPrefix(".") })
        #expect(names.last == "app-file")
    }

    @Test("what was masked is not taken for what it was")
    func masked() {
        var shelf = Shelf()
        shelf.register()
        shelf.isBulkMasked = true
        shelf.put("a", [0, 0], 2)
        shelf.put("b", [0, 0], 3)
        shelf.finish()
        #expect(shelf.files.isEmpty)
        #expect(shelf.left.map(\.summary.problems) == [[.masked]])
    }

    @Test("only what is asked for is taken")
    func choice() {
        var shelf = Shelf(MediaCollector([.file]) { $0 == "Radio" })
        shelf.register()
        shelf.register("Radio", session: 2)
        shelf.startVideo("RAW")
        for picture in Self.pictures { shelf.stream(picture) }
        shelf.put("a", [1], 2)
        shelf.put("b", [2], 3, session: 2)
        shelf.finish()
        #expect(shelf.files.map(\.item.title) == ["b"] && shelf.left.isEmpty)
    }

    @Test("no more is open than may be, and what is closed for it is told")
    func many() {
        var shelf = Shelf()
        shelf.register()
        for number in 0..<(MediaLimits.maximumOpen + 10) {
            shelf.put("f\(number)", #","offset":0,"length":9"#, [1], Int32(number + 2), answer: nil)
        }
        #expect(shelf.files.count == 10)
        shelf.finish()
        #expect(shelf.files.count == MediaLimits.maximumOpen + 10)
        #expect(
            shelf.files.allSatisfy { $0.summary.problems == [.incomplete(missing: 1..<9, of: 9)] })
    }

    @Test("all streams together hold no more than may be, and go on with their next key picture")
    func manyUnfinished() {
        var shelf = Shelf()
        let streams = UInt8(20)
        func send(_ bytes: [UInt8], _ shelf: inout Shelf) {
            for session in 1...streams {
                shelf.send(
                    Frame(
                        version: 5, type: .single, service: .video, sessionID: session,
                        payload: ByteBuffer(bytes: bytes)))
            }
        }
        let start = Self.pictures[0]
        // Each is about to have a unit of almost as many bytes as one may have.
        send(
            start + [0, 0, 0, 1] + Units.other(7)
                + [UInt8](repeating: 0x55, count: MediaLimits.maximumUnitBytes - 100), &shelf)
        #expect(shelf.heldBytes > MediaLimits.maximumHeldBytes / 2)
        #expect(shelf.heldBytes <= MediaLimits.maximumHeldBytes)
        send(start, &shelf)
        shelf.finish()
        #expect(shelf.files.count == Int(streams))
        let told = shelf.files.map(\.summary.problems)
        #expect(told.filter { $0.contains(.dropped(1)) }.count == 4)
        #expect(told.filter(\.isEmpty).count == 16)
        #expect(shelf.files.allSatisfy { $0.bytes.starts(with: start) })
        #expect(shelf.files.allSatisfy { $0.bytes.suffix(start.count) == start[...] })
    }

    @Test("a unit that is kept does not keep what it was a slice of")
    func compact() {
        var stream = VideoStream(VideoFormat())
        // Each in a large message of which it is all that counts.
        let spare = [UInt8](repeating: 0, count: 100_000)
        var pictures: [Picture] = []
        for unit in [Units.sequence, Units.picture, Units.key(), Units.more(), Units.other()] {
            pictures += stream.receive(
                ByteBuffer(bytes: [0, 0, 0, 1] + unit + spare), beginsMessage: true)
        }
        pictures += stream.receive(
            ByteBuffer(bytes: Units.annexB([Units.delimiter])), beginsMessage: true)
        #expect(pictures.first?.units.count == 4)
        for unit in pictures.first?.units ?? [] { #expect(unit.bytes.storageCapacity < 1000) }
    }

    @Test("pieces that lie apart are counted up to a limit")
    func scattered() {
        var ranges = ByteRanges()
        for number in 0..<MediaLimits.maximumUploadRanges {
            let isKept = ranges.insert(number * 10..<number * 10 + 5)
            #expect(isKept)
        }
        var isKept = ranges.insert(1_000_000..<1_000_001)
        #expect(!isKept)
        // One that joins two takes no place.
        isKept = ranges.insert(5..<10)
        #expect(isKept)
        #expect(ranges.ranges.first == 0..<15)
        #expect(ranges.firstHole(before: 30) == 15..<20)
        isKept = ranges.insert(0..<1_000_000)
        #expect(
            isKept && ranges.ranges == [0..<1_000_000] && ranges.firstHole(before: 1_000_000) == nil
        )
        #expect(ByteRanges().firstHole(before: 0) == nil)
        #expect(ByteRanges().firstHole(before: 3) == 0..<3)
    }
}
