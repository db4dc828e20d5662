// As many frames as possible: one thread writes frame by frame, another reads.

import CPlainEnds

/// The direction of a stream.
enum StreamDirection: String, CaseIterable {
    case fromApp = "app to head unit"
    case fromHeadUnit = "head unit to app"
}

/// A stream of frames of one size through a lane.
struct Stream {
    let lane: Lane
    let direction: StreamDirection
    let frameBytes: Int
    private let frames: PlainFrames

    struct Result {
        var bytes: Int
        var frames: Int
        /// From the first write to the last byte read.
        var seconds: Double
        /// Processor time of the program in the middle, including its work after the stream.
        var processorSeconds: Double

        var megabytesPerSecond: Double { Double(bytes) / seconds / 1e6 }
        var processorSecondsPerGigabyte: Double { processorSeconds / Double(bytes) * 1e9 }
    }

    /// The number of different frames, sent in turn.
    private static let variety = 64

    init(_ lane: Lane, _ direction: StreamDirection, frameBytes: Int, isVideo: Bool = false) {
        self.lane = lane
        self.direction = direction
        self.frameBytes = frameBytes
        let wire = Traffic.wire(
            (1...Self.variety).map { number in
                let message = UInt32(number)
                if isVideo {
                    return Traffic.video(
                        session: lane.session, bytes: frameBytes, message: message)
                }
                return direction == .fromApp
                    ? Traffic.upload(
                        session: lane.session, bytes: frameBytes, message: message,
                        correlation: Int32(number))
                    : Traffic.download(
                        session: lane.session, bytes: frameBytes, message: message)
            })
        frames = PlainFrames(
            wire: wire, frameBytes: frameBytes, areRequests: direction == .fromApp && !isVideo)
    }

    /// Sends for about `seconds`, at the rate seen before, and waits until everything has arrived.
    func run(seconds: Double, rate: Double) throws -> Result {
        try run(bytes: Int(rate * 1e6 * seconds))
    }

    /// Sends about `bytes` bytes and waits until they have arrived.
    func run(bytes: Int) throws -> Result {
        let total = max(1, bytes / frameBytes)
        let (source, sink) =
            direction == .fromApp ? (lane.app, lane.headUnit) : (lane.headUnit, lane.app)
        let before = lane.child.settledProcessorTime()
        var seconds = 0.0
        try PlainEnds.check(
            frames.withUnsafeFrames {
                plain_stream(source.descriptor, sink.descriptor, $0, total, &seconds)
            }, "a stream through \(lane.name)")
        return Result(
            bytes: total * frameBytes, frames: total, seconds: seconds,
            processorSeconds: lane.child.settledProcessorTime() - before)
    }
}
