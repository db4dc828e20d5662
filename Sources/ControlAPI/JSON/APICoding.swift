import FoundationEssentials

/// JSON of the control API, both ways: the only file of this module that needs a JSON library.
package enum APICoding {
    /// Pretty-printed with sorted keys and a final line feed, so that two answers can be compared
    /// and `curl` output can be read.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
    }

    /// One line without its end, for streams.
    package static func encodeLine(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    /// Unknown keys are ignored: a newer relayd may report more than this program knows.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8]
    ) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
