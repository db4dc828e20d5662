// Messages that a client has relayd send in the place of an app or of the head unit, and the results.

/// The body of `POST /v1/apps/:app/send` and of `POST /v1/apps/:app/inject`.
package struct DriveRequest: ControlBody, Equatable {
    /// The RPC's name in the specification; with `unchecked`, also its number, such as "0x8001".
    package var rpc: String
    /// "request", "response" or "notification"; left out for the one that exists under that name.
    package var type: String?
    /// As JSON.
    package var parameters: AnyJSON?
    /// Single assignments: "mainField1=Hello", "softButtons[0].type=TEXT", "duration:=5000". They are
    /// added to `parameters`.
    package var set: [String]?
    /// Bulk data in base64; only for `send`.
    package var bulk: String?
    /// Whether to send it without comparing it with the specification.
    package var unchecked: Bool?
    /// Whether to only compare it with the specification, and not send it.
    package var check: Bool?
    /// How long to wait for the answer: milliseconds.
    package var timeoutMilliseconds: Int?
    /// A session of the app; left out for its first open one.
    package var session: Int?
    /// For a response: the request that it answers.
    package var correlationID: Int?

    package static let members = [
        "rpc", "type", "parameters", "set", "bulk", "unchecked", "check", "timeout_milliseconds",
        "session", "correlation_id",
    ]
    package static let usualTimeout = 10_000
    package static let timeouts = 10...60_000
    /// Maximum number of assignments in one request.
    package static let maximumAssignments = 2000
    /// Maximum bytes of bulk data in one request; larger files are sent in pieces.
    package static let maximumBulk = 1 << 20

    package init(
        rpc: String, type: String? = nil, parameters: AnyJSON? = nil, set: [String]? = nil,
        bulk: String? = nil, unchecked: Bool? = nil, check: Bool? = nil,
        timeoutMilliseconds: Int? = nil, session: Int? = nil, correlationID: Int? = nil
    ) {
        self.rpc = rpc
        self.type = type
        self.parameters = parameters
        self.set = set
        self.bulk = bulk
        self.unchecked = unchecked
        self.check = check
        self.timeoutMilliseconds = timeoutMilliseconds
        self.session = session
        self.correlationID = correlationID
    }

    enum CodingKeys: String, CodingKey {
        case rpc, type, parameters, set, bulk, unchecked, check
        case timeoutMilliseconds = "timeout_milliseconds"
        case session
        case correlationID = "correlation_id"
    }
}

/// The body of `POST /v1/apps`.
package struct OwnAppRequest: ControlBody, Equatable {
    /// The app's name.
    package var name: String
    /// The app's ID; derived from the name when left out.
    package var appID: String?
    /// Values of AppHMIType; DEFAULT when left out.
    package var hmiTypes: [String]?
    /// Whether the app is to unregister and leave.
    package var leave: Bool?

    package static let members = ["name", "app_id", "hmi_types", "leave"]
    /// Maximum length of a name and of an app ID, as in MOBILE_API.
    package static let maximumScalars = 100
    package static let maximumTypes = 100
    /// How long relayd waits for each answer of the head unit: milliseconds.
    package static let patience = 10_000

    package init(
        name: String, appID: String? = nil, hmiTypes: [String]? = nil, leave: Bool? = nil
    ) {
        (self.name, self.appID, self.hmiTypes, self.leave) = (name, appID, hmiTypes, leave)
    }

    enum CodingKeys: String, CodingKey {
        case name
        case appID = "app_id"
        case hmiTypes = "hmi_types"
        case leave
    }
}

/// The answer to `POST /v1/apps`.
package struct OwnAppReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// What was done, in one sentence.
    package var summary: String
    /// The app's number; left out when the app has left.
    package var app: Int?

    package init(summary: String, app: Int? = nil) {
        (self.summary, self.app) = (summary, app)
    }
}

