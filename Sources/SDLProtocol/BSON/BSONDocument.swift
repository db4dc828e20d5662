public import NIOCore

/// A BSON value of a type that SDL control frames use (SDL protocol spec, "Control frame
/// payloads"); read and built by `ControlPayload`.
public enum BSONValue: Hashable, Sendable {
    case string(String)
    case int32(Int32)
    case int64(Int64)
    case array([BSONValue])
    case document(BSONDocument)
    case double(Double)
    case bool(Bool)
    /// A value no SDL frame uses, kept as it travels so that a document passes byte for byte.
    case other(type: UInt8, bytes: ByteBuffer)
}

extension BSONValue {
    /// The protocol specification's name of the type.
    public var typeName: String {
        switch self {
        case .string: "string"
        case .int32: "int32"
        case .int64: "int64"
        case .array: "array"
        case .document: "document"
        case .double: "double"
        case .bool: "boolean"
        case .other(let type, _): "BSON type \(type)"
        }
    }
}

/// Keys and values in the order they travel; lookups are linear, documents have a dozen keys.
public struct BSONDocument: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    public private(set) var elements: [Element] = []

    public struct Element: Hashable, Sendable {
        public var key: String
        public var value: BSONValue
    }

    public init() {}

    private init(_ elements: [Element]) {
        self.elements = elements
    }

    public init(dictionaryLiteral elements: (String, BSONValue)...) {
        self.elements = elements.map { Element(key: $0.0, value: $0.1) }
    }

    public subscript(key: String) -> BSONValue? {
        get { elements.first { $0.key == key }?.value }
        set {
            if let index = elements.firstIndex(where: { $0.key == key }) {
                if let newValue {
                    elements[index].value = newValue
                } else {
                    elements.remove(at: index)
                }
            } else if let newValue {
                elements.append(Element(key: key, value: newValue))
            }
        }
    }

    /// The value if it has exactly this type: head units and libraries do not convert either.
    public func string(_ key: String) -> String? {
        if case .string(let value) = self[key] { value } else { nil }
    }

    public func int32(_ key: String) -> Int32? {
        if case .int32(let value) = self[key] { value } else { nil }
    }

    public func int64(_ key: String) -> Int64? {
        if case .int64(let value) = self[key] { value } else { nil }
    }

    public func array(_ key: String) -> [BSONValue]? {
        if case .array(let value) = self[key] { value } else { nil }
    }
}

/// Why bytes are no BSON document that SDL could have meant.
public enum BSONError: Error, Hashable, Sendable {
    case truncated
    case declaredSize(Int, available: Int)
    case unsupportedType(UInt8, key: String)
    case tooDeep
    case tooManyElements
    case tooLarge(Int)
    case notTerminated
}

// MARK: - Reading

extension BSONDocument {
    /// Bounds for what a peer may send; real control payloads have a dozen keys on two levels.
    public enum Limits {
        public static let bytes = 65_536
        public static let depth = 8
        public static let elements = 1024
    }

    /// Reads the document at the start of `bytes`; bytes behind it are ignored, as sdl_core does.
    public init(_ bytes: ByteBuffer) throws(BSONError) {
        var remaining = Limits.elements
        var bytes = bytes
        elements = try Self.read(&bytes, depth: 1, remaining: &remaining)
    }

    private static func read(
        _ bytes: inout ByteBuffer, depth: Int, remaining: inout Int
    ) throws(BSONError) -> [Element] {
        guard depth <= Limits.depth else { throw .tooDeep }
        var body = try readBody(&bytes)
        var elements: [Element] = []
        while let element = try readElement(&body, depth: depth, remaining: &remaining) {
            elements.append(element)
        }
        return elements
    }

    /// A document without its size: elements and the NUL behind them.
    private static func readBody(_ bytes: inout ByteBuffer) throws(BSONError) -> ByteBuffer {
        guard
            let size = bytes.getInteger(at: bytes.readerIndex, endianness: .little, as: Int32.self)
        else { throw .truncated }
        guard size <= Limits.bytes else { throw .tooLarge(Int(size)) }
        guard size >= 5, var body = bytes.readSlice(length: Int(size)) else {
            throw .declaredSize(Int(size), available: bytes.readableBytes)
        }
        body.moveReaderIndex(forwardBy: 4)
        return body
    }

