package import NIOCore
package import RelayCore
package import SDLProtocol

/// What a trace tells besides frames (Documentation/trace-format.md, "Records").
package enum TraceRecord: Hashable, Sendable {
    case trace(TraceHeader)
    case linkOpened(number: Int, address: String)
    case linkClosed(reason: String)
    case appConnected(AppID, peer: String)
    case appLeft(AppID, reason: String)
    /// A StartService that had to wait is sent to the head unit.
    case startSent(AppID)
    case sessionEnded(AppID, session: UInt8)
    /// An audio or video service is over, in a session that goes on.
    case serviceEnded(AppID, session: UInt8, ServiceType)
    /// What relayd saw that no frame shows.
    case notice(code: String, text: String, app: AppID?)
    case advice(code: String, text: String, app: AppID?)
    /// A note that a user added.
    case mark(text: String)
    /// This much passed without being recorded at this place.
    case gap(frames: Int, bytes: Int)
    case end(TraceEnd)
    /// A record of another version, by its name, and as it stands in the file.
    case other(name: String, app: AppID?, json: ByteBuffer)
}

/// How a file of a trace begins.
package struct TraceHeader: Hashable, Sendable {
    package static let version = 1

    package var version = Self.version
    /// The program that wrote it, with its version.
    package var program: String
    /// The head unit's address, as configured.
    package var accessory: String
    /// RFC 3339.
    package var started: String
    /// Counts the files of a ring from 1.
    package var file = 1
    package var streams = TraceStreams.all
    /// Parameters whose values are overwritten.
    package var masked: [String] = []
    /// Records that are in the trace wherever they apply, as far as they are known here. A trace that does not
    /// name one is older than that record, and leaves what it tells to be read from the frames.
    package var events = Self.knownEvents

    /// The name of `serviceEnded` in `events`.
    package static let serviceEnds = "service_ended"
    static let knownEvents = [serviceEnds]

    package init(program: String, accessory: String, started: String) {
        self.program = program
        self.accessory = accessory
        self.started = started
    }
}

/// What is kept of audio and video.
package enum TraceStreams: String, Hashable, Sendable, CaseIterable {
    case all
    /// Frames without their payload.
    case headers
}

/// How a file of a trace ends that was closed properly; the numbers are this file's.
package struct TraceEnd: Hashable, Sendable {
    package var reason: String
    package var frames = 0
    package var bytes = 0
    package var missedFrames = 0

    package init(reason: String) {
        self.reason = reason
    }
}

extension TraceRecord {
    init(_ note: TapNote) {
        switch note {
        case .mark(let text): self = .mark(text: text)
        case .advice(let code, let text, let app):
            self = .advice(code: code, text: text, app: app)
        }
    }

    /// The app it is about.
    package var app: AppID? {
        switch self {
        case .appConnected(let app, _), .appLeft(let app, _), .startSent(let app),
            .sessionEnded(let app, _), .serviceEnded(let app, _, _):
            app
        case .notice(_, _, let app), .advice(_, _, let app), .other(_, let app, _): app
        case .trace, .linkOpened, .linkClosed, .mark, .gap, .end: nil
        }
    }

    /// Whether it is about the link.
    var isOfLink: Bool {
        switch self {
        case .linkOpened, .linkClosed, .notice(_, _, nil): true
        default: false
        }
    }
}
