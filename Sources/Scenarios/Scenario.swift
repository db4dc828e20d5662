package import ControlAPI
package import YAML

/// A dialogue with apps and their head unit, written as steps: which messages to wait for, what they have
/// to contain, and what relayd then does. `ScenarioReader` reads it from YAML, `ScenarioRun` runs it.
/// Documentation/scenarios.md describes the language for people.
package struct Scenario: Sendable, Equatable {
    package var name: String
    /// A description, in a sentence or two.
    package var about: String?
    package var apps: [App]
    /// Values that may be changed for a run, by name.
    package var variables: [String: AnyJSON]
    /// How long the whole scenario may take.
    package var limit: Duration
    package var steps: [Step]

    package static let usualLimit = Duration.seconds(300)

    /// An app that has a name in the scenario.
    package struct App: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            /// It connects by itself; its name or app ID contains this. "*" is any app.
            case connects(String)
            /// The sample app, which is run alongside the scenario.
            case sample(name: String, appID: String)
            /// relayd itself is the app.
            case own(name: String, appID: String?, hmiTypes: [String])
        }

        package var role: String
        package var kind: Kind
        package var place: YAMLPlace
    }

    package struct Step: Sendable, Equatable {
        /// Number among all steps of the scenario, in the order written, from 1.
        package var number: Int
        package var place: YAMLPlace
        /// Its name in reports; nil for its own words.
        package var title: String?
        /// Role of the app it is about.
        package var app: String?
        package var content: Content
    }

    package indirect enum Content: Sendable, Equatable {
        /// The next message that the filter accepts must pass the checks.
        case wait(Wanted)
        /// A message within the time must pass filter and checks.
        case expect(Wanted)
        /// No such message may come for this time.
        case never(filter: ScenarioText, time: ScenarioText)
        /// The next request that the filter accepts is answered by relayd.
        case answer(Answer)
        case inject(Said)
        case send(Said, result: ScenarioText?, answer: Wanted)
        /// A fault rule, until it is removed or the scenario ends. If the filter is nil, it is for
        /// the link.
        case fault(filter: ScenarioText?, action: ScenarioText, name: String?)
        case remove(String)
        case disconnect
        case pause(ScenarioText)
        case repetition(over: ScenarioText, variable: String?, steps: [Step])
    }

    /// A message to wait for.
    package struct Wanted: Sendable, Equatable {
        package var filter: ScenarioText
        /// Nil for the default.
        package var time: ScenarioText?
        package var checks: [ScenarioCheck]
        package var captures: [Capture]
    }

    package struct Capture: Sendable, Equatable {
        package var variable: String
        package var path: ScenarioPath
    }

    package struct Answer: Sendable, Equatable {
        package var request: Wanted
        package var result: ScenarioText
        package var info: ScenarioText?
        /// Parameters besides result code and info; then a rule drops the request, and relayd sends the
        /// response.
        package var parameters: AnyJSON?
    }

    /// An RPC that relayd sends.
    package struct Said: Sendable, Equatable {
        /// An RPC, or a short form of `relayctl inject` with its words.
        package var words: ScenarioText
        package var parameters: AnyJSON?
    }
}

extension Scenario.Step {
    /// Whether it is a rule about messages, which may be in force before there is an app.
    var isFault: Bool {
        if case .fault(_?, _, _) = content { true } else { false }
    }
}

extension Scenario.Content {
    /// The key of the step in YAML.
    package var verb: String {
        switch self {
        case .wait: "wait"
        case .expect: "expect"
        case .never: "never"
        case .answer: "answer"
        case .inject: "inject"
        case .send: "send"
        case .fault(let filter, _, _): filter == nil ? "link" : "fault"
        case .remove: "remove"
        case .disconnect: "disconnect"
        case .pause: "pause"
        case .repetition: "repeat"
        }
    }
}

extension Scenario.Step {
    /// What it does, in one line.
    package var summary: String { title ?? words }

    /// The step as written, without the lines under it.
    package var words: String {
        let of = app.map { " (\($0))" } ?? ""
        switch content {
        case .wait(let wanted), .expect(let wanted): return "\(content.verb) \(wanted.filter)\(of)"
        case .never(let filter, let time): return "never \(filter) for \(time)\(of)"
        case .answer(let answer):
            return "answer \(answer.request.filter) with \(answer.result)\(of)"
        case .inject(let said), .send(let said, _, _): return "\(content.verb) \(said.words)\(of)"
        case .fault(let filter, let action, _):
            return filter.map { "fault \($0): \(action)\(of)" } ?? "link \(action)"
        case .remove(let name): return "remove \(name)"
        case .disconnect: return "disconnect\(of)"
        case .pause(let time): return "pause \(time)"
        case .repetition(let over, _, let steps):
            return "repeat \(over): \(steps.count) step\(steps.count == 1 ? "" : "s")"
        }
    }
}

/// Bounds for scenarios, which may come from anybody.
package enum ScenarioLimits {
    /// The ready scenarios have 2 KB; one made from a long recording has some hundred.
    package static let fileBytes = 1 << 20
    static let yamlDepth = 32
    static let yamlNodes = 100_000
    static let steps = 5000
    static let repeatDepth = 4
    static let times = 10_000
    /// Steps run in total, including repetitions.
    static let stepsTaken = 100_000
    static let apps = 32
    static let variables = 200
    static let checks = 200
    static let nameScalars = 100
    /// Variables, roles and names of faults.
    static let wordBytes = 64
    /// Any other text.
    static let textScalars = 10_000
    /// The longest time a step or a scenario may take.
    package static let longest = Duration.seconds(24 * 3600)
    /// Messages kept until a step has examined them.
    static let messages = 20_000
    /// Problems reported.
    static let problems = 50
}
