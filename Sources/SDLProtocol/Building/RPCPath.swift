// How people write a parameter and its value: `mainField1=Hello`, `graphic.value=icon.png`,
// `softButtons[0].type=TEXT`, `speed:=88.5`.

/// Where a value stands in the parameters of an RPC.
public struct RPCPath: Hashable, Sendable {
    public enum Step: Hashable, Sendable {
        case name(String)
        case index(Int)
    }

    public var steps: [Step]

    /// Names and indices together. The specification nests five deep.
    static let maximumSteps = 32
    /// The longest array of the specification.
    static let maximumIndex = JSONArray.maximumElements - 1
}

extension RPCPath: CustomStringConvertible {
    public var description: String { Self.text(steps[...]) }

    static func text(_ steps: ArraySlice<Step>) -> String {
        var text = ""
        for step in steps {
            switch step {
            case .name(let name): text += text.isEmpty ? name : ".\(name)"
            case .index(let index): text += "[\(index)]"
            }
        }
        return text
    }
}

extension RPCPath {
    /// - Returns: Nil when the text is no path.
    public init?(_ text: String) {
        var steps: [Step] = []
        var rest = text[...]
        repeat {
            let name = rest.prefix { $0 != "." && $0 != "[" && $0 != "]" }
            guard !name.isEmpty, !name.contains(where: \.isWhitespace) else { return nil }
            steps.append(.name(String(name)))
            rest = rest[name.endIndex...]
            while rest.first == "[" {
                let digits = rest.dropFirst().prefix { $0 != "]" }
                guard (1...5).contains(digits.utf8.count),
                    digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    let index = Int(digits), index <= Self.maximumIndex,
                    digits.endIndex < rest.endIndex
                else { return nil }
                steps.append(.index(index))
                rest = rest[rest.index(after: digits.endIndex)...]
            }
            guard steps.count <= Self.maximumSteps else { return nil }
            guard let next = rest.first else {
                self.steps = steps
                return
            }
            guard next == "." else { return nil }
            rest = rest.dropFirst()
        } while true
    }
}

/// A parameter and the value that it is to have, as a user wrote them.
public struct RPCAssignment: Hashable, Sendable {
    public enum Value: Hashable, Sendable {
        /// Text of the type that the specification gives.
        case text(String)
        /// JSON, taken as it stands.
        case json(String)
    }

    public var path: RPCPath
    public var value: Value

    /// - Parameter text: `PATH=VALUE`, or `PATH:=JSON`.
    public init(_ text: String) throws(RPCBuildError) {
        guard let sign = text.firstIndex(of: "=") else {
            throw RPCBuildError(
                "\"\(RPCBuildError.shown(text))\" has no value; expected NAME=VALUE, such as "
                    + "mainField1=Hello")
        }
        var name = text[..<sign]
        let value = String(text[text.index(after: sign)...])
        let isJSON = name.last == ":"
        if isJSON { name = name.dropLast() }
        guard let path = RPCPath(String(name)) else {
            throw RPCBuildError(
                "\"\(RPCBuildError.shown(String(name)))\" is no name of a parameter; expected one such as "
                    + "mainField1, graphic.value or softButtons[0].text")
        }
        self.path = path
        self.value = isJSON ? .json(value) : .text(value)
    }
}

/// Why an RPC is not built: for people, printable.
public struct RPCBuildError: Error, Hashable, Sendable, CustomStringConvertible {
    public var description: String
    /// What is wrong with single parameters, each with its place and in one sentence.
    public var problems: [Problem] = []

    public struct Problem: Hashable, Sendable {
        public var path: String
        public var text: String
    }

    init(_ description: String, _ problems: [Problem] = []) {
        (self.description, self.problems) = (description, problems)
    }

    /// For text that should be a JSON object and is not.
    public init(notAnObject what: String) {
        description =
            "\"\(Self.shown(what))\" is no JSON object; expected one such as {\"mainField1\": \"Hello\"}"
    }

    static func shown(_ text: String) -> String { PrintableText.string(text, limit: 60) }
}
