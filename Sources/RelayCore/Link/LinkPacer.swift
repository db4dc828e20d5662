// How much may be handed to the link at once; used by `LinkOutput` for everything it writes.

import NIOCore

/// Bounds, in time, how much is on its way to the accessory and can no longer be reordered.
///
/// A link with deep buffers takes megabytes at once, and an RPC that comes a moment later waits until they
/// have drained. So the pacer learns how fast the link drains, from what was written and what the kernel says
/// is still waiting, and admits `target` worth of bytes. It reads no clock and makes no system calls:
/// `LinkOutput` tells it what was written, polls the kernel when `room` is used up, and again after
/// `nextPoll`.
///
/// The model is that of BBR (draft-ietf-ccwg-bbr): bandwidth times delay, and a sample in which the link ran
/// dry may only raise the bandwidth, because it shows how much there was to send. Two things differ. The
/// delay is chosen, not measured. And the bandwidth is a mean, not a maximum: the receive buffer of a slow
/// head unit fills at the speed of memory, and then takes nothing for a while. For the same reason a sample
/// continues until some bytes have drained.
///
/// On a link whose kernel cannot tell (a pty) nothing is known to be on its way, and the bound is the
/// kernel's own small buffer.
struct LinkPacer {
    /// Time's worth of bytes that may be on their way when a frame follows another. A frame of any size goes
    /// once no more than half of that is on its way, because an event loop on a busy machine runs some
    /// milliseconds late, and the link must not run dry meanwhile. With 8 KB frames at 1 MB/s another app's
    /// RPC has to wait for less than 20 ms.
    static let target: TimeAmount = .milliseconds(10)
    /// Lower bound of `limit`: a slow serial line's own buffer, 44 ms at 115,200 baud.
    static let leastBytes = 512
    /// The first `limit`, and its lower bound until frames have had to wait for the link: 27 ms at 150 KB/s,
    /// 0.4 s at 115,200 baud, once.
    static let firstBytes = 4 << 10
    /// Upper bound of `limit`: twice what a read brings, so that a fast link is polled between two reads.
    static let mostBytes = 2 * ReadBuffer.maximumBytes
    /// Shortest sample: five times `target`, so that what a receive buffer takes at once admits a fifth of
    /// that, and many times as long as the steps of drivers.
    static let sampleTime: TimeAmount = .milliseconds(50)
    /// Polling sooner is not worth a turn of the event loop.
    static let shortestPoll: TimeAmount = .microseconds(500)
    /// How often a link that stands still is polled.
    static let longestPoll: TimeAmount = .milliseconds(50)

    /// Bytes per second; nil until frames have had to wait for the link.
    var rate: Double? { hasWaited ? bandwidth : nil }

    /// Bytes that may be on their way.
    private(set) var limit = LinkPacer.firstBytes

    /// Bytes per second that the link takes, or a lower bound.
    private var bandwidth = 0.0
    /// Whether frames have had to wait for the link, not only for the next poll.
    private var hasWaited = false
    private var isHeld = false
    /// Bytes unsent at the latest poll.
    private var unsent = 0
    /// Bytes written since then.
    private var written = 0
    private var sample: Sample?
    /// When bytes last drained while frames were held, or when the first frame was held.
    private var goneAt = NIODeadline.uptimeNanoseconds(0)
    /// Time from then to the latest poll.
    private var standstill = TimeAmount.zero

    /// What has drained between two polls.
    private struct Sample {
        let since: NIODeadline
        /// Whether frames were held all the time.
        var isHeld: Bool
        var bytes = 0
        /// Whether at some poll nothing was on its way any more.
        var ranDry = false
        /// Whether at some poll something still was.
        var hadToWait = false
    }

    /// Most bytes that can be on their way.
    var inFlight: Int { unsent + written }

    /// The largest frame that may go now, as far as is known.
    var room: Int {
        let inFlight = inFlight
        return inFlight <= limit / 2 ? .max : max(0, limit - inFlight)
    }

    /// Bytes of frames written in one go while others wait: those the kernel does not take can no longer be
    /// reordered either.
    var batchBytes: Int { limit / 2 }

    /// Whether as much was written since the last poll as may be on its way.
    var isPollDue: Bool { written >= limit }

    /// Whether a poll will be due soon: better made now, if nothing is collected that would have to be flushed
    /// first.
    var isPollWelcome: Bool { written >= limit / 2 }

    mutating func wrote(_ bytes: Int) {
        written += bytes
    }

    /// Notes that a frame has to wait: from now on the link is busy, and what drains shows how fast it is.
    mutating func held(at now: NIODeadline) {
        guard !isHeld else { return }
        isHeld = true
        // A sample already begun may contain idle time, and is only a bound.
        sample = sample ?? Sample(since: now, isHeld: true)
        goneAt = now
    }

    /// Notes that no frame waits any more.
    mutating func released() {
        isHeld = false
        sample?.isHeld = false
        standstill = .zero
    }

    /// Takes the kernel's answer to a poll.
    ///
    /// - Parameters:
    ///   - measured: Bytes still waiting. Sockets count their overhead, so it may be too many.
    ///   - isFull: Whether the kernel took no more until just now, so that the link has not run dry even when
    ///     nothing is known to wait.
    mutating func polled(unsent measured: Int, isFull: Bool = false, at now: NIODeadline) {
        let left = min(max(0, measured), inFlight)
        let gone = inFlight - left
        (unsent, written) = (left, 0)
        if gone > 0 { goneAt = now }
        standstill = isHeld ? now - goneAt : .zero
        guard var sample else {
            sample = Sample(since: now, isHeld: isHeld)
            return
        }
        sample.bytes += gone
        if left == 0, !isFull { sample.ranDry = true } else { sample.hadToWait = true }
        self.sample = sample
        let time = now - sample.since
        guard sample.bytes > 0, time >= Self.sampleTime else { return }
        take(sample, rate: Double(sample.bytes) * 1e9 / Double(time.nanoseconds))
        self.sample = Sample(since: now, isHeld: isHeld)
    }

    private mutating func take(_ sample: Sample, rate: Double) {
        if sample.ranDry || !sample.isHeld {
            bandwidth = max(bandwidth, rate)
        } else {
            bandwidth = hasWaited ? (bandwidth + rate) / 2 : rate
        }
        hasWaited = hasWaited || (sample.isHeld && sample.hadToWait)
        let bytes = bandwidth * Double(Self.target.nanoseconds) / 1e9
        let least = hasWaited ? Self.leastBytes : Self.firstBytes
        limit = max(least, Int(min(bytes, Double(Self.mostBytes))))
    }

    /// When to poll again while frames are held: when there should be room for the next frame. Nobody can
    /// tell when a link that stands still will go on: the longer it stands, the less often it is polled.
    var nextPoll: TimeAmount {
        var pause = TimeAmount.nanoseconds(standstill.nanoseconds / 8)
        if hasWaited {
            let excess = Double(max(0, inFlight - limit / 2))
            let longest = Double(Self.longestPoll.nanoseconds)
            pause = max(pause, .nanoseconds(Int64(min(excess / max(bandwidth, 1) * 1e9, longest))))
        }
        return min(max(Self.shortestPoll, pause), Self.longestPoll)
    }
}
