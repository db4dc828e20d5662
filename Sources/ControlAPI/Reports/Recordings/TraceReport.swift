/// The contents of a trace: the answer to `GET /v1/recordings/:name/info`, and the output of
/// `relayctl trace info` with --json.
package struct TraceReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    package var files: [File] = []
    /// Times of the first record and the latest entry; nil when there are none.
    package var from: Timestamp?
    package var to: Timestamp?
    /// As configured.
    package var accessory = ""
    /// "all", or "headers" where the payload of audio and video is left out.
    package var streams = ""
    /// Parameters that are masked.
    package var masked: [String] = []
    /// Frames in which something was masked.
    package var maskedFrames = 0
    package var links: [Link] = []
    package var apps: [App] = []
    package var fromApps = Amount()
    package var fromHeadUnit = Amount()
    package var services: [Service] = []
    /// Frames that were not passed on, by reason.
    package var dropped: [String: Int] = [:]
    /// Frames that relayd sent itself.
    package var own = 0
    /// Bytes that were no frame.
    package var garbageBytes = 0
    /// Traffic that passed and was not recorded.
    package var gaps = 0
    package var missed = Amount()
    package var notes: [Note] = []
    /// Number of items that are not listed, by kind: links, apps, notes or names of masked parameters.
    package var more: [String: Int] = [:]

    package init() {}

    package struct Amount: Codable, Sendable, Equatable {
        package var frames = 0
        /// On the wire, including headers.
        package var bytes = 0

        package mutating func add(_ frames: Int, _ bytes: Int) {
            self.frames = Self.sum(self.frames, frames)
            self.bytes = Self.sum(self.bytes, bytes)
        }

        package init(frames: Int = 0, bytes: Int = 0) {
            (self.frames, self.bytes) = (frames, bytes)
        }

        /// The sum, limited to what fits: a file may contain any number.
        package static func sum(_ one: Int, _ other: Int) -> Int {
            let (sum, overflow) = one.addingReportingOverflow(other)
            return overflow ? .max : sum
        }
    }

    package struct File: Codable, Sendable, Equatable {
        package var path: String
        /// Counts the files of a ring from 1.
        package var number: Int?
        package var program: String?
        /// RFC 3339, as the file has it.
        package var started: String?
        /// Why it was closed; nil when it was not closed.
        package var closed: String?
        /// Bytes of a packet that its writer had not finished.
        package var unfinishedBytes = 0
        /// Why it was not read to its end; nil when it was.
        package var problem: String?

        package init(path: String) { self.path = path }

        enum CodingKeys: String, CodingKey {
            case path, number, program, started, closed, problem
            case unfinishedBytes = "unfinished_bytes"
        }
    }

    package struct Link: Codable, Sendable, Equatable {
        package var number: Int
        package var address: String
        package var openedAt: Timestamp?
        package var closedAt: Timestamp?
        package var reason: String?

        package init(number: Int, address: String, openedAt: Timestamp?) {
            (self.number, self.address, self.openedAt) = (number, address, openedAt)
        }

        enum CodingKeys: String, CodingKey {
            case number, address, reason
            case openedAt = "opened_at"
            case closedAt = "closed_at"
        }
    }

    package struct App: Codable, Sendable, Equatable {
        /// Number of the app's connection.
        package var app: Int
        /// The name it registered with.
        package var name: String?
        package var appID: String?
        package var peer: String?
        package var connectedAt: Timestamp?
        package var leftAt: Timestamp?
        package var reason: String?
        package var sessions: [Int] = []
        package var sent = Amount()
        package var received = Amount()

        package init(app: Int) { self.app = app }

        enum CodingKeys: String, CodingKey {
            case app, name, peer, reason, sessions, sent, received
            case appID = "app_id"
            case connectedAt = "connected_at"
            case leftAt = "left_at"
        }
    }

    package struct Service: Codable, Sendable, Equatable {
        package var service: String
        /// The sender: "app" or "accessory".
        package var from: String
        package var frames: Int
        package var bytes: Int

        package init(service: String, from: String, frames: Int, bytes: Int) {
            (self.service, self.from) = (service, from)
            (self.frames, self.bytes) = (frames, bytes)
        }
    }

    package struct Note: Codable, Sendable, Equatable {
        package var at: Timestamp
        /// "notice", "advice" or "mark".
        package var kind: String
        package var app: Int?
        package var code: String?
        package var text: String

        package init(at: Timestamp, kind: String, app: Int?, code: String?, text: String) {
            (self.at, self.kind, self.app) = (at, kind, app)
            (self.code, self.text) = (code, text)
        }
    }

    enum CodingKeys: String, CodingKey {
        case schema, files, from, to, accessory, streams, masked
        case maskedFrames = "masked_frames"
        case links, apps
        case fromApps = "from_apps"
        case fromHeadUnit = "from_head_unit"
        case services, dropped, own
        case garbageBytes = "garbage_bytes"
        case gaps, missed, notes, more
    }
}
