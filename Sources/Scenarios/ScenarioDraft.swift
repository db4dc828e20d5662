import ControlAPI
import SDLProtocol

/// Makes a scenario from a recording, for a person to complete: it waits for the requests of the
/// recorded apps, refuses those that the head unit refused, and injects what the driver did. `relayctl
/// scenario from TRACE` calls it.
package struct ScenarioDraft {
    private struct Step {
        /// Lines of YAML, without their indentation.
        var lines: [String]
        /// For a request: the filter used to answer it if it was refused.
        var filter: String?
        var role: String?
    }

    private struct Request: Hashable {
        var app: Int
        var correlationID: Int
    }

    private let name: String
    private let source: String
    private var roles: [(role: String, name: String)] = []
    private var steps: [Step] = []
    private var requests: [Request: Int] = [:]
    private var leftOut = 0
    private var hasLostLink = false

    /// Maximum number of values checked in one message.
    private static let checks = 6
    /// Maximum number of requests of the recording whose responses are awaited at a time.
    private static let openRequests = 1000
    /// Parameters that differ in each run.
    private static let volatile: Set<String> = [
        "hashID", "crc", "offset", "length", "deviceInfo", "syncMsgVersion", "cancelID",
        "requestedTime",
    ]
    /// Notifications caused by the driver, not by the head unit itself.
    private static let driven: Set<String> = [
        "OnCommand", "OnTouchEvent", "OnKeyboardInput", "OnLanguageChange", "OnButtonPress",
    ]

    package init(name: String, source: String) {
        self.name = String(name.prefix(ScenarioLimits.nameScalars))
        self.source = source
    }

    /// Number of steps so far.
    package var count: Int { steps.count }

    package mutating func add(_ message: ScenarioMessage) {
        switch message.kind {
        case "request" where message.isFromApp == true && message.fate != "by_relay":
            addRequest(message)
        case "dropped" where message.isStoppedRequest: addRequest(message)
        case "response" where message.isFromApp == false: addResponse(message)
        case "notification" where message.isFromApp == false: addNotification(message)
        case "event" where message.event == "link_closed" && !steps.isEmpty: hasLostLink = true
        case "event" where message.event == "link_opened" && hasLostLink:
            hasLostLink = false
            add(Step(lines: ["- link: unplug"]))
        default: break
        }
    }

    // MARK: Steps

    private mutating func add(_ step: Step) {
        // Half of the steps allowed, so that a person can add some.
        guard steps.count < ScenarioLimits.steps / 2 else {
            leftOut += 1
            return
        }
        steps.append(step)
    }

    private mutating func addRequest(_ message: ScenarioMessage) {
        guard let function = message.function, let role = role(of: message) else { return }
        var lines = ["- wait: \(Self.quoted("rpc:\(function)"))"]
        let checks = checks(message)
        if !checks.isEmpty { lines += ["  check:"] + checks.map { "    \($0)" } }
        add(Step(lines: lines, filter: "rpc:\(function)", role: role))
        guard let app = message.app, let correlation = message.correlationID,
            requests.count < Self.openRequests
        else { return }
        requests[Request(app: app, correlationID: correlation)] = steps.count - 1
    }

    private func checks(_ message: ScenarioMessage) -> [String] {
        guard case .object(let members) = message.root(ofMessage: false) else { return [] }
        return members.keys.sorted().compactMap { name -> String? in
            guard !Self.volatile.contains(name), ScenarioPath(name) != nil,
                let value = members[name]
            else { return nil }
            switch value {
            case .string(let text):
                guard text.unicodeScalars.count <= 100, !text.contains("${") else { return nil }
                return "\(Self.quoted(name)): \(Self.quoted(text))"
            case .integer, .number, .bool: return "\(Self.quoted(name)): \(value.compact)"
            case .object, .array, .null: return nil
            }
        }.prefix(Self.checks).map { $0 }
    }

    /// A request that was refused in the recording is refused again, whatever the head unit would
    /// answer.
    private mutating func addResponse(_ message: ScenarioMessage) {
        guard let app = message.app, let correlation = message.correlationID,
            let index = requests.removeValue(forKey: Request(app: app, correlationID: correlation)),
            case .object(let members) = message.root(ofMessage: false),
            members["success"] == .bool(false), let result = message.resultCode, !result.isEmpty,
            result.utf8.allSatisfy({ (0x41...0x5A).contains($0) || $0 == 0x5F }),
            steps.indices.contains(index), let filter = steps[index].filter
        else { return }
        var lines = ["- answer: \(Self.quoted(filter))", "  result: \(result)"]
        if case .string(let info)? = members["info"], !info.contains("${"),
            (1...200).contains(info.unicodeScalars.count),
            !info.unicodeScalars.contains(where: { $0.value < 0x20 })
        {
            lines.append("  info: \(Self.quoted(info))")
        }
        steps[index].lines = lines + steps[index].lines.dropFirst()
    }

    private mutating func addNotification(_ message: ScenarioMessage) {
        guard let function = message.function, Self.driven.contains(function),
            let role = role(of: message),
            case .object(let members) = message.root(ofMessage: false)
        else { return }
        var lines: [String]
        if function == "OnButtonPress", let press = Self.press(members) {
            lines = ["- inject: \(Self.quoted(press))"]
        } else {
            lines = ["- inject: \(function)"]
            let parameters = AnyJSON.object(members)
            guard (try? parameters.variables())?.isEmpty == true else { return }
            if !members.isEmpty { lines.append("  parameters: \(Self.flow(parameters))") }
        }
        add(Step(lines: lines, role: role))
    }

    private static func press(_ members: [String: AnyJSON]) -> String? {
        guard case .string(let name)? = members["buttonName"],
            name.utf8.allSatisfy({
                (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
            })
        else { return nil }
        let long = members["buttonPressMode"] == .string("LONG") ? " long" : ""
        guard name == "CUSTOM_BUTTON" else { return "press \(name)\(long)" }
        guard case .integer(let id)? = members["customButtonID"] else { return nil }
        return "press \(id)\(long)"
    }

    /// An app is identified by its name, which RegisterAppInterface contains.
    private mutating func role(of message: ScenarioMessage) -> String? {
        var name = message.appName
        if name == nil, case .object(let members) = message.root(ofMessage: false),
            case .string(let told)? = members["appName"]
        {
            name = told
        }
        guard let name, (1...ScenarioLimits.nameScalars).contains(name.unicodeScalars.count) else {
            return nil
        }
        if let known = roles.first(where: { $0.name == name }) { return known.role }
        guard roles.count < ScenarioLimits.apps else { return nil }
        var word = String(
            name.lowercased().unicodeScalars.map { scalar in
                scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
                    ? Character(scalar) : "-"
            }.prefix(24))
        if word.allSatisfy({ $0 == "-" }) { word = "app" }
        if roles.contains(where: { $0.role == word }) { word += "-\(roles.count + 1)" }
        roles.append((word, name))
        return word
    }

    // MARK: The text

    /// YAML that `ScenarioReader` reads.
    package var text: String {
        var text = """
            # Made of \(PrintableText.string(source, limit: 200)). Remove what does not matter, and add what is expected.
            scenario: \(Self.quoted(name))

            """
        if !roles.isEmpty {
            text += "apps:\n"
            for (role, name) in roles { text += "  \(Self.quoted(role)): \(Self.quoted(name))\n" }
        }
        text += "steps:\n"
        if steps.isEmpty { text += "  - pause: 0s # no app has asked anything in this recording\n" }
        for step in steps {
            for line in step.lines { text += "  \(line)\n" }
            if let role = step.role, roles.count > 1 { text += "    app: \(Self.quoted(role))\n" }
        }
        if leftOut > 0 { text += "  # \(leftOut) more steps were left out\n" }
        return text
    }

    /// A plain word unquoted, other text in quotes.
    private static func quoted(_ text: String) -> String {
        let isWord =
            text.utf8.first.map { (0x41...0x5A).contains($0 & 0xDF) } ?? false
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || $0 == 0x5F
                    || $0 == 0x2D
            }
        // Words with a special meaning in YAML.
        let special = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        return isWord && !special.contains(text.lowercased())
            ? text : inQuotes(text)
    }

    /// The text in YAML quotes, whatever it contains. Not escaped as in JSON: libyaml does not accept halves
    /// of surrogate pairs.
    private static func inQuotes(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                quoted += "\\"
                quoted.unicodeScalars.append(scalar)
            case _ where PrintableText.isPrintable(scalar) && scalar.value < 0xE000:
                quoted.unicodeScalars.append(scalar)
            default: quoted += "\\U" + scalar.value.hexDigits
            }
        }
        return quoted + "\""
    }

    private static func flow(_ value: AnyJSON) -> String {
        switch value {
        case .object(let members):
            let pairs = members.keys.sorted().compactMap { name in
                members[name].map { "\(quoted(name)): \(flow($0))" }
            }
            return "{" + pairs.joined(separator: ", ") + "}"
        case .array(let elements): return "[" + elements.map(flow).joined(separator: ", ") + "]"
        case .string(let text): return inQuotes(text)
        default: return value.compact
        }
    }
}
