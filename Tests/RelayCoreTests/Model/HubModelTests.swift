// The hub against a second, obvious account of who may get what, in random dialogues.

import Foundation
import RelayTesting
import Testing

@testable import RelayCore

@Suite("The hub and the model")
struct HubModelTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    /// RELAY_MODEL_SEED=n runs one dialogue; RELAY_MODEL_STEPS=n runs until so many steps are done,
    /// from RELAY_MODEL_FIRST on.
    @Test(
        "random dialogues: every frame to whom it belongs, and nothing is left behind",
        .enabled(if: number("RELAY_MODEL_STEPS") != nil || number("RELAY_MODEL_SEED") != nil))
    func dialogues() {
        let first = Self.number("RELAY_MODEL_SEED") ?? Self.number("RELAY_MODEL_FIRST") ?? 1
        let steps = Self.number("RELAY_MODEL_STEPS").map { Int($0) } ?? 40_000
        var run = (dialogues: 0, steps: 0, frames: 0)
        var found: [HubModel.Violation.Kind: Int] = [:]
        let begin = ContinuousClock.now
        var seed = first
        while run.steps < steps {
            let script = HubScript(seed: seed)
            let result = script.run()
            run.dialogues += 1
            run.steps += script.steps.count
            run.frames += result.frames
            if let violation = result.violations.first {
                found[violation.kind, default: 0] += 1
                // One of each kind is enough to read.
                if found[violation.kind] == 1 {
                    Issue.record("\(script.report(violation))")
                }
            }
            if Self.number("RELAY_MODEL_SEED") != nil { break }
            seed += 1
        }
        let time = ContinuousClock.now - begin
        if Self.number("RELAY_MODEL_STEPS") != nil || !found.isEmpty {
            print(
                "\(run.dialogues) dialogues, \(run.steps) steps, \(run.frames) frames: \(time); \(found)"
            )
        }
    }
}
