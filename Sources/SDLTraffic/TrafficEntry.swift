package import NIOCore
package import RelayCore
package import SDLAdvice
package import SDLProtocol

/// One message, control frame, summary or event, with what is known about where it belongs. Made by
/// `TrafficDecoder`, passed by `TrafficObserver` to log, facts and whatever else wants to know.
package struct TrafficEntry: Sendable {
    /// Counts entries from 1, across all apps and links.
    package var number: UInt64
    /// Of a message: when its last frame was read.
    package var time: WallTime
    /// The app's connection; nil when no app is concerned.
    package var app: AppID?
    /// From its RegisterAppInterface on, without control characters, at most 100 scalars.
    package var appName: String?
    /// The `appID` that the app registered with.
    package var registeredAppID: String?
    /// 0 while the session does not exist yet; nil when no session is concerned.
    package var sessionID: UInt8?
    package var service: ServiceType?
    package var direction: Direction?
    /// Payload bytes of the message or frame, frame headers not counted.
    package var bytes: Int
    /// Frames it arrived in.
    package var frames: Int
    package var fate: FrameFate
    /// One of its frames nears or exceeds what the session's ACK allows; told once per session,
    /// service and direction.
    package var largeFrame: LargeFrame?
    /// Of a StartService that was refused or has waited too long: whose doing it is.
    package var startFault: FaultSide?
    package var content: Content

    package enum Content: Sendable {
        case rpc(RPCEntry)
        case control(ControlEntry)
        /// Audio or video of about a second.
        case stream(StreamSummary)
        /// A step of the TLS handshake.
        case security(SecurityQuery)
        /// A message nobody but its two ends can read.
        case encrypted
        case undecodable(UndecodableEntry)
        case dropped(DroppedEntry)
        case event(EventEntry)
    }
}

extension TrafficEntry {
    /// What relayd has said itself, or what was said to it.
    package var isOfRelay: Bool { fate == .byRelay || fate == .dropped(.answersRelay) }

    /// Logs show it and the ring keeps it.
    var isForPeople: Bool { if case .event(.session) = content { false } else { true } }
}

extension Direction {
    /// Who sent it, as JSON, journal and metrics name the two: "app" or "accessory".
    package var sender: String { self == .fromApp ? "app" : "accessory" }
}

/// A request, response or notification.
package struct RPCEntry: Sendable {
    package var message: RPCMessage
    /// Of a response.
    package var outcome: RPCOutcome?
    /// The request that a response answers; nil when it was not seen, or answered before.
    package var request: PendingRequest?
    /// From request to response, in nanoseconds, never negative.
    package var latency: Int64?
    /// Of a request: the one with the same correlation ID that still waited, and now is forgotten.
    package var replaced: PendingRequest?
    /// A response to a request that was never made, or was answered before.
    package var isUnasked = false
    /// What its bulk data is; nil when nothing is known of it, and without bulk data.
    package var bulk: BulkFacts?
    /// Complete, but not as its first frame announced.
    package var problem: AssemblyProblem?
    /// What the specification has against it; empty also when nobody asked.
    package var validation: [ValidationProblem] = []
}

/// A request that waits for its response.
package struct PendingRequest: Hashable, Sendable {
    /// Of the request's entry.
    package var number: UInt64
    package var functionID: FunctionID
    package var correlationID: Int32
    package var direction: Direction
    package var time: WallTime
    /// How long an answer may take before its absence is worth a warning, in nanoseconds.
    package var patience: Int64
}

package struct ControlEntry: Sendable {
    package var type: ControlFrameType
    /// Protocol version of its header.
    package var version: UInt8
    /// The service is, or is wanted to be, encrypted.
    package var isProtected: Bool
    package var payload: ControlPayload
    /// Of an RPC StartServiceACK that an app gets.
    package var grant: GrantMeaning?
    /// Of a StartService that has to wait in relayd before it is sent.
    package var isWaiting = false
}

