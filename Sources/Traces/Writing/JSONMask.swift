import NIOCore
import SDLProtocol

/// Walks one RPC message piece by piece, and overwrites the values of chosen parameters in place.
///
/// Not a parser: bytes that are not JSON are walked all the same. At worst, too much or too little is
/// overwritten in a message that no head unit understands.
struct JSONMask {
    private let names: Set<[UInt8]>
    private let coversBulk: Bool
    private let isBlind: Bool
    /// Remaining bytes of the binary RPC header.
    private var headerLeft: Int
    /// Remaining bytes of JSON, once the header has been read; a message of version 1 is JSON throughout.
    private var jsonLeft: Int
    private var jsonLength: UInt32 = 0
    /// The size of the message with its header; nil when its frames do not say.
    private let messageBytes: Int?
    /// The `crc` that a PutFile gives for its file.
    private var crc: UInt32?
    private var isInCRC = false
    /// The file's next bytes, the lowest first, which give it that CRC; then zeros.
    private var patch: UInt32 = 0
    private var hasPatch = false

    /// For each open bracket, whether it belongs to an object.
    private var isObject: [Bool] = []
    /// Open brackets beyond `maximumDepth`.
    private var tooDeep = 0
    /// The number of open brackets where the value being overwritten began.
    private var coverDepth: Int?
    private var text = Text.none
    private var isEscaped = false
    private var key: [UInt8] = []
    /// Whether the object's next string is a key.
    private var expectsKey = false
    /// The replacement for the rest of a truth value.
    private var truth: ArraySlice<UInt8> = []

    private enum Text {
        case none
        case key
        case value
    }

    /// The longest name that is compared.
    private static let maximumKeyBytes = 256
    /// Deeper than any RPC nests.
    private static let maximumDepth = 256

    private static let crcKey = Array("crc".utf8)

    /// - Parameter messageBytes: The size of the whole message, according to its frames.
    init(_ names: Set<[UInt8]>, coversBulk: Bool, hasHeader: Bool, messageBytes: Int?) {
        self.names = names
        self.messageBytes = messageBytes
        self.coversBulk = coversBulk
        isBlind = false
        headerLeft = hasHeader ? RPCHeader.bytes : 0
        jsonLeft = hasHeader ? 0 : .max
    }

    /// Overwrites everything; for a message whose beginning is missing.
    static let blind = JSONMask()

    private init() {
        names = []
        messageBytes = nil
        coversBulk = true
        isBlind = true
        headerLeft = 0
        jsonLeft = 0
    }

    /// - Parameter offset: The start of the piece, counted from the first readable byte.
    /// - Returns: Whether something was overwritten.
    mutating func cover(_ buffer: inout ByteBuffer, from offset: Int) -> Bool {
        var hasCovered = false
        var mask = self
        buffer.withUnsafeMutableReadableBytes { bytes in
            for index in min(offset, bytes.count)..<bytes.count {
                guard let covered = mask.next(bytes[index]), covered != bytes[index] else {
                    continue
                }
                bytes[index] = covered
                hasCovered = true
            }
        }
        self = mask
        return hasCovered
    }

    /// The replacement for this byte; nil to leave it.
    private mutating func next(_ byte: UInt8) -> UInt8? {
        if headerLeft > 0 {
            headerLeft -= 1
            // The last four bytes of the header are the length of the JSON.
            if headerLeft < 4 { jsonLength = jsonLength << 8 | UInt32(byte) }
            if headerLeft == 0 { jsonLeft = Int(jsonLength) }
            return nil
        }
        // If the length given is too short, the rest is still JSON.
        guard jsonLeft > 0 || !isObject.isEmpty else { return coversBulk ? bulk() : nil }
        jsonLeft = max(0, jsonLeft - 1)
        return text == .none ? outside(byte) : inside(byte)
    }

    // MARK: The binary part

    private mutating func bulk() -> UInt8 {
        if !hasPatch {
            hasPatch = true
            let before = RPCHeader.bytes + Int(jsonLength)
            if let crc, let messageBytes {
                patch = CRCPatch.bytes(crc: crc, count: messageBytes - before) ?? 0
            }
        }
        defer { patch >>= 8 }
        return UInt8(truncatingIfNeeded: patch)
    }

