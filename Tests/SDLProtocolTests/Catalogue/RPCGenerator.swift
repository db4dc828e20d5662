// Makes valid and broken messages from the catalogue, for the tests of the validator.

import RelayTesting

@testable import SDLProtocol

/// Writes the JSON of parameters, random within what the specification allows.
struct RPCGenerator {
    let catalogue: RPCCatalogue
    var random: SeededGenerator

    /// All mandatory parameters, and each of the others half of the time; with `all` every one.
    mutating func object(_ parameters: [RPCParameter], all: Bool = false, depth: Int = 0) -> String
    {
        let chosen = parameters.filter {
            $0.isMandatory || (all && depth < 4) || (depth < 4 && Bool.random(using: &random))
        }
        let members = chosen.map { "\"\($0.name)\":\(value($0, all: all, depth: depth))" }
        return "{\(members.joined(separator: ","))}"
    }

    mutating func value(_ parameter: RPCParameter, all: Bool, depth: Int) -> String {
        guard let size = parameter.arraySize else {
            return single(parameter, all: all, depth: depth)
        }
        let most = min(size.maximum ?? 3, (size.minimum ?? 0) + 2)
        let count = Int.random(in: (size.minimum ?? 0)...most, using: &random)
        let elements = (0..<count).map { _ in single(parameter, all: all, depth: depth) }
        return "[\(elements.joined(separator: ","))]"
    }

    private mutating func single(_ parameter: RPCParameter, all: Bool, depth: Int) -> String {
        switch parameter.kind {
        case .boolean: return "\(Bool.random(using: &random))"
        case .integer, .float:
            let minimum = parameter.value.minimum ?? -5
            let maximum = parameter.value.maximum ?? minimum + 1000
            let number = Double.random(in: minimum...maximum, using: &random)
            if parameter.kind == .float { return "\(number)" }
            return "\(Int64(number.rounded(.towardZero).clamped(minimum, maximum)))"
        case .string:
            let minimum = parameter.length.minimum ?? 0
            let most = min(parameter.length.maximum ?? 20, minimum + 20)
            let count = Int.random(in: minimum...most, using: &random)
            return "\""
                + (0..<count).map { _ in ["a", "é", "\\n", "漢", " "].random(&random) }.joined()
                + "\""
        case .enumeration(let name):
            let names = catalogue.enumeration(name)?.elements.filter { $0.lifetime.until == nil }
            return "\"\((names ?? []).map(\.name).random(&random))\""
        case .structure(let name):
            let parameters = catalogue.structure(name)?.parameters ?? []
            return object(parameters, all: all, depth: depth + 1)
        }
    }

    /// Broken JSON: a value of another kind, or text cut and changed.
    mutating func broken(_ parameters: [RPCParameter]) -> String {
        var bytes = Array(object(parameters).utf8)
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let at = Int.random(in: 0..<bytes.count, using: &random)
            switch UInt8.random(in: 0...4, using: &random) {
            case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 1: if bytes.count > 1 { bytes.remove(at: at) }
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
            default:
                let strange = [
                    "null", "[]", "{}", "\"\"", "-1", "1e999", "-0.0", "12345678901234567890",
                    "[[[[]]]]", "\"\\ud800\"", "true",
                ].random(&random)
                // Replaces a value, which follows a colon.
                guard let colon = bytes[at...].firstIndex(of: UInt8(ascii: ":")) else { continue }
                let end = bytes[(colon + 1)...].firstIndex {
                    $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "}")
                }
                bytes.replaceSubrange((colon + 1)..<(end ?? bytes.count), with: strange.utf8)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Array {
    fileprivate func random(_ random: inout SeededGenerator) -> Element {
        self[Int.random(in: 0..<count, using: &random)]
    }
}

extension Double {
    fileprivate func clamped(_ minimum: Double, _ maximum: Double) -> Double {
        Swift.min(Swift.max(self, minimum.rounded(.up)), maximum.rounded(.down))
    }
}
