/// What was counted in a trace: the answer to `GET /v1/recordings/:name/stats`, and what --json of
/// `relayctl trace stats` prints. The report of `relayctl stats`, and streams.
package struct TraceStatsReport: Encodable, Sendable {
    package var counts: StatsReport
    package var streams: [Stream]
    /// Frames of more streams than are told apart; nil without any.
    package var leftOut: Int?
    /// Why the trace was not read to its end; nil when it was.
    package var problem: String?

    package init(counts: StatsReport, streams: [Stream], leftOut: Int? = nil) {
        (self.counts, self.streams, self.leftOut) = (counts, streams, leftOut)
    }

    package struct Stream: Codable, Sendable, Equatable {
        /// As it registered.
        package var app: String
        /// "audio" or "video".
        package var service: String
        /// "app" or "accessory": who sent it.
        package var from: String
        package var frames = 0
        /// Payload bytes, also of what was not recorded.
        package var bytes = 0
        /// Begun; pictures of video.
        package var messages = 0
        /// While it ran; nil when everything came at once.
        package var messagesPerSecond: Double?
        package var bitsPerSecond: Double?
        /// Pauses of a second or more.
        package var gaps = 0
        /// Between two frames.
        package var longestPauseMilliseconds: Double?

        package init(app: String, service: String, from: String) {
            (self.app, self.service, self.from) = (app, service, from)
        }

        enum CodingKeys: String, CodingKey {
            case app, service, from, frames, bytes, messages
            case messagesPerSecond = "messages_per_s"
            case bitsPerSecond = "bits_per_s"
            case gaps
            case longestPauseMilliseconds = "longest_pause_ms"
        }
    }

    enum CodingKeys: String, CodingKey {
        case streams, problem
        case leftOut = "left_out_stream_frames"
    }

    package func encode(to encoder: any Encoder) throws {
        try counts.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(streams, forKey: .streams)
        try container.encodeIfPresent(leftOut, forKey: .leftOut)
        try container.encodeIfPresent(problem, forKey: .problem)
    }
}
