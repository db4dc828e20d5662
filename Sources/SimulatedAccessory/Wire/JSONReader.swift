// Turns the JSON of app requests, checked by SDLProtocol's scanner, into values to work with.

import NIOCore
import SDLProtocol

extension JSONObject {
    /// Reads an object; nil for anything else. Trailing NUL bytes, as v1 senders add, are dropped.
    init?(endedByNUL bytes: ByteBuffer) {
        var bytes = bytes
        while bytes.readableBytesView.last == 0 {
            bytes.moveWriterIndex(to: bytes.writerIndex - 1)
        }
        guard let object = try? JSONObject(bytes) else { return nil }
        self = object
    }
}

extension JSON {
    init(_ object: JSONObject) {
        self = .object(
            object.members.map { member in
                Member(
                    key: object.string(member.key) ?? "", value: JSON(member.value, in: object))
            })
    }

    /// The scanner bounds the depth, so this cannot run out of stack.
    private init(_ token: JSONToken, in container: some JSONContainer) {
        switch token.kind {
        case .object: self = container.object(token).map { JSON($0) } ?? .null
        case .array:
            guard let array = container.array(token) else {
                self = .null
                return
            }
            self = .array(array.elements.map { JSON($0, in: array) })
        case .string: self = .string(container.string(token) ?? "")
        case .bool: self = .bool(token.range.count == "true".utf8.count)
        case .null: self = .null
        case .number:
            let start = container.bytes.readerIndex + token.range.lowerBound
            let text = container.bytes.getString(at: start, length: token.range.count) ?? ""
            self = Int64(text).map(JSON.integer) ?? Double(text).map(JSON.number) ?? .null
        }
    }
}
