// What relayd sends in a session in place of its app or of the head unit, and the outcome.

package import NIOCore
package import SDLProtocol

/// An RPC to be sent in a session.
package struct DrivenRPC: Hashable, Sendable {
    package var function: FunctionID
    package var type: RPCType
    /// JSON.
    package var parameters: String
    package var bulk: ByteBuffer
    /// For a response, the ID of the request that it answers. A request to the head unit gets an ID of
    /// relayd's own.
    package var correlationID: Int32?

    package init(
        _ function: FunctionID, _ type: RPCType = .request, _ parameters: String = "{}",
        bulk: ByteBuffer = ByteBuffer(), correlationID: Int32? = nil
    ) {
        self.function = function
        self.type = type
        self.parameters = parameters
        self.bulk = bulk
        self.correlationID = correlationID
    }

    func payload(correlationID: Int32) -> ByteBuffer {
        var payload = ByteBuffer()
        RPCHeader(
            type: type, functionID: function.rawValue, correlationID: correlationID,
            jsonBytes: parameters.utf8.count
        ).write(to: &payload)
        payload.writeString(parameters)
        payload.writeImmutableBuffer(bulk)
        return payload
    }

    var payloadBytes: Int { RPCHeader.bytes + parameters.utf8.count + bulk.readableBytes }
}

/// The outcome of a `DrivenRPC`.
package enum DrivenAnswer: Hashable, Sendable {
    /// The head unit's response, whole unless it is larger than `apps.message_limit`.
    case response(Message)
    /// A message that asks for no answer has been passed on.
    case passedOn
    /// Timed out. For an injection: a message of the head unit that must not be cut was not whole in time.
    case tooLate
    /// The session or the link has ended.
    case sessionOver
}

/// Why nothing was sent.
package enum DriveRefusal: Error, Hashable, Sendable {
    case noSuchApp
    case noLink
    /// The app has no open session, or not this one.
    case noSession
    /// Messages of protocol version 1 have no header that names their request.
    case oldProtocol(session: UInt8)
    /// The session has reached the limit of relayd's unanswered requests.
    case tooMany(limit: Int)
    /// The session has reached the limit of messages waiting to be injected.
    case tooManyWaiting(limit: Int)
    case tooLarge(bytes: Int, limit: Int)
    /// The accessory does not speak SDL.
    case notSDL
    /// Audio and video begin with protocol version 3.
    case noStreams(session: UInt8, version: UInt8)
    /// The app itself has asked for the service, or uses it.
    case serviceInUse(ServiceType)
    /// relayd uses the service already.
    case serviceDriven(ServiceType)
}

extension DriveRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noSuchApp: "the app has left"
        case .noLink: "no head unit is connected"
        case .noSession: "the app has no open session"
        case .oldProtocol(let session):
            "session \(session) speaks protocol version 1, whose answers cannot be told from the app's; "
                + "expected version 2 or later"
        case .tooMany(let limit):
            "\(limit) requests of relayd's are unanswered in this session, and more may not be; wait for "
                + "an answer"
        case .tooManyWaiting(let limit):
            "\(limit) messages wait in this session until the head unit has finished one of its own, and more "
                + "may not; try again then"
        case .tooLarge(let bytes, let limit):
            "the message has \(bytes) bytes, expected at most \(limit) (apps.message_limit)"
        case .noStreams(let session, let version):
            "session \(session) speaks protocol version \(version); expected version 3 or later, with which "
                + "audio and video begin"
        case .serviceInUse(let service):
            "the app uses its \(service.name) service itself, and a session has one; have the app end it, or use "
                + "an app of relayd's own"
        case .serviceDriven(let service):
            "relayd streams \(service.name) in this session already; end that first"
        case .notSDL: "the accessory is no SDL head unit"
        }
    }
}
