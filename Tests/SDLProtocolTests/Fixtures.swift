// The location of recorded bytes, for the tests of this target.

import Foundation
import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

enum Fixtures {
    static let folder = Checkout.fixtures

    struct HexExample: CustomTestStringConvertible {
        var name: String
        var meaning: String
        var bytes: ByteBuffer
        var testDescription: String { "\(name) \(meaning)" }
    }

    /// Every line of hex-examples.txt.
    static let hexExamples: [HexExample] = {
        let text =
            (try? String(
                contentsOf: folder.appending(path: "hex-examples.txt"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let fields = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return HexExample(name: fields[0], meaning: fields[1], bytes: bytes(hex: fields[2]))
        }
    }()

    static func example(_ name: String) throws -> ByteBuffer {
        try #require(hexExamples.first { $0.name == name }).bytes
    }

    static func capture(_ name: String) throws -> ByteBuffer {
        ByteBuffer(bytes: try Data(contentsOf: folder.appending(path: "captures/\(name)")))
    }
}

/// Bytes from hex digits; white space is for readability.
func bytes(hex: String) -> ByteBuffer {
    var digits = hex.filter(\.isHexDigit)[...]
    var buffer = ByteBuffer()
    while let byte = UInt8(digits.prefix(2), radix: 16) {
        buffer.writeInteger(byte)
        digits = digits.dropFirst(2)
    }
    return buffer
}
