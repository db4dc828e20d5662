// Parameters of an RPC over several lines, with each problem written at its place. Used by `tail -v` and
// `show`.

import NIOCore
import SDLProtocol

/// Something relayd found wrong with a message: an element of `problems` in its JSON.
struct MessageProblem: Sendable, Equatable {
    /// The place: "softButtons[0].type"; empty when it concerns the whole message.
    let path: String
    /// What was found and what was expected.
    let message: String
    /// "note", "warning" or "error".
    var severity: String = "error"

    /// The problems in a message's JSON object; empty when there are none.
    static func all(of message: JSONObject) -> [MessageProblem] {
        guard let list = message.array("problems") else { return [] }
        return list.elements.compactMap { element in
            list.object(element).map { problem in
                MessageProblem(
                    path: problem.string("path") ?? "",
                    message: problem.string("message") ?? problem.string("rule") ?? "",
                    severity: problem.string("severity") ?? "error")
            }
        }
    }

    /// `path` as keys and indices. A JSON pointer ("/softButtons/0/type") is accepted as well.
    var steps: [String] {
        path.split { ".[]/".contains($0) }.map(String.init)
    }

    /// The line for a problem where there is no value to append it to.
    func line(_ style: Style) -> String {
        style(look, "← \(SafeText.line(message))")
    }

    var look: Style.Look {
        switch severity {
        case "note": .dim
        case "warning": .yellow
        default: .red
        }
    }
}

/// JSON from a peer over several lines; numbers and strings as they were sent.
struct MarkedJSON {
    private let style: Style
    private var problems: [(steps: [String], problem: MessageProblem)] = []
    private var shown: Set<Int> = []
    private var lines: [String] = []

    /// Maximum width of an array of numbers and words on one line.
    private static let inlineColumns = 60

    private init(style: Style) {
        self.style = style
    }

    /// The lines of `object`. A problem follows the value it is about; when the value is missing, it
    /// stands at the end of the object that lacks it.
    static func lines(
        _ object: JSONObject, problems: [MessageProblem] = [], style: Style = .plain
    ) -> [String] {
        var printer = MarkedJSON(style: style)
        printer.problems = problems.map { problem in
            var steps = problem.steps
            // Some paths include the name of the parameters, too.
            if let first = steps.first, ["params", "parameters"].contains(first),
                object.value(first) == nil
            {
                steps.removeFirst()
            }
            return (steps, problem)
        }
        printer.append(object, label: "", path: [], comma: "")
        return printer.lines
    }

    // MARK: Values

    private mutating func append(
        _ object: JSONObject, label: String, path: [String], comma: String
    ) {
        guard !object.members.isEmpty || hasProblems(below: path) else {
            return append(label + "{}" + comma, at: path)
        }
        append(label + "{", at: path)
        for (index, member) in object.members.enumerated() {
            let key = object.string(member.key) ?? ""
            let separator = index < object.members.count - 1 ? "," : ""
            append(
                member.value, of: object, object.text(member.key) + ": ", path + [key], separator)
        }
        appendMissing(below: path)
        lines.append(margin(path) + "}" + comma)
    }

    private mutating func append(
        _ array: JSONArray, label: String, path: [String], comma: String
    ) {
        let isSimple = array.elements.allSatisfy { $0.kind != .object && $0.kind != .array }
        if isSimple, !hasProblems(below: path) {
            let line = "[" + array.elements.map { array.text($0) }.joined(separator: ", ") + "]"
            if line.columns <= Self.inlineColumns {
                return append(label + line + comma, at: path)
            }
        }
        append(label + "[", at: path)
        for (index, element) in array.elements.enumerated() {
            let separator = index < array.elements.count - 1 ? "," : ""
            append(element, of: array, "", path + ["\(index)"], separator)
        }
        appendMissing(below: path)
        lines.append(margin(path) + "]" + comma)
    }

    private mutating func append(
        _ token: JSONToken, of parent: some JSONContainer, _ label: String, _ path: [String],
        _ comma: String
    ) {
        if let object = parent.object(token) {
            append(object, label: label, path: path, comma: comma)
        } else if let array = parent.array(token) {
            append(array, label: label, path: path, comma: comma)
        } else {
            append(label + parent.text(token) + comma, at: path)
        }
    }

    /// Appends a line, followed by the problems of the value at `path`.
    private mutating func append(_ line: String, at path: [String]) {
        let found = problems.indices.filter { problems[$0].steps == path }
        shown.formUnion(found)
        guard !found.isEmpty else { return lines.append(margin(path) + line) }
        let all = found.map { problems[$0].problem }
        let notes = all.map { SafeText.line($0.message) }.joined(separator: "; ")
        let look = all.contains { $0.look == .red } ? .red : all[0].look
        lines.append(margin(path) + style(look, "\(line)  ← \(notes)"))
    }

    // MARK: What is not there

    private func hasProblems(below path: [String]) -> Bool {
        problems.contains { $0.steps.count > path.count && $0.steps.starts(with: path) }
    }

    /// Appends the problems of values missing from the object at `path`.
    private mutating func appendMissing(below path: [String]) {
        for (index, entry) in problems.enumerated()
        where !shown.contains(index) && entry.steps.starts(with: path) {
            shown.insert(index)
            lines.append(margin(path) + "  " + entry.problem.line(style))
        }
    }

    private func margin(_ path: [String]) -> String {
        String(repeating: "  ", count: path.count)
    }
}

extension JSONContainer {
    /// A value as it was sent, without characters that would disturb a terminal.
    func text(_ token: JSONToken) -> String {
        let start = bytes.readerIndex + token.range.lowerBound
        return SafeText.line(bytes.getString(at: start, length: token.range.count) ?? "")
    }
}
