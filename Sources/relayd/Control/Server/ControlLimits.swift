import NIOCore

/// What one request may cost. Everybody who may connect is trusted to look, but not to be free of
/// bugs; none of this touches the relay's own loop.
enum ControlLimits {
    /// Time a connection may sit without a complete request.
    static let idle = TimeAmount.seconds(10)
    /// Time a client may leave an answer unread once buffers are full.
    static let stall = TimeAmount.seconds(10)
    /// Time without a byte after which relayd stops waiting for the rest of a request that has been
    /// answered. Bytes on their way arrive within milliseconds.
    static let silence = TimeAmount.seconds(1)
    /// Time an answer about the traffic may wait until the observers have seen what has passed.
    static let observersPatience = TimeAmount.milliseconds(500)
    /// Bytes of a request's body: enough for a list of some hundred apps and functions.
    static let bodyBytes = 16_384
    /// Bytes of the body of a request that drives the conversation: 1 MiB of bulk data in base64, and its
    /// parameters.
    static let driveBytes = 1_600_000
    /// Bytes of one header field or of the request line, which may contain a percent-encoded
    /// filter.
    static let headerFieldBytes = headerBytes
    /// Bytes of all header fields together.
    static let headerBytes = 16_384
    static let headerFields = 64
}
