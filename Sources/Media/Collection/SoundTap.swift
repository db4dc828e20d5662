import NIOCore
import RelayCore

/// A growing WAV file. Until it ends, its header leaves the size open.
struct SoundTap: Sendable {
    private var media: OpenMedia
    private let format: PCMFormat
    private let isAssumed: Bool
    private var dataBytes = 0
    private var isFull = false
    /// Places where samples are missing; the rest is joined.
    private var gaps = 0

    /// - Parameter format: Nil when it was not announced.
    init(_ item: MediaItem, _ format: PCMFormat?) {
        self.format = format ?? .usual
        isAssumed = format == nil
        var item = item
        item.format = self.format.description
        media = OpenMedia(item)
    }

    var began: WallTime { media.item.began }

    mutating func append(_ samples: ByteBuffer, at time: WallTime, _ output: inout MediaOutput) {
        guard samples.readableBytes > 0, !isFull else { return }
        if media.id == nil {
            media.write(WAVHeader.make(format, dataBytes: nil), at: 0, time: time, &output)
        }
        let room = MediaLimits.maximumSoundBytes - dataBytes
        isFull = samples.readableBytes > room
        guard
            let samples = samples.getSlice(
                at: samples.readerIndex, length: min(room, samples.readableBytes))
        else { return }
        media.write(samples, at: WAVHeader.bytes + dataBytes, time: time, &output)
        dataBytes += samples.readableBytes
    }

    /// Notes that samples are missing here. Half a sample is completed, so that the next samples are not
    /// noise.
    mutating func skip(at time: WallTime, isGap: Bool, _ output: inout MediaOutput) {
        if isGap { gaps &+= 1 }
        let rest = dataBytes % format.bytesPerSample
        if rest > 0 {
            append(
                ByteBuffer(repeating: 0, count: format.bytesPerSample - rest), at: time, &output)
        }
    }

    mutating func finish(
        at time: WallTime, _ problems: [MediaProblem], _ output: inout MediaOutput
    ) {
        var summary = MediaSummary()
        if media.id != nil {
            if dataBytes % 2 != 0 {
                media.write(
                    ByteBuffer(repeating: 0, count: 1), at: WAVHeader.bytes + dataBytes,
                    time: time, &output)
            }
            media.write(WAVHeader.make(format, dataBytes: dataBytes), at: 0, time: time, &output)
            if isAssumed { summary.problems.append(.assumedFormat) }
        }
        summary.duration = format.nanoseconds(dataBytes)
        if isFull { summary.problems.append(.tooLarge(bytes: MediaLimits.maximumSoundBytes)) }
        if gaps > 0 { summary.problems.append(.gaps(gaps)) }
        summary.problems += problems
        media.end(summary, &output)
    }
}
