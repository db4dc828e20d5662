import AccessoryLinks
import Foundation
import OpenXCProtocol
import RelayTesting
import SDLProtocol

@testable import relayd

// The JSON Schema of relayd.yaml, generated from what the reader accepts and from the shipped file's comments.
// `ConfigJSONSchemaTests` compare it with both, and write it when told to.

/// `config/relayd.schema.json`.
enum ConfigJSONSchema {
    static let file = Checkout.root.appending(path: "config/relayd.schema.json")
    static let shipped = Checkout.root.appending(path: "config/relayd.yaml")

    /// The document to be committed.
    static func text() throws -> String {
        let data = try JSONSerialization.data(
            withJSONObject: document(),
            options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    private static func document() throws -> [String: Any] {
        let meanings = descriptions(try String(contentsOf: shipped, encoding: .utf8))
        let defaults = Config()
        var top: [String: Any] = [:]
        var sections: [String: [String: Any]] = [:]
        for option in ConfigSchema().options {
            var value = schema(option.shape)
            value["default"] = builtIn(option, defaults)
            value["description"] = meanings[option.path]
            let parts = option.path.split(separator: ".").map(String.init)
            if parts.count == 1 {
                top[option.path] = value
            } else {
                sections[parts[0], default: [:]][parts[1]] = value
            }
        }
        for (name, properties) in sections { top[name] = object(properties) }
        var document = object(top)
        document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        document["title"] = "The configuration of relayd"
        document["description"] =
            "What an editor can check. relayd --check-config FILE also checks what a schema cannot "
            + "say: addresses of accessories, host bits of networks, and whether sizes fit each other."
        return document
    }

    /// An object with these members and no others; a file or a section may be empty.
    private static func object(_ properties: [String: Any]) -> [String: Any] {
        [
            "type": ["object", "null"], "properties": properties, "additionalProperties": false,
        ]
    }

    // MARK: Values

    private static func schema(_ shape: ConfigShape) -> [String: Any] {
        switch shape {
        case .flag:
            ["type": "boolean"]
        case .count(let range):
            ["type": "integer", "minimum": range.lowerBound, "maximum": range.upperBound]
        case .bytes(let range):
            [
                "type": ["integer", "string"], "minimum": range.lowerBound,
                "maximum": range.upperBound, "pattern": sizePattern(range),
            ]
        case .duration(let range):
            ["type": "string", "pattern": durationPattern(range)]
        case .choice(let words):
            ["type": "string", "enum": words]
        case .text(let form):
            text(form)
        case .list(let element, let mayBeEmpty, let mayBeOne):
            list(of: schema(element), mayBeEmpty: mayBeEmpty, mayBeOne: mayBeOne)
        }
    }

    private static func list(
        of element: [String: Any], mayBeEmpty: Bool, mayBeOne: Bool
    ) -> [String: Any] {
        var list: [String: Any] = ["type": "array", "items": element]
        if !mayBeEmpty { list["minItems"] = 1 }
        return mayBeOne ? ["anyOf": [element, list]] : list
    }

    private static func text(_ form: ConfigShape.TextForm) -> [String: Any] {
        switch form {
        case .accessory:
            [
                "type": "string",
                "pattern": "^(?:\(accessoryPattern)):",
                "examples": TransportCatalog.all.map { $0.usage },
            ]
        case .listenAddress:
            [
                "type": "string",
                "pattern": "^(?:\(hostPattern)):0*\(NumberPattern.text(0...65535))$",
            ]
        case .network:
            ["type": "string", "pattern": "^(?:\(networkPattern))$"]
        case .identifiers:
            [
                "type": ["string", "integer"], "minimum": 0, "maximum": UInt32.max,
                "pattern": "^(?:\(identifiersPattern))$",
            ]
        case .endpoint:
            [
                "type": "string",
                "pattern":
                    "^ *(?:(?:\(hostPattern)):0*\(NumberPattern.text(0...65535))|/[^ ]*[^/ ])"
                    + "(?: +(?:\(endpointPattern)))* *$",
            ]
        case .vehicleWrites:
            ["type": "string", "pattern": "^ *(?:\(networkPattern)|pty) +(?:\(rulePattern)) *$"]
        case .file:
            ["type": "string", "pattern": "^(?:/.*[^/])?$"]
        case .fileOrAuto:
            ["type": "string", "pattern": "^(?:auto|/.*[^/])?$"]
        // An unquoted 8675309 or true is text to relayd, and something else to YAML.
        case .name:
            ["type": ["string", "number", "boolean"], "minLength": 1]
        case .filter:
            // Filters have a grammar of their own; the schema only rejects those made of nothing but !.
            [
                "type": ["string", "number", "boolean"], "maxLength": 2000,
                "pattern": "^$|[^!]",
            ]
        case .saveTrigger:
            ["type": "string", "enum": SaveTrigger.words]
        case .functionName:
            ["type": "string", "enum": FunctionID.all.map(\.name).flatMap { [$0, "!\($0)"] }]
        case .group:
            [
                "type": ["string", "number", "boolean"], "minimum": 0,
                "pattern": "^(?:[A-Za-z0-9_.][A-Za-z0-9_.-]{0,31})?$",
            ]
        case .socketPath:
            ["type": "string", "pattern": "^(?:auto|/.*[^/])$", "maxLength": 107]
        // An unquoted 0660 is a number to YAML, which drops the leading zero.
        case .fileMode:
            [
                "type": ["string", "integer"], "pattern": "^0?[0-7]{3}$", "minimum": 100,
                "maximum": 777,
            ]
        }
    }

    private static func anyCase(_ word: String) -> String {
        word.map { "[\($0.uppercased())\($0.lowercased())]" }.joined()
    }

    /// The transports, and those that a language may precede.
    private static let accessoryPattern: String = {
        let all = TransportCatalog.schemes.map(anyCase).joined(separator: "|")
        let spoken = AccessoryAddress.Language.transports.map(anyCase).joined(separator: "|")
        return "\(all)|\(anyCase("openxc"))\\+(?:\(spoken))"
    }()

    private static let identifiersPattern: String = {
        let number = "(?:0x0*[0-9A-Fa-f]{1,8}|0*\(NumberPattern.text(0...Int(UInt32.max))))"
        return "\(number)(?:-\(number))?"
    }()

    private static let rulePattern: String = {
        let bus = "0*\(NumberPattern.text(1...Int(Int32.max)))"
        return "can(?::\(bus)(?::\(identifiersPattern))?)?|name(?::[^: ]+)?"
    }()

    private static let endpointPattern: String = {
        let (bus, rate) = (NumberPattern.text(1...255), NumberPattern.text(0...10_000))
        let formats = MessageFraming.allCases.map(\.rawValue).joined(separator: "|")
        return
            "format=(?:\(formats))|names=(?:[^ ,]+(?:,[^ ,]+)*)?|buses=(?:0*\(bus)(?:,0*\(bus))*)?"
            + "|ids=(?:(?:\(identifiersPattern))(?:,(?:\(identifiersPattern)))*)?"
            + "|on_change=(?:true|false)|rate=0*\(rate)"
    }()

    /// A host followed by a port needs no brackets unless it contains a colon.
    private static let hostPattern =
        "[A-Za-z0-9._-]+|\\[[A-Za-z0-9._%-]*:[A-Za-z0-9._%:-]*\\]"

    private static let networkPattern: String = {
        let byte = NumberPattern.text(0...255)
        let four = "\(byte)(?:\\.\(byte)){3}(?:/\(NumberPattern.text(0...32)))?"
        let six = "[0-9A-Fa-f]*:[0-9A-Fa-f:]*[0-9A-Fa-f:.]*(?:/\(NumberPattern.text(0...128)))?"
        return "\(four)|\(six)"
    }()

    private static func durationPattern(_ range: ClosedRange<Duration>) -> String {
        let range =
            Quantity.milliseconds(range.lowerBound)...Quantity.milliseconds(range.upperBound)
        return pattern(range, [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)])
    }

    private static func sizePattern(_ range: ClosedRange<Int>) -> String {
        pattern(range, [("B?", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)])
    }

    private static func pattern(
        _ range: ClosedRange<Int>, _ units: [(pattern: String, factor: Int)]
    ) -> String {
        let parts: [String] = units.compactMap { unit in
            let low = (range.lowerBound + unit.factor - 1) / unit.factor
            let high = range.upperBound / unit.factor
            guard low <= high else { return nil }
            return "0*\(NumberPattern.text(low...high)) *\(unit.pattern)"
        }
        return "^(?:\(parts.joined(separator: "|")))$"
    }

    /// The default, written as in the file.
    private static func builtIn(_ option: ConfigOption, _ defaults: Config) -> Any {
        let text = option.text(defaults)
        switch option.value(defaults) {
        case .flag(let flag): return flag
        case .list(let list): return list
        case .text: return text
        case .number(let number):
            // With its unit, unless the unit is bytes.
            if option.unit != nil, Int(text) == nil { return text }
            return Int(number)
        }
    }

    // MARK: Descriptions

    /// The comment in front of each key of the shipped file, by the option's path.
    static func descriptions(_ yaml: String) -> [String: String] {
        var found: [String: String] = [:]
        var comment: [Substring] = []
        var section = ""
        for line in yaml.split(separator: "\n", omittingEmptySubsequences: false) {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("#") {
                comment.append(text.dropFirst(text.hasPrefix("# ") ? 2 : 1))
                continue
            }
            if let colon = text.firstIndex(of: ":"), !text.hasPrefix("-") {
                let key = String(text[..<colon])
                let isIndented = line.count > text.count
                if !isIndented { section = key }
                let path = isIndented ? "\(section).\(key)" : key
                if !comment.isEmpty { found[path] = joined(comment) }
            }
            comment = []
        }
        return found
    }

    /// Joins the lines of a paragraph; indented lines, such as lists of words, stay separate.
    private static func joined(_ lines: [Substring]) -> String {
        var text = ""
        var isList = false
        for line in lines {
            let breaks = isList || line.hasPrefix(" ")
            text += text.isEmpty ? "" : breaks ? "\n" : " "
            text += line
            isList = line.hasPrefix(" ")
        }
        return text
    }
}
