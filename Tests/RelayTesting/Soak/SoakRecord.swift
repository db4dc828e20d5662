// What every frame of a soak carries, so that each byte can be checked.

import NIOCore
import SDLProtocol

/// The life that a frame belongs to, its place in the sequence, and bytes that follow from both.
struct SoakRecord: Equatable {
    /// One connection of one app; the next one has another number.
    var life: UInt32
    /// Counts the records of a life on one service in one direction, from 0.
    var sequence: UInt32
    /// Bytes behind the numbers.
    var fillBytes: Int

    private static let magic: UInt32 = 0x534F_414B
    static let headBytes = 12
    static let maximumFillBytes = 120 << 10

    /// 0, 1, … 255, 0, …: every fill is a piece of it.
    private static let ramp = ByteBuffer(
        bytes: (0..<maximumFillBytes + 256).map { UInt8(truncatingIfNeeded: $0) })

    private var fill: ByteBuffer {
        let start = Int((life &* 31 &+ sequence &* 7) & 0xFF)
        return Self.ramp.getSlice(at: start, length: fillBytes) ?? ByteBuffer()
    }

    var bytes: ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(Self.headBytes + fillBytes)
        bytes.writeInteger(Self.magic)
        bytes.writeInteger(life)
        bytes.writeInteger(sequence)
        bytes.writeImmutableBuffer(fill)
        return bytes
    }

    init(life: UInt32, sequence: UInt32, fillBytes: Int) {
        self.life = life
        self.sequence = sequence
        self.fillBytes = min(fillBytes, Self.maximumFillBytes)
    }

    /// Nil when any byte is wrong.
    init?(_ bytes: ByteBuffer) {
        var bytes = bytes
        guard bytes.readInteger(as: UInt32.self) == Self.magic,
            let life: UInt32 = bytes.readInteger(), let sequence: UInt32 = bytes.readInteger()
        else { return nil }
        self.init(life: life, sequence: sequence, fillBytes: bytes.readableBytes)
        guard bytes == fill else { return nil }
    }

    /// The record in a frame: behind the RPC header and JSON where there are some.
    init?(in frame: Frame) {
        var payload = frame.payload
        if frame.type == .single, frame.service == .rpc || frame.service == .bulk {
            guard let header = RPCHeader(payload) else { return nil }
            payload.moveReaderIndex(
                forwardBy: min(RPCHeader.bytes + header.jsonBytes, payload.readableBytes))
        }
        self.init(payload)
    }
}

/// Makes the frames of one direction of a session, those of each service numbered without a gap:
/// between services there is no order, an RPC overtakes video and files.
struct SoakSource {
    let life: UInt32
    let session: UInt8
    /// RPCs from an app are requests, those from a head unit notifications.
    let type: RPCType
    private(set) var sent: UInt32 = 0
    private var sequences: [ServiceType: UInt32] = [:]
    private var messageID: UInt32 = 1

    init(life: UInt32, session: UInt8, type: RPCType) {
        self.life = life
        self.session = session
        self.type = type
    }

    /// The next message, of a random kind and size: mostly small, sometimes as large as frames get.
    mutating func next(using random: inout SeededGenerator) -> [Frame] {
        messageID += 1
        let fill =
            switch UInt8.random(in: 0..<10, using: &random) {
            case 0..<6: Int.random(in: 0...300, using: &random)
            case 6..<9: Int.random(in: 300...8000, using: &random)
            default: Int.random(in: 8000...SoakRecord.maximumFillBytes, using: &random)
            }
        switch UInt8.random(in: 0..<8, using: &random) {
        case 0..<3: return [rpc(.rpc, .show, record(fill, .rpc))]
        case 3..<5: return [rpc(.bulk, .putFile, record(fill, .bulk))]
        case 5: return [stream(.audio, record(fill, .audio))]
        case 6: return [stream(.video, record(fill, .video))]
        default: return multiFrame(parts: Int.random(in: 2...6, using: &random), fill: fill / 6)
        }
    }

    private mutating func record(_ fill: Int, _ service: ServiceType) -> ByteBuffer {
        let sequence = sequences[service, default: 0]
        sequences[service] = sequence + 1
        sent += 1
        return SoakRecord(life: life, sequence: sequence, fillBytes: fill).bytes
    }

    private func rpc(_ service: ServiceType, _ function: FunctionID, _ bulk: ByteBuffer) -> Frame {
        .rpc(
            version: 5, service: service, sessionID: session, messageID: messageID, type: type,
            functionID: function.rawValue, correlationID: Int32(truncatingIfNeeded: messageID),
            json: "{}", bulk: bulk)
    }

    private func stream(_ service: ServiceType, _ payload: ByteBuffer) -> Frame {
        Frame(
            version: 5, type: .single, service: service, sessionID: session,
            messageID: messageID, payload: payload)
    }

    private mutating func multiFrame(parts: Int, fill: Int) -> [Frame] {
        let records = (0..<parts).map { _ in record(fill, .bulk) }
        var first = ByteBuffer()
        first.writeInteger(UInt32(records.reduce(0) { $0 + $1.readableBytes }))
        first.writeInteger(UInt32(parts))
        let head = Frame(
            version: 5, type: .first, service: .bulk, sessionID: session, messageID: messageID,
            payload: first)
        return [head]
            + records.enumerated().map { index, record in
                Frame(
                    version: 5, type: .consecutive, service: .bulk,
                    info: index == parts - 1 ? 0 : UInt8(index + 1), sessionID: session,
                    messageID: messageID, payload: record)
            }
    }
}

/// Checks the frames of one direction of a session.
struct SoakSink {
    let life: UInt32
    /// Fault rules may take its RPCs.
    private let isVictim: Bool
    private(set) var received: UInt32 = 0
    private var sequences: [ServiceType: UInt32] = [:]
    /// Frames of a multi-frame message that must come next, before any other of its service or
    /// another message of several frames.
    private var expected: (service: ServiceType, message: UInt32?, frames: UInt32)?

    init(life: UInt32, isVictim: Bool = false) {
        self.life = life
        self.isVictim = isVictim
    }

    /// What is wrong with the frame; nil when nothing is.
    mutating func check(_ frame: Frame) -> String? {
        if let expected, frame.type != .single || frame.service == expected.service {
            guard frame.type == .consecutive, frame.messageID == expected.message else {
                return "\(frame) between the frames of message \(expected.message ?? 0)"
            }
            self.expected =
                expected.frames > 1
                ? (expected.service, expected.message, expected.frames - 1) : nil
        } else if frame.type == .consecutive {
            return "\(frame) without a first frame"
        }
        guard frame.type != .first else {
            let payload = frame.payload
            let frames: UInt32? = payload.getInteger(at: payload.readerIndex + 4)
            expected = (frame.service, frame.messageID, frames ?? 0)
            return nil
        }
        guard let record = SoakRecord(in: frame) else { return "\(frame) has wrong bytes" }
        guard record.life == life else { return "\(frame) of life \(record.life)" }
        if isVictim, frame.service == .rpc {
            received += 1
            return nil
        }
        let sequence = sequences[frame.service, default: 0]
        guard record.sequence == sequence else {
            return "\(frame) has number \(record.sequence), expected \(sequence)"
        }
        sequences[frame.service] = sequence + 1
        received += 1
        return nil
    }
}
