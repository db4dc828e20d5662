package import NIOCore
package import RelayCore

/// Counts what is taken out of the traffic, from 1.
package struct MediaID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What can be taken out of the traffic.
package enum MediaKind: String, Hashable, Sendable, CaseIterable {
    /// The video service of an app, as H.264.
    case video
    /// The audio service of an app.
    case audio
    /// What a microphone of the head unit heard: OnAudioPassThru.
    case speech
    /// What an app sent by PutFile.
    case file
}

/// A stream or a file, and what is known of it from the start.
package struct MediaItem: Hashable, Sendable {
    package var kind: MediaKind
    /// Its connection; nil when nobody knows who owns the session.
    package var app: AppID?
    /// As it registered; nil before that.
    package var appName: String?
    /// "H264 RAW 800×480", "PCM 16 kHz 16 bit", "PNG 70×70"; nil where nothing says.
    package var format: String?
    /// Of a file: what the app calls it, unchanged.
    package var title: String?
    /// Safe to use as the name of a file.
    package var fileName: String
    package var began: WallTime
}

/// What became of it.
package struct MediaSummary: Hashable, Sendable {
    /// Of the file, headers counted.
    package var bytes = 0
    /// Nanoseconds: of sound as long as it plays, else from the first to the last piece.
    package var duration: Int64 = 0
    /// Of video.
    package var pictures: Int?
    package var keyPictures: Int?
    /// Of files with `crc`: whether all pieces that came had the checksum they should have.
    package var isChecksumRight: Bool?
    /// What people should know before they trust it.
    package var problems: [MediaProblem] = []

    package init() {}
}

/// What happens to files, in order.
package enum MediaEvent: Sendable {
    case began(MediaID, MediaItem)
    /// A decoder may begin with what comes next: the very picture, with the parameter sets that it needs in
    /// front. Of video, before the `bytes` of each such picture; no part of the file.
    case entry(MediaID, ByteBuffer)
    /// Bytes to be written at a place in the file: behind all before, and of uploads and headers elsewhere.
    case bytes(MediaID, ByteBuffer, at: Int)
    /// Nothing follows. Without an ID nothing of it could be taken, and `problems` says why.
    case ended(MediaID?, MediaItem, MediaSummary)
}

/// Why something is not there, or not as it was.
package enum MediaProblem: Hashable, Sendable {
    /// Of video nothing could be shown.
    case noKeyPicture(pictures: Int)
    case beginsLate(pictures: Int)
    /// Up to the next picture that a decoder can begin with.
    case lost(pictures: Int)
    case damaged(count: Int, first: String)
    /// Nobody has seen that the head unit granted the service.
    case notGranted
    /// The head unit has refused the service, and the app has sent all the same.
    case serviceRefused
    case oversized(count: Int)
    case unreadableFormat(String)
    case encrypted(frames: Int)
    case notRecorded(frames: Int)
    /// Bytes that nobody has seen, so many times.
    case gaps(Int)
    /// All streams together held too much that was not whole, so many times.
    case dropped(Int)
    case assumedFormat
    case masked
    case incomplete(missing: Range<Int>, of: Int)
    case wrongChecksum(pieces: Int)
    /// The head unit refused pieces, the first time with this result.
    case refused(String)
    /// The app sent a file of the same name from its beginning again.
    case replaced
    case tooLarge(bytes: Int)
    /// Pieces that would have left holes of more bytes than may be.
    case tooFarApart(bytes: Int)
    case tooMany(limit: Int)
}

extension MediaProblem: CustomStringConvertible {
    /// For programs.
    package var code: String {
        switch self {
        case .noKeyPicture: "no_key_picture"
        case .beginsLate: "begins_late"
        case .lost: "lost_pictures"
        case .damaged: "damaged"
        case .notGranted: "not_granted"
        case .serviceRefused: "service_refused"
        case .oversized: "oversized"
        case .unreadableFormat: "unreadable_format"
        case .encrypted: "encrypted"
        case .notRecorded: "not_recorded"
        case .gaps: "gaps"
        case .dropped: "dropped"
        case .assumedFormat: "assumed_format"
        case .masked: "masked"
        case .incomplete: "incomplete"
        case .wrongChecksum: "wrong_checksum"
        case .refused: "refused"
        case .replaced: "replaced"
        case .tooLarge: "too_large"
        case .tooFarApart: "too_far_apart"
        case .tooMany: "too_many"
        }
    }

    package var description: String {
        switch self {
        case .noKeyPicture(let pictures):
            "\(Self.count(pictures, "picture")) and no key picture (IDR with SPS and PPS), so nothing "
                + "can be shown"
        case .beginsLate(let pictures):
            "begins at the first key picture; \(Self.count(pictures, "picture")) before it left out"
        case .lost(let pictures):
            "\(Self.count(pictures, "picture")) left out behind what is missing or damaged, up to the "
                + "next key picture"
        case .damaged(let count, let first):
            "\(Self.count(count, "damaged packet")) left out, the first: \(first)"
        case .notGranted:
            "sent without a granted service, so the head unit has probably used none of it"
        case .serviceRefused:
            "sent although the head unit refused the service, so it has used none of it"
        case .oversized(let count):
            "\(Self.count(count, "piece")) of more than "
                + "\(MediaLimits.maximumUnitBytes >> 20) MiB left out"
        case .unreadableFormat(let format): "\(format) is not supported; only H264 as RAW or RTP is"
        case .encrypted(let frames):
            "\(Self.count(frames, "encrypted frame")), which only the app and the head unit can read"
        case .notRecorded(let frames):
            "of \(Self.count(frames, "frame")) only the header was recorded"
        case .gaps(let count): "something is missing in \(Self.count(count, "place"))"
        case .dropped(let count):
            "something was dropped in \(Self.count(count, "place")), since all streams together held "
                + "more than \(MediaLimits.maximumHeldBytes >> 20) MiB of unfinished pictures"
        case .assumedFormat: "the format is unknown, so 16 kHz and 16 bit are assumed"
        case .masked: "the binary part of RPCs was masked in the recording"
        case .incomplete(let missing, let total):
            "incomplete: of \(total) bytes those from \(missing.lowerBound) to "
                + "\(missing.upperBound - 1) are missing"
        case .wrongChecksum(let pieces):
            "the checksum (crc) of \(Self.count(pieces, "piece")) is wrong"
        case .refused(let result): "refused by the head unit: \(result)"
        case .replaced: "sent again: another file of this name follows"
        case .tooLarge(let bytes): "goes beyond \(bytes) bytes, and is cut there"
        case .tooFarApart(let bytes):
            "pieces left out that lie too far behind the others: at most \(bytes >> 20) MiB may be "
                + "missing in all files together"
        case .tooMany(let limit): "more than \(limit) are open at once"
        }
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}
