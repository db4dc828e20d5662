import NIOCore
import RelayCore
import SDLProtocol

/// The data of an audio or video service, from its start to its end.
struct StreamTap: Sendable {
    private var content: Content
    private var encryptedFrames = 0
    private var unrecordedFrames = 0
    private var unreadFrames = 0
    private var gaps = 0
    private var drops = 0
    /// Whether to skip frames of a message whose beginning is missing.
    private var skipsMessage = false
    let began: WallTime
    /// The head unit's answer to the service.
    private(set) var verdict: Verdict

    enum Verdict: Sendable {
        case granted
        /// No answer has been seen.
        case unknown
        case refused
    }

    private enum Content {
        case video(VideoStream, OpenMedia)
        case sound(SoundTap)
        /// In a format that is not converted.
        case unread(VideoFormat, OpenMedia)
    }

    init(video item: MediaItem, _ format: VideoFormat, _ verdict: Verdict) {
        self.verdict = verdict
        var item = item
        item.format = format.description
        let media = OpenMedia(item)
        content =
            format.isReadable ? .video(VideoStream(format), media) : .unread(format, media)
        began = item.began
    }

    init(audio item: MediaItem, _ format: PCMFormat?, _ verdict: Verdict) {
        self.verdict = verdict
        content = .sound(SoundTap(item, format))
        began = item.began
    }

    /// - Parameters:
    ///   - frame: A frame that is not a control frame.
    ///   - omitted: Bytes of the payload that were not recorded.
    mutating func receive(
        _ frame: Frame, omitted: Int, at time: WallTime, _ output: inout MediaOutput
    ) {
        if frame.isEncrypted || omitted > 0 {
            if frame.isEncrypted { encryptedFrames &+= 1 } else { unrecordedFrames &+= 1 }
            lose(at: time, &output)
            return
        }
        let beginsMessage = frame.type != .consecutive
        if beginsMessage { skipsMessage = false }
        guard !skipsMessage else { return }
        // A first frame carries sizes, which the stream readers do not use.
        let payload = frame.type == .first ? ByteBuffer() : frame.payload
        switch content {
        case .video(var stream, var media):
            // So that the stream has a single owner while it grows.
            content = .unread(VideoFormat(), media)
            write(
                stream.receive(payload, beginsMessage: beginsMessage), to: &media, time, &output)
            content = .video(stream, media)
        case .sound(var sound):
            sound.append(payload, at: time, &output)
            content = .sound(sound)
        case .unread: unreadFrames &+= 1
        }
    }

    /// Notes that the head unit refuses the service. A service that was granted before continues.
    mutating func refuse() {
        if verdict == .unknown { verdict = .refused }
    }

    /// Notes that frames passed unseen.
    mutating func skip(at time: WallTime, _ output: inout MediaOutput) {
        gaps &+= 1
        lose(at: time, &output)
    }

    /// Bytes of incomplete data.
    var heldBytes: Int {
        guard case .video(let stream, _) = content else { return 0 }
        return stream.heldBytes
    }

    /// Drops incomplete data, because all streams together hold too much.
    mutating func drop(at time: WallTime, _ output: inout MediaOutput) {
        drops &+= 1
        lose(at: time, &output)
    }

    private mutating func lose(at time: WallTime, _ output: inout MediaOutput) {
        skipsMessage = true
        switch content {
        case .video(var stream, let media):
            stream.skip()
            content = .video(stream, media)
        case .sound(var sound):
            sound.skip(at: time, isGap: false, &output)
            content = .sound(sound)
        case .unread: break
        }
    }

    private func write(
        _ pictures: [Picture], to media: inout OpenMedia, _ time: WallTime,
        _ output: inout MediaOutput
    ) {
        for picture in pictures {
            media.write(
                picture.annexB, at: media.bytes, entry: picture.entry, time: time, &output)
        }
    }

    mutating func finish(at time: WallTime, _ output: inout MediaOutput) {
        var problems: [MediaProblem] = []
        switch verdict {
        case .granted: break
        case .unknown: problems.append(.notGranted)
        case .refused: problems.append(.serviceRefused)
        }
        if encryptedFrames > 0 { problems.append(.encrypted(frames: encryptedFrames)) }
        if unrecordedFrames > 0 { problems.append(.notRecorded(frames: unrecordedFrames)) }
        if gaps > 0 { problems.append(.gaps(gaps)) }
        if drops > 0 { problems.append(.dropped(drops)) }
        switch content {
        case .video(var stream, var media):
            write(stream.finish(), to: &media, time, &output)
            media.end(Self.summary(of: stream, media, problems), &output)
        case .sound(var sound): sound.finish(at: time, problems, &output)
        case .unread(let format, let media):
            var summary = MediaSummary()
            if unreadFrames > 0 || !problems.isEmpty {
                summary.problems = [.unreadableFormat("\(format)")] + problems
            }
            media.end(summary, &output)
        }
    }

    private static func summary(
        of stream: VideoStream, _ media: OpenMedia, _ more: [MediaProblem]
    ) -> MediaSummary {
        var summary = MediaSummary()
        (summary.pictures, summary.keyPictures) = (stream.pictures, stream.keyPictures)
        summary.duration = media.duration
        if stream.picturesBefore > 0 {
            summary.problems.append(
                stream.pictures == 0
                    ? .noKeyPicture(pictures: stream.picturesBefore)
                    : .beginsLate(pictures: stream.picturesBefore))
        }
        if stream.picturesLost > 0 { summary.problems.append(.lost(pictures: stream.picturesLost)) }
        if let fault = stream.firstFault {
            summary.problems.append(.damaged(count: stream.faults, first: "\(fault)"))
        }
        if stream.oversized > 0 { summary.problems.append(.oversized(count: stream.oversized)) }
        summary.problems += more
        return summary
    }
}
