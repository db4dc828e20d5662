import NIOCore
import RelayCore
import SDLProtocol

/// Overwrites values of chosen parameters in frames of RPCs, frame by frame as they pass; lengths stay.
///
/// A message may be cut anywhere, so what is known of its JSON is kept from frame to frame. Messages are
/// told apart by app, direction, session and message ID, as a head unit tells them apart.
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
        var message: UInt32
    }

    /// Messages that were begun and never ended are forgotten beyond so many.
    private static let maximumMessages = 4096

    /// - Parameter names: Of parameters, in any case.
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
        guard frame.service == .rpc || frame.service == .bulk, !frame.isEncrypted,
            wire.readableBytes > frame.headerBytes
        else { return false }
        let key = Key(
            app: tapped.app, direction: tapped.direction, session: frame.sessionID,
            message: frame.messageID ?? 0)
        switch frame.type {
        case .control: return false
        case .single:
            var mask = JSONMask(names, coversBulk: coversBulk, hasHeader: frame.version > 1)
            return mask.cover(&wire, from: frame.headerBytes)
        case .first:
            if messages.count >= Self.maximumMessages { messages = [:] }
            messages[key] = JSONMask(names, coversBulk: coversBulk, hasHeader: frame.version > 1)
            return false
        case .consecutive:
            // Of a message whose beginning was not seen nobody knows what is where: all of it goes.
            var mask = messages[key] ?? .blind
            let hasCovered = mask.cover(&wire, from: frame.headerBytes)
            messages[key] = frame.info == 0 ? nil : mask
            return hasCovered
        }
    }
}
