import Foundation

/// Checks a value against the part of JSON Schema that `config/relayd.schema.json` uses. An unknown keyword is
/// an error, so that none is ignored.
struct JSONSchemaCheck {
    struct UnknownKeyword: Error { let keyword: String }

    /// Whether the value satisfies the schema.
    static func accepts(_ value: Any, _ schema: [String: Any]) throws -> Bool {
        for (keyword, argument) in schema {
            guard try holds(keyword, argument, value, in: schema) else { return false }
        }
        return true
    }

    private static func holds(
        _ keyword: String, _ argument: Any, _ value: Any, in schema: [String: Any]
    ) throws -> Bool {
        switch (keyword, argument) {
        case ("$schema", _), ("title", _), ("description", _), ("default", _), ("examples", _):
            return true
        case ("type", let name as String):
            return isOf(name, value)
        case ("type", let names as [String]):
            return names.contains { isOf($0, value) }
        case ("enum", let words as [String]):
            return (value as? String).map(words.contains) ?? false
        case ("minimum", let bound as NSNumber):
            return number(value).map { $0 >= bound.doubleValue } ?? true
        case ("maximum", let bound as NSNumber):
            return number(value).map { $0 <= bound.doubleValue } ?? true
        case ("minLength", let bound as Int):
            return (value as? String).map { $0.unicodeScalars.count >= bound } ?? true
        case ("maxLength", let bound as Int):
            return (value as? String).map { $0.unicodeScalars.count <= bound } ?? true
        case ("minItems", let bound as Int):
            return (value as? [Any]).map { $0.count >= bound } ?? true
        case ("pattern", let pattern as String):
            guard let text = value as? String else { return true }
            let expression = try NSRegularExpression(pattern: pattern)
            let range = NSRange(text.startIndex..., in: text)
            return expression.firstMatch(in: text, range: range) != nil
        case ("anyOf", let schemas as [[String: Any]]):
            return try schemas.contains { try accepts(value, $0) }
        case ("items", let element as [String: Any]):
            return try (value as? [Any])?.allSatisfy { try accepts($0, element) } ?? true
        case ("properties", let properties as [String: [String: Any]]):
            guard let members = value as? [String: Any] else { return true }
            return try properties.allSatisfy { name, schema in
                try members[name].map { try accepts($0, schema) } ?? true
            }
        case ("additionalProperties", let isAllowed as Bool):
            guard !isAllowed, let members = value as? [String: Any] else { return true }
            let known = schema["properties"] as? [String: Any] ?? [:]
            return members.keys.allSatisfy { known[$0] != nil }
        default:
            throw UnknownKeyword(keyword: keyword)
        }
    }

    /// A number that is not a Boolean: Foundation uses one type for both, and takes 0 for a Boolean.
    private static func number(_ value: Any) -> Double? {
        isBoolean(value) ? nil : (value as? Int).map(Double.init) ?? value as? Double
    }

    private static func isBoolean(_ value: Any) -> Bool {
        guard let number = value as? NSNumber else { return value is Bool }
        return String(cString: number.objCType) == "c"
    }

    private static func isOf(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "null": value is NSNull
        case "boolean": isBoolean(value)
        case "integer": number(value).map { $0.rounded() == $0 } ?? false
        case "number": number(value) != nil
        case "string": value is String
        case "array": value is [Any]
        case "object": value is [String: Any]
        default: false
        }
    }
}
