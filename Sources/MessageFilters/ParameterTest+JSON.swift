// Searches the parameters of an RPC for a filter. Used by `FilteredEntry`, and by fault rules.

import NIOCore
package import SDLProtocol

extension JSONObject {
    /// Whether a parameter at this path passes the test.
    package func has(
        _ path: ArraySlice<FilterTerm.PathStep>, _ test: FilterTerm.ParameterTest
    ) -> Bool {
        guard case .member(let name)? = path.first else { return false }
        return members.contains { member in
            guard let key = string(member.key), key.isSameWord(as: name) else { return false }
            return has(member.value, path.dropFirst(), test)
        }
    }
}

extension JSONArray {
    fileprivate func has(
        _ path: ArraySlice<FilterTerm.PathStep>, _ test: FilterTerm.ParameterTest
    ) -> Bool {
        guard case .index(let index)? = path.first else {
            // Without an index any element will do.
            return elements.contains { has($0, path, test) }
        }
        return elements.indices.contains(index)
            && has(elements[index], path.dropFirst(), test)
    }
}

extension JSONContainer {
    fileprivate func has(
        _ token: JSONToken, _ path: ArraySlice<FilterTerm.PathStep>,
        _ test: FilterTerm.ParameterTest
    ) -> Bool {
        switch token.kind {
        case .object:
            guard path.isEmpty else { return object(token)?.has(path, test) ?? false }
            return test == .exists || test.holds(ofJSON: object(token)?.compacted ?? "")
        case .array:
            if test == .exists, path.isEmpty { return true }
            return array(token)?.has(path, test) ?? false
        case .string: return path.isEmpty && test.holds(string(token) ?? "", isNumber: false)
        case .number: return path.isEmpty && test.holds(text(token), isNumber: true)
        case .bool, .null: return path.isEmpty && test.holds(text(token), isNumber: false)
        }
    }

    /// The text of a value without quotes.
    private func text(_ token: JSONToken) -> String {
        bytes.getString(
            at: bytes.readerIndex + token.range.lowerBound, length: token.range.count) ?? ""
    }
}

extension FilterTerm.ParameterTest {
    fileprivate func holds(_ text: String, isNumber: Bool) -> Bool {
        switch self {
        case .exists: true
        case .contains(let pattern): pattern.matches(text)
        case .equals(let pattern, let number):
            pattern.matches(text)
                || isNumber && number != nil && Double(text) == number?.value
        case .number(let order, let wanted):
            isNumber && Double(text).map { order.holds($0, wanted.value) } ?? false
        }
    }

    fileprivate func holds(ofJSON text: String) -> Bool {
        if case .contains(let pattern) = self { pattern.matches(text) } else { false }
    }
}

extension String {
    /// Compares names of parameters, which are ASCII letters.
    fileprivate func isSameWord(as other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { Self.lower($0) == Self.lower($1) }
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}
