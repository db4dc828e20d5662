import DidYouMean
import NIOCore

// How each kind of value is read: one small function per kind, strict, with a message that helps.
// `ConfigSchema` says which option uses which.

/// Turns what the user wrote into a value, or reports why it cannot.
package struct ConfigReader<Value> {
    /// Reports to the list and returns `nil` when the value is not acceptable.
    package let read: (ConfigValue, _ path: String, inout [ConfigProblem]) -> Value?
    /// What `read` accepts.
    package let shape: ConfigShape

    private init(
        _ shape: ConfigShape,
        read: @escaping (ConfigValue, _ path: String, inout [ConfigProblem]) -> Value?
    ) {
        self.shape = shape
        self.read = read
    }

    /// A reader of plain scalars. `parse` sees the text and says what it expected.
    private static func scalar(
        _ shape: ConfigShape, expected: String, mayBeQuoted: Bool,
        parse: @escaping (String) throws(Refusal) -> Value
    ) -> ConfigReader {
        ConfigReader(shape) { value, path, problems in
            func refuse(_ expected: String, _ hint: String?) -> Value? {
                problems.append(.mismatch(value, path, expected: expected, hint: hint))
                return nil
            }
            switch value.form {
            case .scalar(let text, let quoted):
                do throws(Refusal) {
                    let parsed = try parse(text)
                    return quoted && !mayBeQuoted ? refuse(expected, "remove the quotes") : parsed
                } catch {
                    if let complaint = error.complaint {
                        let saysWhat = complaint.contains(value.summary)
                        let text = saysWhat ? complaint : "found \(value.summary); \(complaint)"
                        problems.append(
                            ConfigProblem(origin: value.origin, path: path, text: text))
                        return nil
                    }
                    return refuse(error.expected ?? expected, error.hint)
                }
            case .tag(let name):
                return refuse(
                    expected, "text that begins with ! needs quotes: \(ConfigValue.shown(name))")
            case .list(let values) where values.count == 1:
                return refuse(expected, "remove the brackets or the dash: this is not a list")
            case .list, .mapping, .nothing:
                return refuse(expected, nil)
            }
        }
    }

    /// Why a text was not accepted, if there is more to say than the option's own expectation.
    package struct Refusal: Error {
        package var expected: String?
        package var hint: String?
        /// A message of another part, shown instead of what this option expects.
        package var complaint: String?
    }

    /// Text of a special form, such as an address; `parse` refuses any other text.
    package static func text(
        _ form: ConfigShape.TextForm, _ expected: String,
        parse: @escaping (String) throws(Refusal) -> Value
    ) -> ConfigReader {
        scalar(.text(form), expected: expected, mayBeQuoted: true, parse: parse)
    }
}

extension ConfigReader where Value == Bool {
    /// `true` or `false`, and nothing else: YAML's "yes", "no", "on" and "off" are just text.
    package static var flag: ConfigReader {
        scalar(.flag, expected: "true or false", mayBeQuoted: false) { text throws(Refusal) in
            switch text {
            case "true": return true
            case "false": return false
            case "yes", "on", "True", "TRUE": throw Refusal(hint: "write true")
            case "no", "off", "False", "FALSE": throw Refusal(hint: "write false")
            default: throw Refusal()
            }
        }
    }
}

extension ConfigReader where Value == Int {
    /// A whole number: digits only, as in a duration or a size; a sign has no meaning here.
    package static func count(_ range: ClosedRange<Int>) -> ConfigReader {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return scalar(.count(range), expected: expected, mayBeQuoted: false) {
            text throws(Refusal) in
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
                range.contains(number)
            else { throw Refusal() }
            return number
        }
    }

    /// A size in bytes, with or without a unit.
    package static func bytes(_ range: ClosedRange<Int>) -> ConfigReader {
        let expected =
            "a size such as 4096, 256 KiB or 16 MiB, from \(Quantity.text(bytes: range.lowerBound))"
            + " to \(Quantity.text(bytes: range.upperBound))"
        return scalar(.bytes(range), expected: expected, mayBeQuoted: true) {
            text throws(Refusal) in
            guard let bytes = Quantity.bytes(text) else {
                throw Refusal(hint: Quantity.byteUnitHint(text))
            }
            guard range.contains(bytes) else { throw Refusal() }
            return bytes
        }
    }
}

extension ConfigReader where Value == TimeAmount {
    static func duration(_ range: ClosedRange<Duration>) -> ConfigReader {
        let expected =
            "a duration with its unit such as 500ms, 20s or 2m,"
            + " from \(Quantity.text(range.lowerBound)) to \(Quantity.text(range.upperBound))"
        return scalar(.duration(range), expected: expected, mayBeQuoted: true) {
            text throws(Refusal) in
            guard let duration = Quantity.duration(text) else {
                let isNumber = Int(text) != nil
                throw Refusal(hint: isNumber ? "write \(text)s for seconds" : nil)
            }
            guard range.contains(duration) else { throw Refusal() }
            return TimeAmount(duration)
        }
    }
}

extension ConfigReader where Value: RawRepresentable, Value.RawValue == String {
    /// One of a few words.
    package static func choice(_ values: [Value]) -> ConfigReader {
        let words = values.map(\.rawValue)
        let last = words.last ?? ""
        let expected =
            words.count < 2 ? last : "\(words.dropLast().joined(separator: ", ")) or \(last)"
        return scalar(.choice(words), expected: expected, mayBeQuoted: true) {
            text throws(Refusal) in
            guard let value = values.first(where: { $0.rawValue == text }) else {
                let hint = Spelling.nearest(text, in: words).map { "did you mean \"\($0)\"?" }
                throw Refusal(hint: hint)
            }
            return value
        }
    }
}

extension ConfigReader {
    /// A list whose elements are read one by one, each reported at its own place.
    ///
    /// - Parameter mayBeOne: also accepts a single element without a list.
    package static func list<Element>(
        of element: ConfigReader<Element>, expected: String, mayBeEmpty: Bool = true,
        mayBeOne: Bool = false,
        check: @escaping ([(Element, ConfigValue)]) -> [(ConfigValue, String)] = { _ in [] }
    ) -> ConfigReader where Value == [Element] {
        ConfigReader(
            .list(of: element.shape, mayBeEmpty: mayBeEmpty, mayBeOne: mayBeOne)
        ) { value, path, problems in
            if mayBeOne, case .scalar = value.form {
                return element.read(value, path, &problems).map { [$0] }
            }
            guard case .list(let values) = value.form else {
                var hint: String?
                // Only if the text can be copied as shown.
                if case .scalar(let text, _) = value.form, ConfigValue.visible(text) == text,
                    !text.contains(where: { $0 == "\"" || $0 == "\\" })
                {
                    hint = "write [\"\(text)\"]"
                }
                problems.append(.mismatch(value, path, expected: expected, hint: hint))
                return nil
            }
            guard mayBeEmpty || !values.isEmpty else {
                problems.append(
                    ConfigProblem(
                        origin: value.origin, path: path,
                        text: "found an empty list; expected \(expected), at least one"))
                return nil
            }
            let before = problems.count
            let elements = values.enumerated().compactMap { index, value in
                element.read(value, "\(path)[\(index)]", &problems).map { ($0, value) }
            }
            for (value, text) in check(elements) {
                problems.append(ConfigProblem(origin: value.origin, path: path, text: text))
            }
            return problems.count == before ? elements.map(\.0) : nil
        }
    }
}
