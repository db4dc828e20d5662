// The hub against a second, obvious account of who may get what, in random dialogues.
//
// To run it long, in release mode, from a seed on and until so many steps have been carried out:
//
//     RELAY_MODEL_STEPS=10000000 RELAY_MODEL_FIRST=1 \
//         swift test -c release -Xswiftc -enable-testing --filter HubModelTests
//
// A failing dialogue is cut down and printed with its seed; RELAY_MODEL_SEED=n runs that one alone.

import Foundation
import RelayTesting
import Testing

@testable import RelayCore

@Suite("The hub and the model")
struct HubModelTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test("random dialogues: every frame to whom it belongs, and nothing is left behind")
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
            run.steps += result.steps
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
