// How much may be handed to the link at once; used by `LinkOutput` for everything it writes.

import NIOCore

/// Bounds by time what is on its way to the accessory and can no longer be put in order.
///
/// A link with deep buffers takes megabytes at once, and an RPC that comes a moment later waits
/// until they have gone. So the pacer learns how fast the link drains, from what has been written
/// and what the kernel says still waits, and lets in about `target` of it. It reads no clock and
/// asks nobody: `LinkOutput` says what it wrote, looks when `room` has gone, and looks again
/// after `nextLook`.
///
/// The rate is learnt while frames are held. Before that, what has gone between two looks proves
/// that the link is at least so fast, which lets a fast one start at full speed. Neither believes a
/// moment: a slow head unit's receive buffer takes its fill as fast as memory does, and then nothing
/// for a while. On a link whose kernel cannot tell (a pty) nothing is known to be on its way, and the
/// bound is the kernel's own small buffer.
struct LinkPacer {
    /// Time worth of bytes that may be on their way when a frame follows another: with 8 KB frames
    /// at 1 MB/s another app's RPC has to wait for less than 20 ms.
    static let target: TimeAmount = .milliseconds(10)
    /// A frame of any size goes when less than this is on its way: an event loop on a busy machine
    /// is some milliseconds late, and the link must not run dry meanwhile.
    static let refill: TimeAmount = .milliseconds(4)
    /// Never less: a slow serial line's own buffer, 44 ms at 115,200 baud.
    static let leastBytes = 512
    /// Before anything is known: 27 ms at 150 KB/s, 0.4 s at 115,200 baud, once.
    static let firstBytes = 4 << 10
    /// Looking costs two system calls, one to write what has been collected; so to a slow link little
    /// is written before the next look, to a fast one this time's worth.
    static let leastLookBytes = 64 << 10
    static let lookTime: TimeAmount = .microseconds(2500)
    /// Twice what a read brings: the look comes between two reads, not in the middle of one.
    static let mostLookBytes = 2 * ReadBuffer.maximumBytes
    /// On its way at most while the link has only proven to take what it was given: half a second at
    /// 1 MB/s, once, and only behind a head unit that takes as much without reading it.
    static let mostUnmeasuredBytes = 512 << 10
    /// Small frames share a system call as far as this, while others wait: 4 ms at 1 MB/s.
    static let leastBatchBytes = 4 << 10
    /// A fast link gets this time's worth in one go: system calls cost it more than the wait. At
    /// 16 MB/s and below it is no more than the least.
    static let batchTime: TimeAmount = .microseconds(250)
    /// What a read brings in from an app at most.
    static let mostBatchBytes = ReadBuffer.maximumBytes
    /// A rate is taken over at least this long, because drivers report in steps.
    static let sampleTime: TimeAmount = .milliseconds(10)
    /// The same while nothing ever waits: a receive buffer may have taken all of it at once. Frame
    /// follows frame meanwhile, as fast as the link runs dry.
    static let drySampleTime: TimeAmount = .milliseconds(50)
    /// The same when it runs dry and has to wait in turn: a receive buffer opens in steps.
    static let stepSampleTime: TimeAmount = .milliseconds(500)
    /// The same while nothing goes.
    static let standstillTime: TimeAmount = .seconds(1)
    /// No link is faster, and a rate that only ever grew would take long to come down again: from
    /// here to 1 MB/s it is twelve samples.
    static let mostRate: Double = 4e9
    /// Sooner is not worth a turn of the event loop.
    static let shortestLook: TimeAmount = .microseconds(500)
    /// A link that stands still is looked at this often.
    static let longestLook: TimeAmount = .milliseconds(50)

    /// Bytes per second; nil until frames have had to wait for the link.
    private(set) var rate: Double?
    /// Bytes per second that the link took at least between two looks, and when that was.
    private var proof: (rate: Double, at: NIODeadline)?
    private var lookedAt: NIODeadline?
    private var waiting = 0
    private var written = 0
    private var sample: Sample?
    /// When something had last gone while frames were held, or the first was held.
    private var goneAt = NIODeadline.uptimeNanoseconds(0)
    /// From then on to the latest look.
    private var standstill = TimeAmount.zero

    /// What has gone while frames were held.
    private struct Sample {
        let since: NIODeadline
        var bytes = 0
        /// At a look nothing was on its way any more.
        var ranDry = false
        /// At a look something still was.
        var hadToWait = false

        var leastTime: TimeAmount {
            if bytes == 0 { return LinkPacer.standstillTime }
            guard ranDry else { return LinkPacer.sampleTime }
            return hadToWait ? LinkPacer.stepSampleTime : LinkPacer.drySampleTime
        }
    }

    /// Bytes on their way, at most: what waited at the last look and what was written since.
    var inFlight: Int { waiting + written }

    /// Bytes that may be on their way.
    private(set) var limit = LinkPacer.firstBytes

    /// With so many on their way or fewer, a frame of any size follows.
    private(set) var refillBytes = LinkPacer.firstBytes / 2

    /// Frames written in one go while others wait; a more important one that comes meanwhile has
    /// to wait for no more than these.
    private(set) var batchBytes = LinkPacer.leastBatchBytes

