package import NIOCore
package import RelayCore
package import SDLAdvice
package import SDLProtocol

/// One message, control frame, summary or event, with its known context. Made by `TrafficDecoder`, passed by
/// `TrafficObserver` to log, facts and all other consumers.
package struct TrafficEntry: Sendable {
    /// The number of the entry, from 1, across all apps and links.
    package var number: UInt64
    /// For a message: when its last frame was read.
    package var time: WallTime
    /// The app's connection; nil when no app is concerned.
    package var app: AppID?
    /// Known from its RegisterAppInterface on; without control characters, at most 100 scalars.
    package var appName: String?
    /// The `appID` that the app registered with.
    package var registeredAppID: String?
    /// 0 while the session does not exist yet; nil when no session is concerned.
    package var sessionID: UInt8?
    package var service: ServiceType?
    package var direction: Direction?
    /// Payload bytes of the message or frame, without frame headers.
    package var bytes: Int
    /// Number of frames in which it arrived.
    package var frames: Int
    package var fate: FrameFate
    /// Set when one of its frames nears or exceeds what the session's ACK allows; reported once per session,
    /// service and direction.
    package var largeFrame: LargeFrame?
    /// For a StartService that was refused or has waited too long: the side at fault.
    package var startFault: FaultSide?
    package var content: Content

    package enum Content: Sendable {
        case rpc(RPCEntry)
        case control(ControlEntry)
        /// About a second of audio or video.
        case stream(StreamSummary)
        /// A step of the TLS handshake.
        case security(SecurityQuery)
        /// A message that only its two ends can read.
        case encrypted
        case undecodable(UndecodableEntry)
        case dropped(DroppedEntry)
        case event(EventEntry)
    }
}

extension TrafficEntry {
    /// Whether relayd sent it itself, or it was sent to relayd.
    package var isOfRelay: Bool { fate == .byRelay || fate == .dropped(.answersRelay) }

    /// Whether logs show it and the ring keeps it.
    var isForPeople: Bool { if case .event(.session) = content { false } else { true } }
}

extension Direction {
    /// The sender, as JSON, journal and metrics name it: "app" or "accessory".
    package var sender: String { self == .fromApp ? "app" : "accessory" }
}

/// A request, response or notification.
package struct RPCEntry: Sendable {
    package var message: RPCMessage
    /// For a response: its outcome.
    package var outcome: RPCOutcome?
    /// The request that a response answers; nil when it was not seen, or answered before.
    package var request: PendingRequest?
    /// From request to response, in nanoseconds, never negative.
    package var latency: Int64?
    /// For a request: an unanswered one with the same correlation ID, which is now forgotten.
    package var replaced: PendingRequest?
    /// A response to a request that was never made, or was answered before.
    package var isUnasked = false
    /// The contents of its bulk data; nil when unknown, and without bulk data.
    package var bulk: BulkFacts?
    /// Complete, but not as its first frame announced.
    package var problem: AssemblyProblem?
    /// Violations of the specification; also empty without a check.
    package var validation: [ValidationProblem] = []
}

/// A request that waits for its response.
package struct PendingRequest: Hashable, Sendable {
    /// The number of the request's entry.
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
    /// The protocol version of its header.
    package var version: UInt8
    /// Whether the service is encrypted, or is to be.
    package var isProtected: Bool
    package var payload: ControlPayload
    /// For an RPC StartServiceACK that an app gets.
    package var grant: GrantMeaning?
    /// Whether a StartService has to wait in relayd before it is sent.
    package var isWaiting = false
}

/// A summary of the traffic of an audio or video service.
package struct StreamSummary: Hashable, Sendable {
    /// Since the previous summary.
    package var frames: Int
    package var bytes: Int
    /// From first to last frame counted, in nanoseconds; 0 for a single frame.
    package var duration: Int64
    /// Since the service began.
    package var totalFrames: Int
    package var totalBytes: Int
    package var isEncrypted: Bool
    /// Whether the service has ended.
    package var isFinal: Bool
    package var lastFrame: WallTime
    /// Single and multi-frame messages begun since the previous summary; app libraries send one picture of
    /// video in each.
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

/// Data that should have been a message but is not.
package struct UndecodableEntry: Sendable {
    package enum Reason: Hashable, Sendable {
        case assembly(AssemblyProblem)
        case rpc(RPCError)
        /// A message of the control service too short for a security query.
        case securityQuery(bytes: Int)
    }

    package var reason: Reason
    /// The header of the RPC, if that much could be read.
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
        // A copy, so that an entry kept for long does not keep a whole read buffer alive.
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
    /// The frame, if the entry stands for one; nil if it sums up those that followed.
    package var frame: Frame?
    package var rpc: RPCMessage?
}

/// An event of a connection.
package enum EventEntry: Hashable, Sendable {
    case appConnected(peer: String)
    case appClosed(reason: String)
    /// The router's report about a session of an app that stays connected. Only for consumers that track
    /// sessions: people see the frames.
    case session(SessionEvent)
    /// `number` counts the links since relayd started, from 1.
    case linkOpened(number: Int, address: String)
    case linkClosed(reason: String)
    /// Observers were too slow; so many frames and bytes were forwarded without being seen.
    case missed(frames: Int, bytes: Int)
    /// A request has waited longer than its patience, so many nanoseconds by now; reported once. An answer
    /// may still come.
    case unanswered(PendingRequest, waited: Int64)
    /// A StartService of the entry's service has waited so many nanoseconds for ACK or NAK.
    case unansweredStart(waited: Int64)
    /// The hub noticed something below the frames.
    case noticed(RelayNotice)
}

/// A frame that is correct only by some readings of `mtu` (SDL protocol spec, "MTU").
package struct LargeFrame: Hashable, Sendable {
    package var payloadBytes: Int
    /// From the StartServiceACK, in bytes.
    package var mtu: Int

    /// Whether it is correct by no reading: even the payload alone is larger.
    package var exceeds: Bool { payloadBytes > mtu }
}
