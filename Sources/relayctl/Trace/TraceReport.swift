import ControlAPI

/// What is in a trace, as --json of `relayctl trace info` prints it.
struct TraceReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    var schema = 1
    var files: [File] = []
    /// Of the first record and the latest entry; nil of nothing.
    var from: Timestamp?
    var to: Timestamp?
    /// As configured.
    var accessory = ""
    /// "all", or "headers" where the payload of audio and video is left out.
    var streams = ""
    /// Parameters that are overwritten.
    var masked: [String] = []
    /// Frames in which something was overwritten.
    var maskedFrames = 0
    var links: [Link] = []
    var apps: [App] = []
    var fromApps = Amount()
    var fromHeadUnit = Amount()
    var services: [Service] = []
    /// Frames that were not passed on, by reason.
    var dropped: [String: Int] = [:]
    /// Frames that relayd sent itself.
    var own = 0
    /// Bytes that were no frame.
    var garbageBytes = 0
    /// What passed and was not recorded.
    var gaps = 0
    var missed = Amount()
    var notes: [Note] = []
    /// Links, apps and notes beyond those that are listed.
    var more: [String: Int] = [:]

    struct Amount: Codable, Sendable, Equatable {
        var frames = 0
        /// On the wire, headers counted.
        var bytes = 0

        mutating func add(_ frames: Int, _ bytes: Int) {
            self.frames = Units.sum([self.frames, frames])
            self.bytes = Units.sum([self.bytes, bytes])
        }
    }

    struct File: Codable, Sendable, Equatable {
        var path: String
        /// Counts the files of a ring from 1.
        var number: Int?
        var program: String?
        /// RFC 3339, as the file has it.
        var started: String?
        /// Why it was closed; nil when it was not.
        var closed: String?
        /// Bytes of a packet that its writer had not finished.
        var unfinishedBytes = 0

        enum CodingKeys: String, CodingKey {
            case path, number, program, started, closed
            case unfinishedBytes = "unfinished_bytes"
        }
    }

    struct Link: Codable, Sendable, Equatable {
        var number: Int
        var address: String
        var openedAt: Timestamp?
        var closedAt: Timestamp?
        var reason: String?

        enum CodingKeys: String, CodingKey {
            case number, address, reason
            case openedAt = "opened_at"
            case closedAt = "closed_at"
        }
    }

    struct App: Codable, Sendable, Equatable {
        /// Number of its connection.
        var app: Int
        /// As it registered.
        var name: String?
        var appID: String?
        var peer: String?
        var connectedAt: Timestamp?
        var leftAt: Timestamp?
        var reason: String?
        var sessions: [Int] = []
        var sent = Amount()
        var received = Amount()

        enum CodingKeys: String, CodingKey {
            case app, name, peer, reason, sessions, sent, received
            case appID = "app_id"
            case connectedAt = "connected_at"
            case leftAt = "left_at"
        }
    }

    struct Service: Codable, Sendable, Equatable {
        var service: String
        /// "app" or "accessory": who sent it.
        var from: String
        var frames: Int
        var bytes: Int
    }

    struct Note: Codable, Sendable, Equatable {
        var at: Timestamp
        /// "notice", "advice" or "mark".
        var kind: String
        var app: Int?
        var code: String?
        var text: String
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
