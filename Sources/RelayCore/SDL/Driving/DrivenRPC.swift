// What relayd says in a session in the place of its app or of the head unit, and what comes of it.

package import NIOCore
package import SDLProtocol

/// An RPC that is to be said in a session.
package struct DrivenRPC: Hashable, Sendable {
    package var function: FunctionID
    package var type: RPCType
    /// JSON.
    package var parameters: String
    package var bulk: ByteBuffer
    /// Of a response: the request that it answers. Of a request to the head unit relayd's own is taken.
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

/// What became of it.
package enum DrivenAnswer: Hashable, Sendable {
    /// The head unit's response, whole unless it is larger than `apps.message_limit`.
    case response(Message)
    /// What asks for no answer has been handed on.
    case passedOn
    /// Its time is over. Of an injection: a message of the head unit that must not be cut was not whole in
    /// that time.
    case tooLate
    /// The session has ended, or the link.
    case sessionOver
}

/// Why it was not said at all.
package enum DriveRefusal: Error, Hashable, Sendable {
    case noSuchApp
    case noLink
    /// The app has no session that is open, or not this one.
    case noSession
    /// The messages of protocol version 1 name their request in no header.
    case oldProtocol(session: UInt8)
    /// As many requests of relayd's as may be are unanswered in this session.
    case tooMany(limit: Int)
    case tooLarge(bytes: Int, limit: Int)
    /// The accessory does not speak SDL.
    case notSDL
    /// Audio and video begin with protocol version 3.
    case noStreams(session: UInt8, version: UInt8)
    /// The app itself has asked for it, or uses it.
    case serviceInUse(ServiceType)
    /// relayd uses it already.
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