    /// The next element; nil at the end of the document.
    private static func readElement(
        _ body: inout ByteBuffer, depth: Int, remaining: inout Int
    ) throws(BSONError) -> Element? {
        guard let type = body.readInteger(as: UInt8.self) else { throw .notTerminated }
        guard type != 0 else { return nil }
        remaining -= 1
        guard remaining >= 0 else { throw .tooManyElements }
        let key = try readKey(&body)
        let value = try readValue(&body, type: type, key: key, depth: depth, remaining: &remaining)
        return Element(key: key, value: value)
    }

    private static func readKey(_ bytes: inout ByteBuffer) throws(BSONError) -> String {
        guard let end = bytes.readableBytesView.firstIndex(of: 0),
            let key = bytes.readString(length: end - bytes.readerIndex)
        else { throw .truncated }
        bytes.moveReaderIndex(forwardBy: 1)
        return key
    }

    private static func readValue(
        _ bytes: inout ByteBuffer, type: UInt8, key: String, depth: Int, remaining: inout Int
    ) throws(BSONError) -> BSONValue {
        let start = bytes
        switch type {
        case 0x01: return .double(Double(bitPattern: try integer(&bytes)))
        case 0x02: return .string(try readText(&bytes))
        case 0x03, 0x04:
            do {
                let elements = try read(&bytes, depth: depth + 1, remaining: &remaining)
                return type == 0x03
                    ? .document(BSONDocument(elements)) : .array(elements.map(\.value))
            } catch .unsupportedType {
                // Its size still tells where it ends.
                bytes = start
            }
        case 0x08:
            switch try integer(&bytes) as UInt8 {
            case 0: return .bool(false)
            case 1: return .bool(true)
            default: bytes = start
            }
        case 0x10: return .int32(try integer(&bytes))
        case 0x12: return .int64(try integer(&bytes))
        default: break
        }
        guard let length = try length(ofType: type, bytes) else {
            throw .unsupportedType(type, key: key)
        }
        guard let value = bytes.readSlice(length: length) else { throw .truncated }
        // A copy: documents are kept, and would keep the read buffer.
        return .other(type: type, bytes: ByteBuffer(bytes: value.readableBytesView))
    }

    /// Bytes of a value that is only skipped (bsonspec.org, version 1.1), nil when its type is
    /// unknown.
    private static func length(
        ofType type: UInt8, _ bytes: ByteBuffer
    ) throws(BSONError) -> Int? {
        switch type {
        // Undefined, null, largest and smallest key.
        case 0x06, 0x0A, 0x7F, 0xFF: 0
        // A boolean that is neither true nor false.
        case 0x08: 1
        // Date and time, timestamp.
        case 0x09, 0x11: 8
        // Object ID.
        case 0x07: 12
        // Decimal number.
        case 0x13: 16
        // Documents: their length counts itself and the end.
        case 0x03, 0x04: try counted(bytes, atLeast: 5)
        // Code with scope: a length that counts itself, a text, a document.
        case 0x0F: try counted(bytes, atLeast: 4 + 5 + 5)
        // Binary data: length, subtype, bytes.
        case 0x05: try counted(bytes, besides: 5)
        // Code and symbol are text.
        case 0x0D, 0x0E: try counted(bytes, besides: 4)
        // A pointer: text and an object ID.
        case 0x0C: try counted(bytes, besides: 4 + 12)
        // A regular expression: two texts without length.
        case 0x0B:
            try terminatedLength(bytes, from: bytes.readerIndex + terminatedLength(bytes))
                + terminatedLength(bytes)
        default: nil
        }
    }

    private static func counted(
        _ bytes: ByteBuffer, besides more: Int = 0, atLeast least: Int = 0
    ) throws(BSONError) -> Int {
        guard
            let length = bytes.getInteger(
                at: bytes.readerIndex, endianness: .little, as: Int32.self),
            length >= 0
        else { throw .truncated }
        guard length >= least else {
            throw .declaredSize(Int(length), available: bytes.readableBytes)
        }
        return Int(length) + more
    }

    /// Bytes up to and including the next NUL.
    private static func terminatedLength(
        _ bytes: ByteBuffer, from index: Int? = nil
    ) throws(BSONError) -> Int {
        let start = index ?? bytes.readerIndex
        guard let end = bytes.readableBytesView[start...].firstIndex(of: 0) else {
            throw .truncated
        }
        return end + 1 - start
    }

    private static func integer<T: FixedWidthInteger>(
        _ bytes: inout ByteBuffer
    ) throws(BSONError) -> T {
        guard let value = bytes.readInteger(endianness: .little, as: T.self) else {
            throw .truncated
        }
        return value
    }

