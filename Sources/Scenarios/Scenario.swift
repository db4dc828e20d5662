package import ControlAPI
package import YAML

/// A dialogue with apps and their head unit, written down as steps: what is waited for, what has to be in
/// it, and what relayd does then. `ScenarioReader` makes it of YAML, `ScenarioRun` follows it.
/// Documentation/scenarios.md describes the language for people.
package struct Scenario: Sendable, Equatable {
    package var name: String
    /// What it is about, in a sentence or two.
    package var about: String?
    package var apps: [App]
    /// Values that whoever runs it may change, by name.
    package var variables: [String: AnyJSON]
    /// How long all of it may take.
    package var limit: Duration
    package var steps: [Step]

    package static let usualLimit = Duration.seconds(300)

    /// An app that has a name in the scenario.
    package struct App: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            /// It connects by itself; its name or app ID has this in it. "*" is any app.
            case connects(String)
            /// The sample app, which is run beside the scenario.
            case sample(name: String, appID: String)
            /// relayd itself is the app.
            case own(name: String, appID: String?, hmiTypes: [String])
        }

        package var role: String
        package var kind: Kind
        package var place: YAMLPlace
    }

    package struct Step: Sendable, Equatable {
        /// Counts all steps of the scenario from 1, as they are written.
        package var number: Int
        package var place: YAMLPlace
        /// What it is called in reports; nil for its own words.
        package var title: String?
        /// Role of the app it is about.
        package var app: String?
        package var content: Content
    }

    package indirect enum Content: Sendable, Equatable {
        /// The next message that the filter accepts must pass the checks.
        case wait(Wanted)
        /// Some message within the time must pass filter and checks.
        case expect(Wanted)
        /// No such message for this time.
        case never(filter: ScenarioText, time: ScenarioText)
        /// The next request that the filter accepts is answered by relayd.
        case answer(Answer)
        case inject(Said)
        case send(Said, result: ScenarioText?, answer: Wanted)
        /// A fault rule, until it is removed or the scenario ends. Filter nil: of the link.
        case fault(filter: ScenarioText?, action: ScenarioText, name: String?)
        case remove(String)
        case disconnect
        case pause(ScenarioText)
        case repetition(over: ScenarioText, variable: String?, steps: [Step])
    }

    /// A message that is waited for.
    package struct Wanted: Sendable, Equatable {
        package var filter: ScenarioText
        /// Nil for what is usual.
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
        /// Parameters besides result code and info; then the head unit gets the request, and its answer is
        /// what is replaced.
        package var parameters: AnyJSON?
    }

    /// An RPC that relayd says.
    package struct Said: Sendable, Equatable {
        /// An RPC, or a short form of `relayctl inject` with its words.
        package var words: ScenarioText
        package var parameters: AnyJSON?
    }
}

extension Scenario.Step {
    /// A rule about messages, which may be in force before there is an app.
    var isFault: Bool {
        if case .fault(_?, _, _) = content { true } else { false }
    }
}

extension Scenario.Content {
    /// The key that the step has in YAML.
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
    /// What it does, in a line.
    package var summary: String { title ?? words }

    /// As it is written, without what is under it.
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

/// Bounds of scenarios, which may come from anybody.
package enum ScenarioLimits {
    /// The ready ones have 2 KB; one made of a long recording has some hundred.
    package static let fileBytes = 1 << 20
    static let yamlDepth = 32
    static let yamlNodes = 100_000
    static let steps = 5000
    static let repeatDepth = 4
    static let times = 10_000
    /// Steps that are taken in all, repetitions counted.
    static let stepsTaken = 100_000
    static let apps = 32
    static let variables = 200
    static let checks = 200
    static let nameScalars = 100
    /// Variables, roles and names of faults.
    static let wordBytes = 64
    /// Any other text.
    static let textScalars = 10_000
    /// The longest time that a step or a scenario may take.
    package static let longest = Duration.seconds(24 * 3600)
    /// Messages that are kept until a step has looked at them.
    static let messages = 20_000
    /// Problems that are told.
    static let problems = 50
}
