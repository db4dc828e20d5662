// Makes messages whole from first and consecutive frames; one per session of the simulator.

import NIOCore
import SDLProtocol

/// Collects the frames of one session's multi-frame messages (SDL protocol spec, "Multiple frames").
struct MultiFrameAssembler: Sendable {
    enum Outcome {
        case message(ByteBuffer)
        case incomplete
        /// A frame out of order, one nobody announced, or a total that does not add up.
        case malformed
    }

    /// Largest message: 255 consecutive frames of 131,072 B, more than which iOS cannot assemble.
    static let maximumMessageBytes = 255 * 131_072
    /// Messages begun at a time; libraries send one after the other.
    static let maximumMessages = 4

    private struct Partial: Sendable {
        var totalBytes: Int
        var frames = 0
        var payload = ByteBuffer()
    }

    private var partials: [UInt32: Partial] = [:]

    mutating func receive(_ frame: Frame) -> Outcome {
        switch frame.type {
        case .single: .message(frame.payload)
        case .first: begin(frame)
        case .consecutive: append(frame)
        case .control: .malformed
        }
    }

    private mutating func begin(_ frame: Frame) -> Outcome {
        let payload = frame.payload
        guard let total = payload.getInteger(at: payload.readerIndex, as: UInt32.self),
            Int(total) <= Self.maximumMessageBytes
        else { return .malformed }
        let id = frame.messageID ?? 0
        guard partials[id] != nil || partials.count < Self.maximumMessages else {
            partials = [:]
            return .malformed
        }
        partials[id] = Partial(totalBytes: Int(total))
        return .incomplete
    }

    private mutating func append(_ frame: Frame) -> Outcome {
        let id = frame.messageID ?? 0
        guard var partial = partials.removeValue(forKey: id) else { return .malformed }
        let isLast = frame.info == 0
        guard isLast || frame.info == UInt8(partial.frames % 255 + 1),
            partial.payload.readableBytes + frame.payloadBytes <= partial.totalBytes
        else { return .malformed }
        partial.frames += 1
        partial.payload.writeImmutableBuffer(frame.payload)
        if isLast {
            return partial.payload.readableBytes == partial.totalBytes
                ? .message(partial.payload) : .malformed
        }
        partials[id] = partial
        return .incomplete
    }
}
