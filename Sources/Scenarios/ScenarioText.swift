package import ControlAPI
import MessageFilters

/// Text with variables in it: `param.softButtonID=${button}`.
package struct ScenarioText: Sendable, Hashable, CustomStringConvertible {
    package enum Piece: Sendable, Hashable {
        case text(String)
        case variable(String)
    }

    package var pieces: [Piece]
    /// The text as written.
    package let description: String

    /// - Throws: `ScenarioTextError`.
    package init(_ text: String) throws(ScenarioTextError) {
        description = text
        pieces = []
        var rest = text[...]
        while let start = rest.firstRange(of: "${") {
            let before = rest[..<start.lowerBound]
            if !before.isEmpty { pieces.append(.text(String(before))) }
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else {
                throw ScenarioTextError("a variable begins with ${ and has no }")
            }
            let name = String(rest[start.upperBound..<end])
            guard ScenarioWord.isWord(name) else {
                throw ScenarioTextError(
                    "\"\(ScenarioWord.shown(name))\" cannot be the name of a variable; expected letters, "
                        + "digits and _")
            }
            pieces.append(.variable(name))
            rest = rest[rest.index(after: end)...]
        }
        if !rest.isEmpty || pieces.isEmpty { pieces.append(.text(String(rest))) }
    }

    /// Text without variables.
    package init(fixed text: String) {
        (pieces, description) = ([.text(text)], text)
    }

    package var variables: [String] {
        pieces.compactMap { piece in
            if case .variable(let name) = piece { name } else { nil }
        }
    }

    package var isFixed: Bool { variables.isEmpty }

    /// The text with its variables filled in.
    ///
    /// - Parameter isFilter: Quotes empty values, and those with other characters than letters, digits,
    ///   "_", "." and "-".
    func filled(_ values: [String: AnyJSON], isFilter: Bool = false) throws(ScenarioTextError)
        -> String
    {
        var text = ""
        for piece in pieces {
            switch piece {
            case .text(let part): text += part
            case .variable(let name):
                let value = try Self.value(name, values).plainText
                text += isFilter ? Self.quoted(value) : value
            }
            guard text.unicodeScalars.count <= ScenarioLimits.textScalars else {
                throw ScenarioTextError("too long with its variables filled in")
            }
        }
        return text
    }

    /// The value of the text. A text that is only a variable has that variable's value, whatever its
    /// type.
    func value(_ values: [String: AnyJSON]) throws(ScenarioTextError) -> AnyJSON {
        if pieces.count == 1, case .variable(let name)? = pieces.first {
            return try Self.value(name, values)
        }
        return .string(try filled(values))
    }

    private static func value(
        _ name: String, _ values: [String: AnyJSON]
    ) throws(ScenarioTextError) -> AnyJSON {
        guard let value = values[name] else {
            throw ScenarioTextError("the variable \(name) has no value yet")
        }
        return value
    }

    private static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || $0 == 0x5F
                    || $0 == 0x2E || $0 == 0x2D
            }
        return isPlain ? text : text.inQuotes
    }
}

package struct ScenarioTextError: Error, Sendable, Hashable {
    package let message: String

    init(_ message: String) {
        self.message = message
    }
}

extension AnyJSON {
    /// The value with the variables in its strings filled in; a string that is only a variable
    /// becomes its value.
    func filled(_ values: [String: AnyJSON]) throws(ScenarioTextError) -> AnyJSON {
        switch self {
        case .object(let members):
            var filled: [String: AnyJSON] = [:]
            for (name, member) in members { filled[name] = try member.filled(values) }
            return .object(filled)
        case .array(let elements):
            var filled: [AnyJSON] = []
            for element in elements { filled.append(try element.filled(values)) }
            return .array(filled)
        case .string(let text): return try ScenarioText(text).value(values)
        case .integer, .number, .bool, .null: return self
        }
    }

    /// Names of the variables in its strings.
    func variables() throws(ScenarioTextError) -> [String] {
        switch self {
        case .object(let members):
            var names: [String] = []
            for name in members.keys.sorted() {
                names += try members[name]?.variables() ?? []
            }
            return names
        case .array(let elements):
            var names: [String] = []
            for element in elements { names += try element.variables() }
            return names
        case .string(let text): return try ScenarioText(text).variables
        case .integer, .number, .bool, .null: return []
        }
    }

    /// Its form inside a text: a string is used as it is.
    package var plainText: String {
        if case .string(let text) = self { text } else { compact }
    }

    /// JSON on one line, with sorted keys.
    package var compact: String {
        (try? APICoding.encodeLine(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}
