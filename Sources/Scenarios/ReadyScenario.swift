import CFiles

/// The scenarios embedded in the programs (config/scenarios).
package struct ReadyScenario: Sendable {
    /// Its name on the command line: the name of its file, without ".yaml".
    package let name: String
    package let text: String

    package static let all: [ReadyScenario] = (0..<relay_scenario_count()).map { index in
        let file = relay_scenario(index)
        let text = UnsafeRawBufferPointer(start: file.bytes, count: file.count)
        return ReadyScenario(
            name: String(cString: file.name), text: String(decoding: text, as: UTF8.self))
    }

    package static func named(_ name: String) -> ReadyScenario? { all.first { $0.name == name } }
}
