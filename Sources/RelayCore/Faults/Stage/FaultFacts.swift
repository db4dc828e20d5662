// What is known of a message on its way; used by `FaultStage`.

import MessageFilters
import NIOCore
import SDLProtocol

/// What rules know of an app.
package struct FaultAppFacts: Hashable, Sendable {
    /// Number of its connection.
    package var connection: UInt64
    /// As registered; nil before that.
    package var name: String?
    package var appID: String?

    package init(connection: UInt64, name: String? = nil, appID: String? = nil) {
        (self.connection, self.name, self.appID) = (connection, name, appID)
    }
}

/// What kind of message a frame is or begins.
enum FaultKind: UInt8 {
    case request, response, notification, control, stream, security, encrypted, undecodable
    /// The first frame of a message: only the next one tells what kind it is.
    case unknown

    var word: String { "\(self)" }
}

/// What the headers of a frame and of its RPC tell, without looking into JSON.
struct FaultHeader: Hashable {
    var direction: Direction
    var session: UInt8
    var service: ServiceType
    var kind: FaultKind
    /// For RPCs.
    var functionID: UInt32 = 0
    var isStartService = false

    /// - Parameter payload: The payload of the frame with the RPC header; nil for a first frame.
    init(_ frame: Frame, _ direction: Direction, payload: ByteBuffer?) {
        self.direction = direction
        (session, service) = (frame.sessionID, frame.service)
        if frame.type == .control {
            kind = .control
            isStartService = frame.controlType == .startService
        } else if frame.service.isStream {
            kind = .stream
        } else if frame.isEncrypted {
            kind = .encrypted
        } else if frame.service == .control {
            kind = .security
        } else if let payload {
            // v1 has no binary header (SDL protocol spec, "RPC payload").
            guard frame.version > 1, let header = RPCHeader(payload) else {
                kind = .undecodable
                return
            }
            kind =
                switch header.type {
                case .request: .request
                case .response: .response
                case .notification: .notification
                }
            functionID = header.functionID
        } else {
            kind = .unknown
        }
    }

    var isRPC: Bool { kind == .request || kind == .response || kind == .notification }

    /// The whole header in one number.
    var packed: UInt64 {
        UInt64(functionID) << 32 | UInt64(session) << 24 | UInt64(service.rawValue) << 16
            | UInt64(kind.rawValue) << 8 | (isStartService ? 2 : 0)
            | (direction == .fromApp ? 1 : 0)
    }
}

/// A message of which only its header and its app are known; for all else the answer is nil.
struct FaultHeaderSubject: FilterSubject {
    let header: FaultHeader
    let app: FaultAppFacts

    func holds(_ term: FilterTerm) -> Bool? {
        switch term {
        case .app(let pattern, let connection):
            return connection == app.connection
                || app.name.map(pattern.matches) ?? false
                || app.appID.map(pattern.matches) ?? false
        case .name(.rpc, _, let names):
            if header.kind == .unknown { return nil }
            return header.isRPC
                && names.contains(FunctionID(rawValue: header.functionID).description)
        case .name(.kind, _, let names):
            return header.kind == .unknown ? nil : names.contains(header.kind.word)
        case .name(.service, _, let names): return names.contains(header.service.name)
        case .name(.from, _, let names): return names.contains(header.direction.filterWord)
        case .number(.session, let order, let wanted):
            return order.holds(Double(header.session), wanted.value)
        case .number(.bytes, _, _): return nil
        case .number(.correlation, _, _), .parameter, .text:
            return header.isRPC || header.kind == .unknown ? nil : false
        case .result:
            return header.kind == .response || header.kind == .unknown ? nil : false
        case .ok, .priority, .number: return false
        }
    }
}

/// The same with the bytes; JSON is read only when a term asks for it, and only once.
final class FaultSubject: FilterSubject {
    private let known: FaultHeaderSubject
    private let payload: ByteBuffer
    /// Bytes of the whole message.
    private let bytes: Int
    private lazy var header = RPCHeader(payload)
    private lazy var json = readJSON()
    private lazy var parameters = json.flatMap { try? JSONObject($0) }

    init(_ known: FaultHeaderSubject, payload: ByteBuffer, bytes: Int) {
        (self.known, self.payload, self.bytes) = (known, payload, bytes)
    }

    func holds(_ term: FilterTerm) -> Bool? {
        if let holds = known.holds(term) { return holds }
        switch term {
        case .number(.bytes, let order, let wanted): return order.holds(Double(bytes), wanted.value)
        case .number(.correlation, let order, let wanted):
            return header.map { order.holds(Double($0.correlationID), wanted.value) } ?? false
        case .parameter(let path, let test): return parameters?.has(path[...], test) ?? false
        case .text(let pattern):
            return json.map { pattern.matches(String(buffer: $0)) } ?? false
        case .result(let pattern):
            return parameters?.string("resultCode").map(pattern.matches) ?? false
        default: return false
        }
    }

    /// Nil when the JSON goes on in another frame, or is larger than may be read on the event loop.
    private func readJSON() -> ByteBuffer? {
        guard let header, header.jsonBytes > 0, header.jsonBytes <= FaultLimits.jsonBytes else {
            return nil
        }
        return payload.getSlice(
            at: payload.readerIndex + RPCHeader.bytes, length: header.jsonBytes)
    }
}
