package import NIOCore
package import RelayCore

/// The number of an extracted item, from 1.
package struct MediaID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The kinds of media that can be extracted.
package enum MediaKind: String, Hashable, Sendable, CaseIterable {
    /// The video service of an app, as H.264.
    case video
    /// The audio service of an app.
    case audio
    /// Sound from a microphone of the head unit: OnAudioPassThru.
    case speech
    /// A file that an app sent by PutFile.
    case file
}

/// A stream or a file, with the data known from its start.
package struct MediaItem: Hashable, Sendable {
    package var kind: MediaKind
    /// The app's connection; nil when the owner of the session is unknown.
    package var app: AppID?
    /// The name that the app registered with; nil before that.
    package var appName: String?
    /// "H264 RAW 800×480", "PCM 16 kHz 16 bit", "PNG 70×70"; nil when unknown.
    package var format: String?
    /// For a file: the name that the app gives it, unchanged.
    package var title: String?
    /// Safe to use as a file name.
    package var fileName: String
    package var began: WallTime
}

/// The result of extracting an item.
package struct MediaSummary: Hashable, Sendable {
    /// The size of the file, including headers.
    package var bytes = 0
    /// Nanoseconds: for sound its playing time, otherwise from the first to the last piece.
    package var duration: Int64 = 0
    /// For video.
    package var pictures: Int?
    package var keyPictures: Int?
    /// For files with `crc`: whether all received pieces had the right checksum.
    package var isChecksumRight: Bool?
    /// Problems to know of before relying on the file.
    package var problems: [MediaProblem] = []

    package init() {}
}

/// Operations on files, in order.
package enum MediaEvent: Sendable {
    case began(MediaID, MediaItem)
    /// A decoder may begin with the next picture, given here preceded by the parameter sets that it needs.
    /// For video, comes before the `bytes` of each such picture; not part of the file.
    case entry(MediaID, ByteBuffer)
    /// Bytes to write at an offset of the file: at its end, or elsewhere for uploads and headers.
    case bytes(MediaID, ByteBuffer, at: Int)
    /// Nothing follows. Without an ID, nothing could be extracted, and `problems` says why.
    case ended(MediaID?, MediaItem, MediaSummary)
}

/// Why something is missing or altered.
package enum MediaProblem: Hashable, Sendable {
    /// No picture of the video could be shown.
    case noKeyPicture(pictures: Int)
    case beginsLate(pictures: Int)
    /// Lost up to the next picture that a decoder can begin with.
    case lost(pictures: Int)
    case damaged(count: Int, first: String)
    /// No grant of the service by the head unit was seen.
    case notGranted
    /// The head unit refused the service, but the app sent data all the same.
    case serviceRefused
    case oversized(count: Int)
    case unreadableFormat(String)
    case encrypted(frames: Int)
    case notRecorded(frames: Int)
    /// The number of places where bytes passed unseen.
    case gaps(Int)
    /// The number of times that incomplete data was dropped because all streams together held too much.
    case dropped(Int)
    case assumedFormat
    case masked
    case incomplete(missing: Range<Int>, of: Int)
    case wrongChecksum(pieces: Int)
    /// The head unit refused pieces, with this result the first time.
    case refused(String)
    /// The app started a file of the same name from its beginning again.
    case replaced
    case tooLarge(bytes: Int)
    /// Pieces that would have left larger holes than allowed.
    case tooFarApart(bytes: Int)
    case tooMany(limit: Int)
}

extension MediaProblem: CustomStringConvertible {
    /// The code, for programs.
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
