import ArgumentParser
import SDLProtocol

/// Saved parameters: assignments such as `mainField1={text}`, where a name in braces is filled in when
/// the request is sent. `{text=Hello}` has a default, `{{` is a brace.
struct RequestTemplate {
    /// A name that has to be filled in.
    struct Blank: Equatable {
        var name: String
        var usual: String?
    }

    private enum Piece: Equatable {
        case text(String)
        /// - isQuoted: Within a JSON string.
        case blank(Blank, isQuoted: Bool)
    }

    private struct Assignment {
        /// The parameter: the text before "=" or ":=".
        var path: String
        var isJSON: Bool
        var value: [Piece]
    }

    private let assignments: [Assignment]

    init(_ set: [String]) {
        assignments = set.map(Self.assignment)
    }

    /// In order of appearance, each once.
    var blanks: [Blank] {
        var found: [Blank] = []
        for case .blank(let blank, _) in assignments.flatMap(\.value) {
            if let place = found.firstIndex(where: { $0.name == blank.name }) {
                found[place].usual = found[place].usual ?? blank.usual
            } else {
                found.append(blank)
            }
        }
        return found
    }

    /// - Parameter given: `NAME=VALUE` fills in a blank of that name; any other assignment replaces the
    ///   saved one of that parameter, or is added.
    /// - Throws: `ValidationError` with the blanks that are left.
    func filled(with given: [String]) throws -> [String] {
        let blanks = blanks
        var values: [String: String] = [:]
        var others: [Assignment] = []
        var plain: [String] = []
        for text in given {
            let assignment = Self.assignment(text)
            if !assignment.isJSON, blanks.contains(where: { $0.name == assignment.path }) {
                values[assignment.path] = String(text.dropFirst(assignment.path.count + 1))
            } else {
                others.append(assignment)
                plain.append(text)
            }
        }
        let kept = assignments.filter { assignment in
            !others.contains { $0.path == assignment.path }
        }
        let left = RequestTemplate(kept).blanks.filter { values[$0.name] == nil && $0.usual == nil }
        guard left.isEmpty else {
            let names = left.map { "\($0.name)=VALUE" }.joined(separator: " ")
            throw ValidationError("the saved request has blanks that are not filled in: \(names)")
        }
        return kept.map { assignment in
            var text = assignment.path + (assignment.isJSON ? ":=" : "=")
            for piece in assignment.value {
                switch piece {
                case .text(let words): text += words
                case .blank(let blank, let isQuoted):
                    let usual = blanks.first { $0.name == blank.name }?.usual
                    let value = values[blank.name] ?? blank.usual ?? usual ?? ""
                    text += isQuoted ? Self.escaped(value) : value
                }
            }
            return text
        } + plain
    }

    /// The assignment as a template without blanks.
    static func literal(_ text: String) -> String {
        let assignment = assignment(text)
        guard let sign = text.firstIndex(of: "=") else { return text }
        var literal = String(text[...sign])
        var isQuoted = !assignment.isJSON
        var rest = text[text.index(after: sign)...]
        while let sign = rest.popFirst() {
            literal.append(sign)
            if assignment.isJSON, sign == "\\", let escaped = rest.popFirst() {
                literal.append(escaped)
            } else if assignment.isJSON, sign == "\"" {
                isQuoted.toggle()
            } else if sign == "{", isQuoted {
                literal.append(sign)
            }
        }
        return literal
    }

    /// The saved parameters, replaced or followed by the given ones; blanks stay.
    static func replaced(_ set: [String], by given: [String]) -> [String] {
        let paths = given.map { assignment($0).path }
        return set.filter { !paths.contains(assignment($0).path) } + given
    }

    private init(_ assignments: [Assignment]) {
        self.assignments = assignments
    }

    // MARK: - Reading

    private static func assignment(_ text: String) -> Assignment {
        guard let sign = text.firstIndex(of: "=") else {
            return Assignment(path: text, isJSON: false, value: [])
        }
        let isJSON = text[..<sign].hasSuffix(":")
        let path = isJSON ? text[..<sign].dropLast() : text[..<sign]
        let value = text[text.index(after: sign)...]
        return Assignment(path: String(path), isJSON: isJSON, value: pieces(value, isJSON: isJSON))
    }

    private static func pieces(_ text: Substring, isJSON: Bool) -> [Piece] {
        var pieces: [Piece] = []
        var plain = ""
        var isQuoted = false
        var rest = text
        while let sign = rest.first {
            if sign == "{", let (blank, end) = blank(rest) {
                if !plain.isEmpty { pieces.append(.text(plain)) }
                plain = ""
                pieces.append(.blank(blank, isQuoted: isQuoted))
                rest = rest[end...]
                continue
            }
            rest.removeFirst()
            plain.append(sign)
            if isJSON, sign == "\\", let escaped = rest.popFirst() {
                plain.append(escaped)
            } else if isJSON, sign == "\"" {
                isQuoted.toggle()
            } else if sign == "{", !isJSON || isQuoted, rest.first == "{" {
                // An escaped brace.
                rest.removeFirst()
            }
        }
        if !plain.isEmpty { pieces.append(.text(plain)) }
        return pieces
    }

    /// `{name}` or `{name=default}` at the start; nil when it is something else, such as the start of a
    /// JSON object.
    private static func blank(_ text: Substring) -> (Blank, end: Substring.Index)? {
        guard let end = text.firstIndex(of: "}") else { return nil }
        let inside = text[..<end].dropFirst()
        let name = inside.prefix { $0 != "=" }
        guard SavedFilters.isName(String(name)) else { return nil }
        let usual = name.endIndex < inside.endIndex ? inside[name.endIndex...].dropFirst() : nil
        return (Blank(name: String(name), usual: usual.map(String.init)), text.index(after: end))
    }

    /// Escapes text for the inside of a JSON string.
    private static func escaped(_ text: String) -> String {
        var escaped: [UInt8] = []
        PrintableText.appendJSONText(text, to: &escaped)
        return String(decoding: escaped, as: UTF8.self)
    }
}
