import NIOCore
import RelayCore
import SDLProtocol

/// Overwrites values of chosen parameters in RPCs and control payloads, frame by frame as they pass; lengths
/// stay the same.
///
/// A message may be split anywhere, so the state of its JSON is kept from frame to frame. Messages are
/// distinguished by app, direction, session, service and message ID, as in a head unit.
struct TraceMask {
    /// The name that stands for the binary part.
    static let bulk = "bulk"

    private let names: Set<[UInt8]>
    private let coversBulk: Bool
    private var messages: [Key: JSONMask] = [:]

    private struct Key: Hashable {
        var app: AppID?
        var direction: Direction
        var session: UInt8
        var service: ServiceType
        var message: UInt32
    }

    /// Maximum unfinished messages; when another begins, all of them are forgotten.
    private static let maximumMessages = 4096

    /// - Parameter names: The names of parameters, in any letter case.
    init(_ names: [String]) {
        self.names = Set(names.map { Array($0.lowercased().utf8) })
        coversBulk = names.contains(Self.bulk)
    }

    mutating func forget(_ app: AppID) {
        messages = messages.filter { $0.key.app != app }
    }

    mutating func forgetAll() { messages = [:] }

    /// - Parameter wire: The frame; header only, where the payload is not recorded.
    /// - Returns: Whether something was overwritten.
    mutating func cover(_ wire: inout ByteBuffer, _ tapped: TappedFrame) -> Bool {
        let frame = tapped.frame
        guard !frame.isEncrypted, wire.readableBytes > frame.headerBytes else { return false }
        if frame.type == .control {
            return ControlMask.cover(&wire, from: frame.headerBytes, names)
        }
        guard frame.service.carriesRPC else { return false }
        let key = Key(
            app: tapped.app, direction: tapped.direction, session: frame.sessionID,
            service: frame.service, message: frame.messageID ?? 0)
        switch frame.type {
        case .control: return false
        case .single:
            var mask = mask(frame, messageBytes: frame.payloadBytes)
            return mask.cover(&wire, from: frame.headerBytes)
        case .first:
            if messages.count >= Self.maximumMessages { messages = [:] }
            // A first frame carries the size of the message and the number of its frames.
            let announced = frame.payload.getInteger(
                at: frame.payload.readerIndex, as: UInt32.self)
            messages[key] = mask(frame, messageBytes: announced.map(Int.init))
            return false
        case .consecutive:
            // Without its beginning, the structure of a message is unknown, so all of it is overwritten.
            var mask = messages[key] ?? .blind
            let hasCovered = mask.cover(&wire, from: frame.headerBytes)
            messages[key] = frame.info == 0 ? nil : mask
            return hasCovered
        }
    }

    private func mask(_ frame: Frame, messageBytes: Int?) -> JSONMask {
        JSONMask(
            names, coversBulk: coversBulk, hasHeader: frame.version > 1, messageBytes: messageBytes)
    }
}