/// The answer to `POST /v1/apps/:app/send` and to `POST /v1/apps/:app/inject`.
package struct DriveReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// What was done, in one sentence.
    package var summary: String
    /// The app's number.
    package var app: Int
    package var rpc: String
    /// "request", "response" or "notification".
    package var type: String
    /// Remarks that did not keep it from being sent.
    package var remarks: [String]
    /// For a check: why it would not be sent; left out when it would be.
    package var refusal: String?
    /// For a check: problems of single parameters.
    package var problems: [DriveProblem]?
    /// Whether the head unit has done what was asked; left out where there is no answer.
    package var success: Bool?
    package var resultCode: String?
    /// The head unit's own words.
    package var info: String?
    /// The parameters of the answer, as they were sent.
    package var response: AnyJSON?
    /// Bytes of bulk data in the answer.
    package var bulkBytes: Int?
    /// From the request to its answer.
    package var milliseconds: Double

    package init(
        summary: String, app: Int, rpc: String, type: String, remarks: [String],
        milliseconds: Double
    ) {
        self.summary = summary
        self.app = app
        self.rpc = rpc
        self.type = type
        self.remarks = remarks
        self.milliseconds = milliseconds
    }

    enum CodingKeys: String, CodingKey {
        case schema, summary, app, rpc, type, remarks, refusal, problems, success
        case resultCode = "result_code"
        case info, response
        case bulkBytes = "bulk_bytes"
        case milliseconds
    }
}

/// A problem of a parameter of the message to be sent.
package struct DriveProblem: Codable, Sendable, Equatable {
    /// The place, such as "softButtons[0].text".
    package var path: String
    /// In one sentence.
    package var message: String

    package init(path: String, message: String) {
        (self.path, self.message) = (path, message)
    }
}

/// Keys of the query of `POST /v1/apps/:app/stream`; only `service` for `DELETE`.
package enum StreamQueryKey: String, CaseIterable, Sendable {
    case service, fps, width, height
    case videoProtocol = "protocol"
    case rate, bits, channels, session
    case timeout = "timeout_milliseconds"

    /// Pictures per second.
    package static let framesPerSecond = 1.0...120.0
    package static let usualFramesPerSecond = 30.0
    /// Width and height of a picture in pixels.
    package static let sizes = 16...8192
    package static let usualWidth = 800
    package static let usualHeight = 480
    package static let protocols = ["RAW", "RTP"]
    /// Samples per second.
    package static let rates = 1000...192_000
    package static let usualRate = 16_000
    package static let sampleBits = [8, 16, 24, 32]
    package static let channelCounts = 1...8
}

/// The answer to `POST /v1/apps/:app/stream`.
package struct StreamReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// What was done, in one sentence.
    package var summary: String
    /// The app's number.
    package var app: Int
    /// "video" or "audio".
    package var service: String
    /// "RAW" or "RTP"; for video.
    package var videoProtocol: String?
    /// Pictures, or pieces of audio.
    package var pieces: Int
    /// Bytes of the stream, as they were handed over.
    package var bytes: Int
    /// From the first piece to the last.
    package var seconds: Double
    /// Maximum delay of the link behind the pace.
    package var lateMilliseconds: Double
    /// Whether the head unit has confirmed the end.
    package var confirmed: Bool

    package init(
        summary: String, app: Int, service: String, videoProtocol: String?, pieces: Int,
        bytes: Int, seconds: Double, lateMilliseconds: Double, confirmed: Bool
    ) {
        self.summary = summary
        self.app = app
        self.service = service
        self.videoProtocol = videoProtocol
        self.pieces = pieces
        self.bytes = bytes
        self.seconds = seconds
        self.lateMilliseconds = lateMilliseconds
        self.confirmed = confirmed
    }

    enum CodingKeys: String, CodingKey {
        case schema, summary, app, service
        case videoProtocol = "protocol"
        case pieces, bytes, seconds
        case lateMilliseconds = "late_milliseconds"
        case confirmed
    }
}
