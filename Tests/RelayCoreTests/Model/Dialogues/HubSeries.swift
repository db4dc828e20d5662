// Random dialogues one after the other, and their results: for the tests and for Scripts/model.

import Foundation

/// Dialogues from a first seed on, until a number of steps have been carried out.
struct HubSeries {
    /// A dialogue that broke a promise.
    struct Finding {
        var seed: UInt64
        var violation: HubModel.Violation
    }

    private(set) var dialogues = 0
    private(set) var steps = 0
    private(set) var frames = 0
    /// How often the hub had to wait for a recording.
    private(set) var holds = 0
    private(set) var findings: [Finding] = []
    /// The seed of the next dialogue.
    private(set) var seed: UInt64
    private let stride: UInt64

    /// - Parameter stride: The step from one seed to the next; lets several series share the work.
    init(seed: UInt64, stride: UInt64 = 1) {
        self.seed = seed
        self.stride = max(1, stride)
    }

    /// Carries out one dialogue; returns the first promise that it broke.
    mutating func runNext() -> Finding? {
        defer { seed &+= stride }
        let result = HubScript(seed: seed).run()
        dialogues += 1
        steps += result.steps
        frames += result.frames
        holds += result.holds
        guard let violation = result.violations.first else { return nil }
        let finding = Finding(seed: seed, violation: violation)
        findings.append(finding)
        return finding
    }

    /// Whether the finding is the first of its kind; one of each is enough to read.
    func isFirstOfItsKind(_ finding: Finding) -> Bool {
        findings.first { $0.violation.kind == finding.violation.kind }?.seed == finding.seed
    }

    var summary: String {
        let kinds = Dictionary(grouping: findings) { $0.violation.kind.rawValue }
        let found = kinds.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.count)" }
        return "\(dialogues) dialogues, \(steps) steps, \(frames) frames; "
            + (found.isEmpty
                ? "no violation" : "VIOLATIONS: " + found.joined(separator: ", "))
    }
}
