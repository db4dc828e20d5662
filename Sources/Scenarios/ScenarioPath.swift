import ControlAPI

/// Where a value is in the parameters of an RPC: `softButtons[0].text`; `softButtons[*].softButtonID` is
/// a list of all; `message.latency_ms` is a field of the message itself, as `relayctl tail --json` shows
/// it.
package struct ScenarioPath: Sendable, Hashable, CustomStringConvertible {
    package enum Step: Sendable, Hashable {
        case name(String)
        case index(Int)
        case all
    }

    package var steps: [Step]
    /// Whether it is a path into the message, not into its parameters.
    package var isOfMessage: Bool

    /// The specification nests five levels deep.
    private static let maximumSteps = 32

    /// - Returns: Nil if the text is not a path.
    package init?(_ text: String) {
        var steps: [Step] = []
        var rest = text[...]
        while true {
            let name = rest.prefix { !".[]".contains($0) }
            guard !name.isEmpty, name.utf8.count <= 200, !name.contains(where: \.isWhitespace)
            else { return nil }
            steps.append(.name(String(name)))
            rest = rest[name.endIndex...]
            while rest.first == "[" {
                guard let end = rest.firstIndex(of: "]") else { return nil }
                let index = rest[rest.index(after: rest.startIndex)..<end]
                if index == "*" {
                    steps.append(.all)
                } else {
                    guard index.utf8.count <= 5,
                        index.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                        let number = Int(index)
                    else { return nil }
                    steps.append(.index(number))
                }
                rest = rest[rest.index(after: end)...]
            }
            guard steps.count <= Self.maximumSteps else { return nil }
            guard let next = rest.first else { break }
            guard next == "." else { return nil }
            rest = rest.dropFirst()
        }
        isOfMessage = steps.count > 1 && steps[0] == .name("message")
        self.steps = isOfMessage ? Array(steps.dropFirst()) : steps
    }

    package var description: String {
        var text = isOfMessage ? "message" : ""
        for step in steps {
            switch step {
            case .name(let name): text += text.isEmpty ? name : ".\(name)"
            case .index(let index): text += "[\(index)]"
            case .all: text += "[*]"
            }
        }
        return text
    }

    /// The value at this path; nil if there is none.
    func value(in root: AnyJSON) -> AnyJSON? { Self.value(steps[...], in: root) }

    private static func value(_ steps: ArraySlice<Step>, in value: AnyJSON) -> AnyJSON? {
        guard let step = steps.first else { return value }
        let rest = steps.dropFirst()
        switch (step, value) {
        case (.name(let name), .object(let members)):
            return members[name].flatMap { Self.value(rest, in: $0) }
        case (.index(let index), .array(let elements)):
            guard elements.indices.contains(index) else { return nil }
            return Self.value(rest, in: elements[index])
        case (.all, .array(let elements)):
            return .array(elements.compactMap { Self.value(rest, in: $0) })
        default: return nil
        }
    }
}
