package import NIOCore
package import RelayCore
package import SDLProtocol

/// The information in a trace besides frames (Documentation/trace-format.md, "Records").
package enum TraceRecord: Hashable, Sendable {
    case trace(TraceHeader)
    case linkOpened(number: Int, address: String)
    case linkClosed(reason: String)
    case appConnected(AppID, peer: String)
    case appLeft(AppID, reason: String)
    /// A StartService that had to wait is sent to the head unit.
    case startSent(AppID)
    case sessionEnded(AppID, session: UInt8)
    /// An audio or video service has ended, in a session that continues.
    case serviceEnded(AppID, session: UInt8, ServiceType)
    /// An observation of relayd that no frame shows.
    case notice(code: String, text: String, app: AppID?)
    case advice(code: String, text: String, app: AppID?)
    /// A note that a user added.
    case mark(text: String)
    /// The number of frames and bytes that passed here without being recorded.
    case gap(frames: Int, bytes: Int)
    case end(TraceEnd)
    /// A record of another version: its name, and its JSON as in the file.
    case other(name: String, app: AppID?, json: ByteBuffer)
}

/// The beginning of each file of a trace.
package struct TraceHeader: Hashable, Sendable {
    package static let version = 1

    package var version = Self.version
    /// The program that wrote the file, with its version.
    package var program: String
    /// The head unit's address, as configured.
    package var accessory: String
    /// In RFC 3339 format.
    package var started: String
    /// The number of the file in a ring, from 1.
    package var file = 1
    package var streams = TraceStreams.all
    /// Parameters whose values are overwritten.
    package var masked: [String] = []
    /// Records that the trace contains wherever they apply, as far as this version knows them. A trace that
    /// does not name one is older than that record; its information must then be derived from the frames.
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

/// The parts of audio and video that are recorded.
package enum TraceStreams: String, Hashable, Sendable, CaseIterable {
    case all
    /// Frames without their payload.
    case headers
}

/// The end of a trace file that was closed properly; the numbers are for this file.
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

    /// The app that the record concerns.
    package var app: AppID? {
        switch self {
        case .appConnected(let app, _), .appLeft(let app, _), .startSent(let app),
            .sessionEnded(let app, _), .serviceEnded(let app, _, _):
            app
        case .notice(_, _, let app), .advice(_, _, let app), .other(_, let app, _): app
        case .trace, .linkOpened, .linkClosed, .mark, .gap, .end: nil
        }
    }

    /// Whether the record concerns the link.
    var isOfLink: Bool {
        switch self {
        case .linkOpened, .linkClosed, .notice(_, _, nil): true
        default: false
        }
    }
}
