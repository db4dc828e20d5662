package import NIOCore

/// What a sink gets of each frame; always its header. Each case includes those before it.
package enum TapPayload: Sendable, Comparable {
    /// Headers only, for sinks that count.
    case headers
    /// All but the payload of audio and video frames. The control frames of these services are whole.
    case exceptStreams
    /// Everything: with video, a copy of nearly every byte, on the relay's loop.
    case everything
}

/// What happens to frames that a sink's queue has no room for.
package enum TapOverflow: Sendable {
    /// They pass unseen, and are counted. Forwarding never waits.
    case miss
    /// They are kept, and the hub reads nobody until half of the queue is empty again: one read of each peer
    /// is the most that the queue may hold above its limit.
    case wait
}

/// How much of each frame a sink gets, and how long frames may wait for it.
package struct TapPolicy: Sendable {
    package var payload: TapPayload
    /// How long a frame may wait until its batch is handed over.
    package var delay: TimeAmount
    /// The same for a frame of audio or video.
    package var streamDelay: TimeAmount
    package var overflow: TapOverflow

    package init(
        payload: TapPayload, delay: TimeAmount, streamDelay: TimeAmount,
        overflow: TapOverflow = .miss
    ) {
        self.payload = payload
        self.delay = delay
        self.streamDelay = streamDelay
        self.overflow = overflow
    }

    /// For the observers. Nobody reads a log any faster, and audio and video are only summed up, once a
    /// second.
    package static let observers = Self(
        payload: .exceptStreams, delay: .milliseconds(10), streamDelay: .milliseconds(100))
}
