import ControlAPI
import YAML

// What people have written, as values and as text for messages.

extension YAMLNode {
    /// What was found, for a message.
    var shown: String {
        switch self {
        case .sequence: "a list"
        case .mapping: "\"key: value\" lines"
        case .scalar(let scalar):
            if let tag = scalar.ownTag {
                "the YAML tag \(ScenarioWord.shown(tag))"
            } else if scalar.isNothing {
                "nothing"
            } else {
                "\"\(ScenarioWord.shown(scalar.text))\""
            }
        }
    }
}

extension YAMLNode.Scalar {
    /// `!Show` without quotes is a tag to YAML, and not text.
    var ownTag: String? {
        guard let tag, tag.hasPrefix("!"), tag != "!" else { return nil }
        return tag
    }

    /// Its value in JSON; unquoted text follows YAML's rules.
    var value: AnyJSON {
        guard isPlain else { return .string(text) }
        if isNothing { return .null }
        switch text {
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        default: break
        }
        // Swift reads more than YAML: "+5", "0x1p3", "inf", "nan".
        let isNumber = text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0)
        }
        guard isNumber, text.utf8.count <= 40 else { return .string(text) }
        if let integer = Int(text) { return .integer(integer) }
        if let number = Double(text), number.isFinite { return .number(number) }
        return .string(text)
    }
}