    /// Adds a digit of the number after "crc".
    private mutating func noteCRC(_ digit: UInt8) {
        let (tens, overflow) = (crc ?? 0).multipliedReportingOverflow(by: 10)
        let (sum, isTooLarge) = tens.addingReportingOverflow(UInt32(digit - UInt8(ascii: "0")))
        if overflow || isTooLarge { isInCRC = false }
        crc = overflow || isTooLarge ? nil : sum
    }

    // MARK: Strings

    private mutating func inside(_ byte: UInt8) -> UInt8? {
        if isEscaped {
            isEscaped = false
            note(byte)
            return covered(UInt8(ascii: "x"))
        }
        switch byte {
        case UInt8(ascii: "\\"):
            isEscaped = true
            note(byte)
            return covered(UInt8(ascii: "x"))
        case UInt8(ascii: "\""):
            text = .none
            return nil
        default:
            note(byte)
            return covered(UInt8(ascii: "x"))
        }
    }

    /// Keys are never overwritten.
    private func covered(_ replacement: UInt8) -> UInt8? {
        text != .key && isCovering ? replacement : nil
    }

    /// Beyond `maximumDepth` the structure is not tracked, so everything is overwritten.
    private var isCovering: Bool { coverDepth != nil || tooDeep > 0 }

    private mutating func note(_ byte: UInt8) {
        guard text == .key, key.count < Self.maximumKeyBytes else { return }
        key.append(byte)
    }

    // MARK: Between strings

    private mutating func outside(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""):
            text = expectsKey ? .key : .value
            if expectsKey { key = [] }
        case UInt8(ascii: "{"), UInt8(ascii: "["): opens(byte == UInt8(ascii: "{"))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): closes()
        case UInt8(ascii: ","):
            isInCRC = false
            if coverDepth == isObject.count { coverDepth = nil }
            expectsKey = tooDeep == 0 && isObject.last == true
        case UInt8(ascii: ":"):
            expectsKey = false
            if coverDepth == nil, isNamed(key) { coverDepth = isObject.count }
            isInCRC = coversBulk && !isCovering && key == Self.crcKey && isObject.count == 1
            if isInCRC { crc = nil }
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            if isCovering { return UInt8(ascii: "1") }
            if isInCRC { noteCRC(byte) }
        case UInt8(ascii: "a")...UInt8(ascii: "z"):
            if isCovering { return letter(byte) }
        default: break
        }
        return nil
    }

    private mutating func opens(_ object: Bool) {
        if isObject.count < Self.maximumDepth {
            isObject.append(object)
        } else {
            tooDeep += 1
        }
        expectsKey = object && tooDeep == 0
    }

    private mutating func closes() {
        if tooDeep > 0 {
            tooDeep -= 1
        } else if !isObject.isEmpty {
            isObject.removeLast()
        }
        expectsKey = false
        isInCRC = false
        if let depth = coverDepth, isObject.count < depth { coverDepth = nil }
    }

    /// "false" and "true" both become "true", the former followed by a space; null stays.
    private mutating func letter(_ byte: UInt8) -> UInt8? {
        if let next = truth.popFirst() { return next }
        switch byte {
        case UInt8(ascii: "t"): truth = Array("rue".utf8)[...]
        case UInt8(ascii: "f"): truth = Array("rue ".utf8)[...]
        default: return nil
        }
        return UInt8(ascii: "t")
    }

    private func isNamed(_ key: [UInt8]) -> Bool {
        if !key.contains(UInt8(ascii: "\\")) { return names.contains(key.map(Self.lowercased)) }
        let quoted = "{\"" + String(decoding: key, as: UTF8.self) + "\":0}"
        guard let object = try? JSONObject(ByteBuffer(string: quoted)),
            let token = object.members.first?.key, let name = object.string(token)
        else { return true }
        return names.contains(name.utf8.map(Self.lowercased))
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}