    /// The largest frame that may go now, as far as is known. 0 also asks for a look.
    var room: Int {
        if isLookDue { return 0 }
        let inFlight = inFlight
        return inFlight <= refillBytes ? .max : max(0, limit - inFlight)
    }

    /// Bytes written between two looks.
    private var lookBytes = LinkPacer.leastLookBytes

    /// More has been written since the last look than should be without one.
    var isLookDue: Bool { written >= lookBytes }

    /// The same soon: time for a look while nothing has been collected that would have to go first.
    var isLookWelcome: Bool { written >= lookBytes / 2 }

    mutating func wrote(_ bytes: Int) {
        written += bytes
    }

    /// A frame has to wait: from now on the link is busy, and what drains tells how fast it is.
    mutating func held(at now: NIODeadline) {
        guard sample == nil else { return }
        sample = Sample(since: now)
        goneAt = now
    }

    /// No frame waits any more.
    mutating func released() {
        sample = nil
        standstill = .zero
    }

    /// What the kernel said.
    ///
    /// - Parameters:
    ///   - measured: Bytes that wait. Sockets count their overhead, so it may be too many.
    ///   - isFull: The kernel took no more until just now, so the link has not run dry even when
    ///     nothing is known to wait.
    mutating func looked(waiting measured: Int, isFull: Bool = false, at now: NIODeadline) {
        defer { setBounds() }
        let left = min(max(0, measured), inFlight)
        let drained = inFlight - left
        let isDry = left == 0 && !isFull
        waiting = left
        written = 0
        prove(drained, isDry: isDry, isFull: isFull, at: now)
        guard var current = sample else {
            rate = rate.map { max($0, proof?.rate ?? 0) }
            return
        }
        current.bytes += drained
        if drained > 0 { goneAt = now }
        standstill = now - goneAt
        if isDry { current.ranDry = true } else { current.hadToWait = true }
        sample = current
        let time = now - current.since
        guard time >= current.leastTime else { return }
        sample = Sample(since: now)
        let measuredRate = min(
            Double(current.bytes) * 1e9 / Double(time.nanoseconds), Self.mostRate)
        if current.hadToWait {
            rate = rate.map { ($0 + measuredRate) / 2 } ?? measuredRate
        } else {
            // It is faster than this, and than we thought.
            rate = max(measuredRate, min((rate ?? 0) * 1.5, Self.mostRate))
        }
    }

    /// Worked out once per look, because every frame asks for them.
    private mutating func setBounds() {
        guard let rate = rate ?? proof?.rate else {
            (limit, refillBytes) = (Self.firstBytes, Self.firstBytes / 2)
            (batchBytes, lookBytes) = (Self.leastBatchBytes, Self.leastLookBytes)
            return
        }
        let least = self.rate == nil ? Self.firstBytes / 2 : Self.leastBytes
        func bytes(_ time: TimeAmount) -> Int {
            Int(min(rate, Self.mostRate) * Double(time.nanoseconds) / 1e9)
        }
        // What is only proven may be a large buffer's fill.
        let most = self.rate == nil ? Self.mostUnmeasuredBytes : .max
        limit = min(max(least, bytes(Self.target)), most)
        refillBytes = min(max(least, bytes(Self.refill)), most / 2)
        batchBytes = min(max(Self.leastBatchBytes, bytes(Self.batchTime)), Self.mostBatchBytes)
        lookBytes = min(max(Self.leastLookBytes, bytes(Self.lookTime)), Self.mostLookBytes)
    }

    /// All of it has gone since the last look, so it went at least so fast. Only as much as has gone
    /// may be more on its way next time, so that no buffer's fill proves a rate. That is believed for
    /// as long as what may be on its way should take: whoever reads it may be about to.
    private mutating func prove(_ bytes: Int, isDry: Bool, isFull: Bool, at now: NIODeadline) {
        defer { lookedAt = now }
        guard isDry, let lookedAt, now > lookedAt else {
            if isFull || proof.map({ now - $0.at > Self.target }) == true { proof = nil }
            return
        }
        let believed = max(proof?.rate ?? 0, Double(limit) * 1e9 / Double(Self.target.nanoseconds))
        let most = believed + Double(bytes) * 1e9 / Double(Self.target.nanoseconds)
        let rate = min(most, Double(bytes) * 1e9 / Double((now - lookedAt).nanoseconds))
        proof = (rate, now)
    }

    /// When to look again while frames are held: when there should be room for the next.
    var nextLook: TimeAmount {
        // Of what stands still nobody can tell when it goes on: the longer, the less often it is
        // looked at.
        var pause = TimeAmount.nanoseconds(standstill.nanoseconds / 8)
        if let rate {
            let excess = Double(max(0, inFlight - refillBytes))
            let longest = Double(Self.longestLook.nanoseconds)
            let needed = rate > 0 ? min(excess / rate * 1e9, longest) : longest
            pause = max(pause, .nanoseconds(Int64(needed)))
        }
        return min(max(Self.shortestLook, pause), Self.longestLook)
    }
}
