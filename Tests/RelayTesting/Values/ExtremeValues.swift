// Every RPC of the specification with the worst that a peer can write as a value, for tests of
// whatever reads or shows RPCs.

package import SDLProtocol

package enum ExtremeValues {
    /// Values as JSON texts. Some are not JSON at all.
    package static let values: [(name: String, json: String)] = [
        ("Int64.max", "9223372036854775807"),
        ("Int64.min", "-9223372036854775808"),
        ("UInt64.max", "18446744073709551615"),
        ("over UInt64.max", "18446744073709551616"),
        ("Int32.max", "2147483647"),
        ("minus one", "-1"),
        ("1e308", "1e308"),
        ("1e309", "1e309"),
        ("-1e400", "-1E+400"),
        ("minus zero", "-0.0"),
        ("1e-400", "1e-400"),
        ("400 digits", String(repeating: "9", count: 400)),
        ("NaN", "NaN"),
        ("a number as a string", #""9223372036854775807""#),
        ("an empty string", #""""#),
        ("a long string", "\"" + String(repeating: "ä\u{1F697}", count: 300) + "\""),
        ("half a surrogate pair", #""\ud83d \udE97x \ud83d\ud83d""#),
        ("a whole surrogate pair", #""\ud83d\ude97""#),
        ("NUL", #""a\u0000b""#),
        ("escape sequences", #""\u001b[2J\u001b]0;x\u0007\u202e\r\n\"\\""#),
        ("null", "null"),
        ("true", "true"),
        ("an empty array", "[]"),
        ("an empty object", "{}"),
        ("an array of numbers", "[9223372036854775807,-9223372036854775808,1e309,null,{}]"),
        ("an object", #"{"a":9223372036854775807,"":"","resultCode":1e309}"#),
        ("60 arrays", String(repeating: "[", count: 60) + String(repeating: "]", count: 60)),
        ("70 arrays", String(repeating: "[", count: 70) + String(repeating: "]", count: 70)),
    ]

    /// Parameters that readers look for in every answer and in many requests, besides their own.
    private static let usual = [
        "success", "resultCode", "info", "syncFileName", "offset", "length", "crc",
        "spaceAvailable", "duration", "reason", "windowID", "hmiLevel", "correlationID",
    ]

    /// All parameters of a function with the same value, none nested.
    package static func flat(_ function: RPCFunction, _ value: String) -> String {
        object(of: usual + function.parameters.map(\.name)) { _ in value }
    }

    /// The same with objects and arrays where the specification wants some, and the value in them.
    package static func nested(_ function: RPCFunction, _ value: String) -> String {
        object(of: function.parameters.map(\.name)) { name in
            guard let parameter = function.parameters.first(where: { $0.name == name }) else {
                return value
            }
            return Self.value(of: parameter, value, depth: 2)
        }
    }

    private static func value(of parameter: RPCParameter, _ value: String, depth: Int) -> String {
        var text = value
        if depth > 0, case .structure(let name) = parameter.kind,
            let structure = RPCCatalogue.builtIn.structure(name)
        {
            let members = structure.parameters.map { member in
                "\"\(member.name)\":\(Self.value(of: member, value, depth: depth - 1))"
            }
            text = "{" + members.joined(separator: ",") + "}"
        }
        return parameter.arraySize == nil ? text : "[\(text)]"
    }

    private static func object(of names: [String], _ value: (String) -> String) -> String {
        "{" + names.map { "\"\($0)\":\(value($0))" }.joined(separator: ",") + "}"
    }
}
