/// The counts of a trace: the answer to `GET /v1/recordings/:name/stats`, and the output of
/// `relayctl trace stats` with --json. The report of `relayctl stats`, with streams.
package struct TraceStatsReport: Encodable, Sendable {
    package var counts: StatsReport
    package var streams: [Stream]
    /// Frames of streams beyond the number that is told apart; nil when there are none.
    package var leftOut: Int?
    /// Why the trace was not read to its end; nil when it was.
    package var problem: String?

    package init(counts: StatsReport, streams: [Stream], leftOut: Int? = nil) {
        (self.counts, self.streams, self.leftOut) = (counts, streams, leftOut)
    }

    package struct Stream: Codable, Sendable, Equatable {
        /// The name the app registered with.
        package var app: String
        /// "audio" or "video".
        package var service: String
        /// The sender: "app" or "accessory".
        package var from: String
        package var frames = 0
        /// Payload bytes, including those not recorded.
        package var bytes = 0
        /// Messages begun; for video, pictures.
        package var messages = 0
        /// Rate while it ran; nil when everything came at once.
        package var messagesPerSecond: Double?
        package var bitsPerSecond: Double?
        /// Pauses of a second or more.
        package var gaps = 0
        /// Between two consecutive frames.
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
