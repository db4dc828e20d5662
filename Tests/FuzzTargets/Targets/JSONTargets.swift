// Fuzz target: RPC parameters.

import NIOCore
import SDLProtocol

@testable import SimulatedAccessory

extension FuzzTarget {
    static let json = FuzzTarget(
        name: "json", about: "RPC parameters: the scanner, objects, arrays, values, compacted text",
        promise:
            "compacted, an object is read as the same object, and compacting that changes nothing",
        words: { TrafficWords.all }, seeds: FuzzSeeds.parameters,
        run: { bytes in
            guard let object = try? JSONObject(ByteBuffer(bytes: bytes)) else { return }
            var compacted: [UInt8] = []
            object.appendCompacted(to: &compacted)
            guard let again = try? JSONObject(ByteBuffer(bytes: compacted)) else {
                throw BrokenPromise(
                    "compacted, it cannot be read: \(String(decoding: compacted, as: UTF8.self))")
            }
            try ensure(
                again.members.count == object.members.count,
                "\(object.members.count) members, then \(again.members.count)")
            var twice: [UInt8] = []
            again.appendCompacted(to: &twice)
            try ensure(twice == compacted, "compacted twice is not compacted")
            try look(object, again, depth: 0)
            _ = object.detached()
        })

    private static func isFinite(_ number: JSONToken, of bytes: ByteBuffer) -> Bool {
        let start = bytes.readerIndex + number.range.lowerBound
        let digits = bytes.getString(at: start, length: number.range.count)
        return digits.flatMap { Double($0) }?.isFinite ?? false
    }

    /// Reads every value as every type.
    private static func look(_ object: JSONObject, _ again: JSONObject, depth: Int) throws {
        for (member, other) in zip(object.members, again.members) {
            let key = object.string(member.key)
            try ensure(
                key == again.string(other.key),
                "the key \(key.debugDescription) becomes \(again.string(other.key)?.debugDescription ?? "none")"
            )
            guard let key else { continue }
            // A number that no double can hold becomes a string. Tested by value, not by key, which may occur
            // twice.
            let isHuge = member.value.kind == .number && !isFinite(member.value, of: object.bytes)
            try ensure(
                other.value.kind == (isHuge ? .string : member.value.kind),
                "\(key) is \(member.value.kind), then \(other.value.kind)")
            if isHuge { continue }
            _ = object.bool(key)
            _ = object.integer(key)
            _ = object.double(key)
            _ = object.isKey(member.key, key)
            try ensure(
                object.string(member.value) == again.string(other.value), "a text changes")
            if let inner = object.object(member.value), let same = again.object(other.value),
                depth < 8
            {
                try look(inner, same, depth: depth + 1)
            }
            if let array = object.array(member.value), let same = again.array(other.value) {
                try ensure(
                    array.elements.count == same.elements.count, "an array changes its length")
                for token in array.elements {
                    _ = array.string(token)
                    _ = array.object(token)
                    _ = array.array(token)
                }
            }
        }
    }
}
