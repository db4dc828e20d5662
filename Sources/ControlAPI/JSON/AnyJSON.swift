/// JSON of arbitrary form: parameters of an RPC. Decoded and encoded with the documents around it, for
/// which SDLProtocol's `RPCValue` is not made.
package indirect enum AnyJSON: Codable, Sendable, Equatable {
    case object([String: AnyJSON])
    case array([AnyJSON])
    case string(String)
    case integer(Int)
    case number(Double)
    case bool(Bool)
    case null

    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int.self) {
            self = .integer(integer)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([AnyJSON].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: AnyJSON].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .object(let members): try value.encode(members)
        case .array(let elements): try value.encode(elements)
        case .string(let string): try value.encode(string)
        case .integer(let integer): try value.encode(integer)
        case .number(let number): try value.encode(number)
        case .bool(let bool): try value.encode(bool)
        case .null: try value.encodeNil()
        }
    }
}
