// The subset of BSON that control payloads of protocol 5 use; read and built by `ControlPayload`.

package import NIOCore

/// A BSON value of a type that SDL control frames use (SDL protocol spec, "Control frame payloads").
package enum BSONValue: Hashable, Sendable {
    case string(String)
    case int32(Int32)
    case int64(Int64)
    case array([BSONValue])
    case document(BSONDocument)
    case double(Double)
    case bool(Bool)
}

/// Keys and values in the order they travel; lookups are linear, documents have a dozen keys.
package struct BSONDocument: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package private(set) var elements: [Element] = []

    package struct Element: Hashable, Sendable {
        package var key: String
        package var value: BSONValue
    }

    package init() {}

    package init(dictionaryLiteral elements: (String, BSONValue)...) {
        self.elements = elements.map { Element(key: $0.0, value: $0.1) }
    }

    package subscript(key: String) -> BSONValue? {
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
    package func string(_ key: String) -> String? {
        if case .string(let value) = self[key] { value } else { nil }
    }

    package func int32(_ key: String) -> Int32? {
        if case .int32(let value) = self[key] { value } else { nil }
    }

    package func int64(_ key: String) -> Int64? {
        if case .int64(let value) = self[key] { value } else { nil }
    }

    package func array(_ key: String) -> [BSONValue]? {
        if case .array(let value) = self[key] { value } else { nil }
    }
}

/// Why bytes are no BSON document that SDL could have meant.
package enum BSONError: Error, Hashable, Sendable {
    case truncated
    case declaredSize(Int, available: Int)
    case unsupportedType(UInt8, key: String)
    case tooDeep
    case tooManyElements
    case tooLarge(Int)
    case notTerminated
    case invalidBoolean(UInt8)
}

// MARK: - Reading

extension BSONDocument {
    /// Bounds for what a peer may send; real control payloads have a dozen keys on two levels.
    package enum Limits {
        package static let bytes = 65_536
        package static let depth = 8
        package static let elements = 1024
    }

    /// Reads the document at the start of `bytes`; bytes behind it are ignored, as sdl_core does.
    package init(_ bytes: ByteBuffer) throws(BSONError) {
        var remaining = Limits.elements
        var bytes = bytes
        elements = try Self.read(&bytes, depth: 1, remaining: &remaining)
    }

    private static func read(
        _ bytes: inout ByteBuffer, depth: Int, remaining: inout Int
    ) throws(BSONError) -> [Element] {
        guard depth <= Limits.depth else { throw .tooDeep }
        guard
            let size = bytes.getInteger(at: bytes.readerIndex, endianness: .little, as: Int32.self)
        else { throw .truncated }
        guard size <= Limits.bytes else { throw .tooLarge(Int(size)) }
        guard size >= 5, var body = bytes.readSlice(length: Int(size)) else {
            throw .declaredSize(Int(size), available: bytes.readableBytes)
        }
        body.moveReaderIndex(forwardBy: 4)
        var elements: [Element] = []
        while let type = body.readInteger(as: UInt8.self) {
            guard type != 0 else { return elements }
            remaining -= 1
            guard remaining >= 0 else { throw .tooManyElements }
            let key = try readKey(&body)
            let value = try readValue(
                &body, type: type, key: key, depth: depth, remaining: &remaining)
            elements.append(Element(key: key, value: value))
        }
        throw .notTerminated
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
        switch type {
        case 0x01: return .double(Double(bitPattern: try integer(&bytes)))
        case 0x02: return .string(try readText(&bytes))
        case 0x03:
            var document = BSONDocument()
            document.elements = try read(&bytes, depth: depth + 1, remaining: &remaining)
            return .document(document)
        case 0x04:
            return .array(
                try read(&bytes, depth: depth + 1, remaining: &remaining).map(\.value))
        case 0x08:
            let byte: UInt8 = try integer(&bytes)
            guard byte <= 1 else { throw .invalidBoolean(byte) }
            return .bool(byte == 1)
        case 0x10: return .int32(try integer(&bytes))
        case 0x12: return .int64(try integer(&bytes))
        default: throw .unsupportedType(type, key: key)
        }
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

// MARK: - Building

extension BSONDocument {
    /// The document as it travels, little-endian.
    package var bytes: ByteBuffer {
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
        }
    }
}

extension BSONValue: CustomStringConvertible {
    /// As a log line shows it.
    package var description: String {
        switch self {
        case .string(let text): text
        case .int32(let value): "\(value)"
        case .int64(let value): "\(value)"
        case .double(let value): "\(value)"
        case .bool(let value): "\(value)"
        case .array(let values): "[" + values.map(\.description).joined(separator: ",") + "]"
        case .document(let document): document.description
        }
    }
}

extension BSONDocument: CustomStringConvertible {
    package var description: String {
        "{" + elements.map { "\($0.key)=\($0.value)" }.joined(separator: " ") + "}"
    }
}