/// What went through an audio or video service.
package struct StreamSummary: Hashable, Sendable {
    /// Since the summary before.
    package var frames: Int
    package var bytes: Int
    /// From first to last frame counted, in nanoseconds; 0 for a single frame.
    package var duration: Int64
    /// Since the service began.
    package var totalFrames: Int
    package var totalBytes: Int
    package var isEncrypted: Bool
    /// The service has ended.
    package var isFinal: Bool
    package var lastFrame: WallTime
    /// Since the summary before: single and multi-frame messages begun; app libraries send one
    /// picture of video in each.
    package var messages: Int

    /// Messages per second; nil when the frames came all at once.
    package var messageRate: Double? {
        duration > 0 && messages > 1 ? Double(messages - 1) * 1e9 / Double(duration) : nil
    }

    /// Bits per second; nil when the frames came all at once.
    package var bitRate: Double? {
        duration > 0 ? Double(bytes) * 8e9 / Double(duration) : nil
    }
}

/// Something that should have been a message but is not.
package struct UndecodableEntry: Sendable {
    package enum Reason: Hashable, Sendable {
        case assembly(AssemblyProblem)
        case rpc(RPCError)
        /// A message of the control service too short for a security query.
        case securityQuery(bytes: Int)
    }

    package var reason: Reason
    /// Header of the RPC, when as much could be read.
    package var header: RPCHeader?
    /// At most `maximumFirstBytes`, in storage of their own.
    package var firstBytes: ByteBuffer

    package static let maximumFirstBytes = 64
}

extension UndecodableEntry {
    init(_ message: Message, _ reason: Reason) {
        let payload = message.payload
        let length = min(payload.readableBytes, Self.maximumFirstBytes)
        let hasHeader = message.version > 1 && message.service.carriesRPC && !message.isEncrypted
        // A copy, so that an entry kept for long does not keep a whole read buffer with it.
        var firstBytes = ByteBuffer()
        firstBytes.writeBytes(payload.readableBytesView.prefix(length))
        self.init(
            reason: reason, header: hasHeader ? RPCHeader(payload) : nil, firstBytes: firstBytes)
    }
}

extension UndecodableEntry.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .assembly(let problem): "\(problem)"
        case .rpc(let error): "\(error)"
        case .securityQuery(let bytes):
            "\(bytes) bytes, a security query has \(SecurityQuery.headerBytes) or more"
        }
    }
}

/// Frames that relayd did not pass on.
package struct DroppedEntry: Sendable {
    package var reason: DropReason
    /// The frame, when the entry stands for one; nil when it sums up those that followed.
    package var frame: Frame?
    package var rpc: RPCMessage?
}

/// Something that happened to a connection.
package enum EventEntry: Hashable, Sendable {
    case appConnected(peer: String)
    case appClosed(reason: String)
    /// What the router says of a session of an app that goes on. For those who follow sessions only:
    /// people see the frames.
    case session(SessionEvent)
    /// `number` counts the links since relayd started, from 1.
    case linkOpened(number: Int, address: String)
    case linkClosed(reason: String)
    /// Observers were too slow; this much was forwarded without being seen.
    case missed(frames: Int, bytes: Int)
    /// A request has waited longer than its patience, so many nanoseconds by now; told once. An
    /// answer may still come.
    case unanswered(PendingRequest, waited: Int64)
    /// A StartService of the entry's service has waited so many nanoseconds for ACK or NAK.
    case unansweredStart(waited: Int64)
    /// The hub noticed something below the frames.
    case noticed(RelayNotice)
}

/// A frame that is only right by some readings of `mtu` (SDL protocol spec, "MTU").
package struct LargeFrame: Hashable, Sendable {
    package var payloadBytes: Int
    /// From the StartServiceACK, in bytes.
    package var mtu: Int

    /// By no reading: even the payload alone is larger.
    package var exceeds: Bool { payloadBytes > mtu }
}
