import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Media

@Suite("Pictures and sound out of the traffic") struct MediaCollectorTests {
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
        shelf.endVideo()
        let file = try #require(shelf.files.first)
        #expect(file.bytes == Self.pictures.flatMap { $0 })
        #expect(file.item.fileName == "Navigation-video.h264")
        #expect(file.item.format == "H264 RAW 800×480")
        #expect(file.summary.pictures == 3 && file.summary.keyPictures == 1)
        #expect(file.summary.problems == [])
        // The next start begins another file.
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
        // relayd ends a message that an app left unfinished like this.
        shelf.send(
            frame(.consecutive, 0, ByteBuffer(bytes: [9, 9, 9])), app: nil, fate: .byRelay)
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

    @Test("what the head unit has refused, or was never asked to take, is told to be so")
    func refused() throws {
        var shelf = Shelf()
        shelf.register()
        // Without StartService.
        shelf.stream(Self.pictures[0])
        shelf.stream([1, 2], .audio)
        // Sent before the answer, which is a refusal.
        shelf.send(.control(.startService, service: .video, session: 1))
        shelf.stream(Self.pictures[1])
        shelf.send(.control(.startServiceNAK, service: .video, session: 1), .fromAccessory)
        shelf.stream(Self.pictures[2])
        shelf.endVideo()
        // And again, without a new StartService.
        for picture in Self.pictures { shelf.stream(picture) }
        // Granted at last.
        shelf.startVideo("RAW")
        for picture in Self.pictures { shelf.stream(picture) }
        // The stream continues as granted when another start is refused.
        shelf.send(.control(.startService, service: .video, session: 1))
        shelf.send(.control(.startServiceNAK, service: .video, session: 1), .fromAccessory)
        shelf.finish()
        let videos = shelf.files.filter { $0.item.kind == .video }
        #expect(videos.map(\.summary.problems) == [[.serviceRefused], [.serviceRefused], []])
        let audio = try #require(shelf.files.first { $0.item.kind == .audio })
        #expect(audio.summary.problems.contains(.notGranted))
    }

    @Test("encrypted frames are not read, and frames without payload, and both is told")
    func unreadable() {
        var shelf = Shelf()
        shelf.register()
        shelf.startVideo("RAW")
        shelf.stream([1, 2, 3, 4], isEncrypted: true)
        shelf.stream([1, 2, 3, 4], isEncrypted: true)
        shelf.startAudio()
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
        shelf.startAudio()
        shelf.stream([1, 2, 3], .audio)
        shelf.take(.missed(frames: 3, bytes: 300))
        shelf.stream(Self.pictures[1] + Self.pictures.flatMap { $0 })
        shelf.stream([5, 6], .audio)
        shelf.finish()
        let video = try #require(shelf.files.first { $0.item.kind == .video })
        // Of the first three pictures, the last two have no end.
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
        // The header of a file that is not complete yet.
        let open = WAVHeader.make(.usual, dataBytes: nil).array
        #expect(open.count == 44 && open[4..<8] == [255, 255, 255, 255])
        #expect(open[40..<44] == [255, 255, 255, 255])
    }

    private static func listen(_ shelf: inout Shelf, _ number: Int32, _ rate: String) {
        shelf.rpc(
            .request, .performAudioPassThru, number,
            #"{"samplingRate":"\#(rate)","bitsPerSample":"8_BIT","audioType":"PCM"}"#)
    }

    private static func answer(_ shelf: inout Shelf, _ number: Int32, _ result: String) {
        shelf.rpc(
            .response, .performAudioPassThru, number,
            #"{"success":\#(result == "SUCCESS"),"resultCode":"\#(result)"}"#, .fromAccessory)
    }

    private static func hear(_ shelf: inout Shelf, _ samples: [UInt8]) {
        shelf.rpc(.notification, .onAudioPassThru, 0, "{}", .fromAccessory, bulk: samples)
    }

    @Test("a second PerformAudioPassThru that is refused does not cut the first one's sound")
    func refusedSpeech() throws {
        var shelf = Shelf()
        shelf.register()
        Self.listen(&shelf, 2, "8KHZ")
        Self.hear(&shelf, [1, 2])
        Self.listen(&shelf, 3, "16KHZ")
        Self.hear(&shelf, [3])
        Self.answer(&shelf, 3, "REJECTED")
        Self.hear(&shelf, [4])
        Self.answer(&shelf, 2, "SUCCESS")
        Self.listen(&shelf, 4, "22KHZ")
        Self.hear(&shelf, [5])
        Self.answer(&shelf, 4, "SUCCESS")
        #expect(shelf.files.map { $0.bytes[44...].prefix(4) } == [[1, 2, 3, 4], [5, 0]])
        #expect(
            shelf.files.map(\.item.format) == ["PCM 8 kHz 8 bit", "PCM 22.05 kHz 8 bit"])
    }

    @Test("one that the first one makes room for has a file of its own, with its own format")
    func nextSpeech() throws {
        var shelf = Shelf()
        shelf.register()
        Self.listen(&shelf, 2, "8KHZ")
        Self.hear(&shelf, [1, 2])
        Self.listen(&shelf, 3, "16KHZ")
        Self.answer(&shelf, 2, "ABORTED")
        Self.hear(&shelf, [3, 4])
        Self.answer(&shelf, 3, "SUCCESS")
        #expect(shelf.files.map { $0.bytes[44...].prefix(4) } == [[1, 2], [3, 4]])
        #expect(shelf.files.map(\.item.format) == ["PCM 8 kHz 8 bit", "PCM 16 kHz 8 bit"])
    }

    @Test("one whose answer was missed gives way to the next")
    func missedAnswer() throws {
        var shelf = Shelf()
        shelf.register()
        Self.listen(&shelf, 2, "8KHZ")
        Self.hear(&shelf, [1, 2])
        shelf.take(.missed(frames: 1, bytes: 100))
        Self.listen(&shelf, 3, "16KHZ")
        Self.hear(&shelf, [3, 4])
        Self.answer(&shelf, 3, "SUCCESS")
        #expect(shelf.files.map { $0.bytes[44...].prefix(4) } == [[1, 2], [3, 4]])
        #expect(shelf.files.map(\.item.format) == ["PCM 8 kHz 8 bit", "PCM 16 kHz 8 bit"])
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
        for session in 1...streams {
            shelf.send(
                .control(.startServiceACK, service: .video, session: session), .fromAccessory)
        }
        let start = Self.pictures[0]
        // Each stream is about to have a unit of almost the maximum size.
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
}