    /// The length counts the NUL at the end.
    private static func readText(_ bytes: inout ByteBuffer) throws(BSONError) -> String {
        let length: Int32 = try integer(&bytes)
        guard length >= 1, let text = bytes.readString(length: Int(length) - 1),
            bytes.readInteger(as: UInt8.self) == 0
        else { throw .truncated }
        return text
    }
}

// MARK: - Taking out

extension BSONDocument {
    /// The document at the start of `bytes` without the unwanted elements of its first level. All
    /// others stay byte for byte, even keys and texts that are not UTF-8 and would become longer if
    /// they were written anew; so do the bytes behind the document.
    ///
    /// - Returns: nil when nothing is unwanted.
    public static func bytes(
        _ bytes: ByteBuffer, without isUnwanted: (Element) -> Bool
    ) throws(BSONError) -> ByteBuffer? {
        var behind = bytes
        var body = try readBody(&behind)
        var remaining = Limits.elements
        var kept = ByteBuffer()
        var element = body
        var isChanged = false
        while let read = try readElement(&body, depth: 1, remaining: &remaining) {
            if isUnwanted(read) {
                isChanged = true
            } else {
                kept.writeBytes(
                    element.readableBytesView.prefix(element.readableBytes - body.readableBytes))
            }
            element = body
        }
        guard isChanged else { return nil }
        var document = ByteBuffer()
        document.writeInteger(Int32(kept.readableBytes + 5), endianness: .little)
        document.writeBuffer(&kept)
        document.writeInteger(0, as: UInt8.self)
        document.writeBuffer(&behind)
        return document
    }
}

// MARK: - Building

extension BSONDocument {
    /// The document as it travels, little-endian.
    public var bytes: ByteBuffer {
        Self.build(elements)
    }

    private static func build(_ elements: [Element]) -> ByteBuffer {
        var body = ByteBuffer()
        for element in elements {
            body.writeInteger(element.value.typeByte)
            body.writeString(element.key)
            body.writeInteger(0, as: UInt8.self)
            write(element.value, to: &body)
        }
        var document = ByteBuffer()
        document.writeInteger(Int32(body.readableBytes + 5), endianness: .little)
        document.writeBuffer(&body)
        document.writeInteger(0, as: UInt8.self)
        return document
    }

    private static func write(_ value: BSONValue, to bytes: inout ByteBuffer) {
        switch value {
        case .double(let value): bytes.writeInteger(value.bitPattern, endianness: .little)
        case .string(let text):
            bytes.writeInteger(Int32(text.utf8.count + 1), endianness: .little)
            bytes.writeString(text)
            bytes.writeInteger(0, as: UInt8.self)
        case .document(let document): bytes.writeImmutableBuffer(build(document.elements))
        case .array(let values):
            let elements = values.enumerated().map { Element(key: "\($0)", value: $1) }
            bytes.writeImmutableBuffer(build(elements))
        case .bool(let value): bytes.writeInteger(value ? 1 : 0, as: UInt8.self)
        case .int32(let value): bytes.writeInteger(value, endianness: .little)
        case .int64(let value): bytes.writeInteger(value, endianness: .little)
        case .other(_, let value): bytes.writeImmutableBuffer(value)
        }
    }
}

extension BSONValue {
    fileprivate var typeByte: UInt8 {
        switch self {
        case .double: 0x01
        case .string: 0x02
        case .document: 0x03
        case .array: 0x04
        case .bool: 0x08
        case .int32: 0x10
        case .int64: 0x12
        case .other(let type, _): type
        }
    }
}

extension BSONValue: CustomStringConvertible {
    /// As a log line shows it.
    public var description: String {
        switch self {
        case .string(let text): text
        case .int32(let value): "\(value)"
        case .int64(let value): "\(value)"
        case .double(let value): "\(value)"
        case .bool(let value): "\(value)"
        case .array(let values): "[" + values.map(\.description).joined(separator: ",") + "]"
        case .document(let document): document.description
        case .other(type: 0x0A, _): "null"
        case .other(let type, let bytes): "(BSON type 0x\(hex(type)), \(bytes.readableBytes) B)"
        }
    }
}

extension BSONDocument: CustomStringConvertible {
    public var description: String {
        "{" + elements.map { "\($0.key)=\($0.value)" }.joined(separator: " ") + "}"
    }
}
