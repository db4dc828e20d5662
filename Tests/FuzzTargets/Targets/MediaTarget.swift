// Fuzz target: pictures, sound and files extracted from what peers send.

import Media
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

extension FuzzTarget {
    static let media = FuzzTarget(
        name: "media",
        about: "video, audio and files of three apps, and packets and names by themselves",
        promise:
            "what begins ends, no file has bytes outside its limits, no name leads out of a folder, "
            + "and what is shown begins with a key picture",
        isScript: true,
        words: {
            [
                "\u{0}\u{0}\u{0}\u{1}", "\u{0}\u{0}\u{1}", "g", "h", "e", "A", "x", "|", "../",
                "\"syncFileName\":", "\"offset\":", "\"length\":", "\"crc\":", "\"PutFile\"",
                "\"samplingRate\":\"16KHZ\"", "\"bitsPerSample\":\"16_BIT\"",
            ]
        },
        seeds: { MediaSeeds.all() + FuzzSeeds.dialogues(headUnit: 0, app: 1) },
        run: { bytes in
            var world = MediaWorld()
            for step in FuzzScript(bytes) { try world.take(step) }
            try world.end()
        })
}

private struct MediaWorld {
    private static let apps = 3

    private var link = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
    private var fromApps = (0..<apps).map { _ in
        FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
    }
    private var decoder = TrafficDecoder(validator: nil)
    private var collector = MediaCollector()
    private var raw = VideoStream(MediaWorld.format("RAW"))
    private var rtp = VideoStream(MediaWorld.format("RTP"))
    private var open: Set<MediaID> = []
    private var time: Int64 = 1_795_428_000_000_000_000

    private static func format(_ transport: String) -> VideoFormat {
        var format = VideoFormat()
        format.transport = transport
        return format
    }

    mutating func take(_ step: FuzzScript.Step) throws {
        time += 10_000_000
        let now = WallTime(nanoseconds: time)
        let app = step.whom % Self.apps
        let id = AppID(rawValue: UInt64(app + 1))
        switch step.kind {
        case 0:
            link.append(ByteBuffer(bytes: step.bytes))
            while let frame = try? link.next() { try show(frame, .fromAccessory, id) }
        case 1:
            fromApps[app].append(ByteBuffer(bytes: step.bytes))
            while let frame = try? fromApps[app].next() { try show(frame, .fromApp, id) }
        case 2, 3:
            let bytes = ByteBuffer(bytes: step.bytes)
            try check(raw.receive(bytes, beginsMessage: step.kind == 2), raw)
        case 4, 5:
            let bytes = ByteBuffer(bytes: step.bytes)
            try check(rtp.receive(bytes, beginsMessage: step.kind == 4), rtp)
        case 6:
            raw.skip()
            rtp.skip()
        case 7: try name(String(decoding: step.bytes, as: UTF8.self))
        case 8: try take(.missed(frames: 1, bytes: 1))
        case 9: try take(.appClosed(id, reason: "", time: now))
        case 10: try take(.linkClosed(reason: "", time: now))
        case 11: try frame(step.bytes, .video, id, now)
        case 12: try frame(step.bytes, .audio, id, now)
        case 13: collector.isBulkMasked.toggle()
        default: break
        }
    }

    mutating func end() throws {
        try check(raw.finish(), raw)
        try check(rtp.finish(), rtp)
        collector.finish()
        try write()
        try ensure(open.isEmpty, "\(open.count) that never end")
    }

    private mutating func frame(
        _ bytes: [UInt8], _ service: ServiceType, _ app: AppID, _ now: WallTime
    ) throws {
        let header = bytes.first ?? 0
        let types: [FrameType] = [.single, .first, .consecutive, .control]
        try show(
            Frame(
                version: 5, isEncrypted: header & 0x80 != 0, type: types[Int(header & 3)],
                service: service, info: header >> 2 & 7, sessionID: header >> 5 & 3,
                payload: ByteBuffer(bytes: bytes.dropFirst())), .fromApp, app)
    }

    private mutating func show(_ frame: Frame, _ direction: Direction, _ app: AppID) throws {
        let tapped = TappedFrame(
            frame: frame, direction: direction, app: app, time: WallTime(nanoseconds: time))
        try take(.frames([tapped]))
        collector.receive(tapped, omitted: frame.info == 7 ? 1 : 0)
        try write()
    }

    private mutating func take(_ item: TapItem) throws {
        var entries: [TrafficEntry] = []
        decoder.receive(item, into: &entries)
        for entry in entries { collector.receive(entry) }
        try write()
    }

