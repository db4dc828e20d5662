package import ControlAPI
import MessageFilters

/// The tests for one value of a message.
package struct ScenarioCheck: Sendable, Equatable {
    package enum Test: Sendable, Equatable {
        /// Equal to the value. For an object, only the named members are compared; for a list, each
        /// element.
        case equals(AnyJSON)
        case not(AnyJSON)
        case contains(ScenarioText)
        /// With `*` and `?`.
        case like(ScenarioText)
        case atLeast(AnyJSON)
        case atMost(AnyJSON)
        case oneOf(AnyJSON)
        case exists(Bool)
    }

    package var path: ScenarioPath
    package var tests: [Test]

    /// Words of the tests, in YAML.
    static let operators = [
        "not", "contains", "like", "at_least", "at_most", "one_of", "exists",
    ]
}

/// A value that fails a test.
package struct ScenarioMismatch: Sendable, Equatable {
    package var path: String
    package var expected: String
    /// Nil if the value is missing.
    package var found: String?
}

extension ScenarioCheck {
    /// The failed tests; empty if there are none.
    ///
    /// - Parameters:
    ///   - root: Parameters, or the message for a path into it.
    ///   - values: Variables.
    func mismatches(
        in root: AnyJSON, _ values: [String: AnyJSON]
    ) throws(ScenarioTextError) -> [ScenarioMismatch] {
        let found = path.value(in: root)
        var mismatches: [ScenarioMismatch] = []
        for test in tests {
            mismatches += try Self.mismatches(test, found, path.description, values)
        }
        return mismatches
    }

    private static func mismatches(
        _ test: Test, _ found: AnyJSON?, _ path: String, _ values: [String: AnyJSON]
    ) throws(ScenarioTextError) -> [ScenarioMismatch] {
        func failed(_ expected: String) -> [ScenarioMismatch] {
            [ScenarioMismatch(path: path, expected: expected, found: found?.shown)]
        }
        switch test {
        case .equals(let wanted):
            let wanted = try wanted.filled(values)
            guard let found else { return failed(wanted.shown) }
            return differences(wanted, found, path)
        case .not(let wanted):
            let wanted = try wanted.filled(values)
            guard let found, isSame(wanted, found) else { return [] }
            return failed("anything but \(wanted.shown)")
        case .contains(let text):
            let text = try text.filled(values)
            if let found, found.plainText.contains(text) { return [] }
            return failed("a text with \(AnyJSON.string(text).shown) in it")
        case .like(let text):
            let text = try text.filled(values)
            if let found, TextPattern(text, .wildcards).matches(found.plainText) { return [] }
            return failed("a text like \(AnyJSON.string(text).shown)")
        case .atLeast(let wanted):
            let wanted = try wanted.filled(values)
            if let found = found?.asNumber, let wanted = wanted.asNumber, found >= wanted {
                return []
            }
            return failed("at least \(wanted.shown)")
        case .atMost(let wanted):
            let wanted = try wanted.filled(values)
            if let found = found?.asNumber, let wanted = wanted.asNumber, found <= wanted {
                return []
            }
            return failed("at most \(wanted.shown)")
        case .oneOf(let list):
            let list = try list.filled(values)
            let choices = if case .array(let elements) = list { elements } else { [list] }
            if let found, choices.contains(where: { isSame($0, found) }) { return [] }
            return failed("one of " + choices.map(\.shown).joined(separator: ", "))
        case .exists(let isWanted):
            guard (found != nil) != isWanted else { return [] }
            return failed(isWanted ? "any value" : "no such parameter")
        }
    }

    private static func isSame(_ wanted: AnyJSON, _ found: AnyJSON) -> Bool {
        differences(wanted, found, "").isEmpty
    }

    /// For objects, only the members named in `wanted` are compared.
    private static func differences(
        _ wanted: AnyJSON, _ found: AnyJSON, _ path: String
    ) -> [ScenarioMismatch] {
        switch (wanted, found) {
        case (.object(let wanted), .object(let found)):
            return wanted.keys.sorted().flatMap { name -> [ScenarioMismatch] in
                guard let member = wanted[name] else { return [] }
                let path = path.isEmpty ? name : "\(path).\(name)"
                guard let value = found[name] else {
                    return [ScenarioMismatch(path: path, expected: member.shown, found: nil)]
                }
                return differences(member, value, path)
            }
        case (.array(let elements), .array(let values)) where elements.count == values.count:
            return zip(elements, values).enumerated().flatMap { index, pair in
                differences(pair.0, pair.1, "\(path)[\(index)]")
            }
        default:
            if wanted == found { return [] }
            if let wanted = wanted.asNumber, let found = found.asNumber, wanted == found {
                return []
            }
            return [ScenarioMismatch(path: path, expected: wanted.shown, found: found.shown)]
        }
    }
}

extension AnyJSON {
    /// Only for numbers; text that consists of digits is text.
    var asNumber: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }

    /// For people: JSON on one line, cut at 200 characters.
    package var shown: String {
        let text = compact
        return text.count <= 200 ? text : text.prefix(200) + "…"
    }
}
