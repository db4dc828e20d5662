// Inputs made of steps, so that the fuzzer can change a dialogue and not only bytes.

import NIOCore

/// A sequence of steps, each an operation, a length in two bytes (little-endian), and that many bytes. Any
/// bytes are a script; the last step may be cut short.
package struct FuzzScript: Sequence, IteratorProtocol {
    package struct Step {
        /// The kind of step in the lower four bits, and the party it concerns in the upper four.
        package var operation: UInt8
        package var bytes: [UInt8]

        package init(operation: UInt8, bytes: [UInt8]) {
            self.operation = operation
            self.bytes = bytes
        }

        init(_ operation: Int, of whom: Int = 0, _ bytes: some Sequence<UInt8>) {
            self.init(operation: UInt8(operation | whom << 4), bytes: Array(bytes))
        }

        var kind: UInt8 { operation & 0x0F }
        var whom: Int { Int(operation >> 4) }
    }

    private var rest: UnsafeRawBufferPointer.SubSequence

    package init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes[...]
    }

    package mutating func next() -> Step? {
        guard let operation = rest.popFirst() else { return nil }
        let length = Int(rest.popFirst() ?? 0) | Int(rest.popFirst() ?? 0) << 8
        let bytes = rest.prefix(length)
        rest = rest.dropFirst(bytes.count)
        return Step(operation: operation, bytes: Array(bytes))
    }

    package static func bytes(of steps: [Step]) -> [UInt8] {
        var bytes: [UInt8] = []
        for step in steps {
            let length = Swift.min(step.bytes.count, 0xFFFF)
            bytes += [step.operation, UInt8(length & 0xFF), UInt8(length >> 8)]
            bytes += step.bytes.prefix(length)
        }
        return bytes
    }
}

/// Takes a step's bytes apart; yields 0 when none are left.
struct FuzzBytes {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func number() -> UInt32 {
        (0..<4).reduce(0) { number, _ in number << 8 | UInt32(byte()) }
    }

    mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int(byte()) % elements.count]
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func all() -> [UInt8] { bytes(rest.count) }

    mutating func text(_ count: Int = .max) -> String {
        String(decoding: bytes(count), as: UTF8.self)
    }
}