    private mutating func write() throws {
        for event in collector.takeEvents() {
            switch event {
            case .began(let id, let item):
                try ensure(open.insert(id).inserted, "\(id) begins twice")
                try isSafe(item.fileName)
            case .entry(let id, let bytes):
                try ensure(open.contains(id), "an entry of \(id), which is not open")
                try ensure(
                    0...2 * MediaLimits.maximumPictureBytes ~= bytes.readableBytes,
                    "an entry of \(bytes.readableBytes) bytes")
            case .bytes(let id, let bytes, let place):
                try ensure(open.contains(id), "bytes of \(id), which is not open")
                try ensure(
                    place >= 0 && place + bytes.readableBytes <= MediaLimits.maximumFileBytes,
                    "\(bytes.readableBytes) bytes at \(place)")
            case .ended(let id, let item, let summary):
                try isSafe(item.fileName)
                try ensure(
                    id != nil || !summary.problems.isEmpty,
                    "nothing was written, and nobody says why")
                if let id { try ensure(open.remove(id) != nil, "\(id) ends twice") }
            }
        }
        try ensure(open.count <= 3 * MediaLimits.maximumOpen, "\(open.count) are open")
    }

    private func name(_ text: String) throws {
        try isSafe(MediaName.sanitised(text, fallback: "x"))
        try isSafe(MediaName.numbered(MediaName.sanitised(text, fallback: "x"), 7))
    }

    private func isSafe(_ name: String) throws {
        try ensure(
            !name.isEmpty && !name.hasPrefix(".") && !name.hasPrefix("-") && name.utf8.count < 250
                && name.unicodeScalars.allSatisfy {
                    $0 != "/" && $0.value >= 0x20 && !VisibleScalars.isInvisible($0)
                }, "a file called \(name.debugDescription)")
    }

    private func check(_ pictures: [Picture], _ stream: VideoStream) throws {
        for picture in pictures {
            try ensure(picture.hasSlice, "a picture without a slice")
            try ensure(
                picture.byteCount <= 2 * MediaLimits.maximumPictureBytes,
                "a picture of \(picture.byteCount) bytes")
        }
        if let first = pictures.first, stream.pictures == pictures.count {
            try ensure(first.isKey, "the first picture is no key picture")
            try ensure(
                first.units.contains(where: \.isSequenceParameterSet)
                    && first.units.contains(where: \.isPictureParameterSet),
                "a key picture without parameter sets")
        }
    }
}

/// The streams and packets used by the unit tests.
private enum MediaSeeds {
    static func all() -> [[UInt8]] {
        let start: [UInt8] = [0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x0D, 0x9A, 0, 0, 0, 1, 0x68, 0xCE]
        let key: [UInt8] = [0, 0, 0, 1, 0x65, 0x88, 0x84]
        let other: [UInt8] = [0, 0, 1, 0x41, 0x9A, 0x02]
        let packets =
            framed([0x78, 0, 3, 0x67, 0x42, 0x9A, 0, 2, 0x68, 0xCE, 0, 2, 0x65, 0x88], 1)
            + framed([0x7C, 0x85, 0x88], 2) + framed([0x7C, 0x45, 0x84], 3)
        let streams = [
            (2, start + key + other), (3, other), (6, []), (2, start + key), (4, packets),
            (5, packets),
            (11, [0] + start + key + other), (11, [0x20] + packets), (12, [0, 1, 2, 3]), (8, []),
            (12, [2, 4]), (7, Array("../../etc/passwd".utf8)), (9, []), (10, []),
        ]
        return [FuzzScript.bytes(of: streams.map { FuzzScript.Step($0.0, $0.1) })]
            + streams.map { FuzzScript.bytes(of: [FuzzScript.Step($0.0, $0.1)]) }
            + [FuzzScript.bytes(of: uploads.map { FuzzScript.Step(1, $0.wire.readableBytesView) })]
    }

    private static func framed(_ payload: [UInt8], _ sequence: UInt8) -> [UInt8] {
        [0, UInt8(12 + payload.count), 0x80, 0xE0, 0, sequence, 0, 0, 0, 9, 1, 2, 3, 4] + payload
    }

    private static var uploads: [Frame] {
        let pieces = [
            (#"{"syncFileName":"a.png","fileType":"GRAPHIC_PNG","offset":0,"length":4,"crc":1}"#),
            (#"{"syncFileName":"a.png","fileType":"GRAPHIC_PNG","offset":2,"length":2}"#),
            (#"{"syncFileName":"../b","fileType":"BINARY"}"#),
        ]
        return pieces.enumerated().map { number, json in
            .rpc(
                version: 5, service: .bulk, sessionID: 1, messageID: UInt32(number + 1),
                type: .request, functionID: FunctionID.putFile.rawValue,
                correlationID: Int32(number + 2), json: json, bulk: ByteBuffer(bytes: [1, 2]))
        }
    }
}
