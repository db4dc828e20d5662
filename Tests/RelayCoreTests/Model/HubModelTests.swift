// The hub against a second, obvious account of which app may get what, in random dialogues.
//
// `Scripts/model --steps 10000000` runs many more of them, optimised; a failing dialogue is cut down
// and printed with its seed, and `Scripts/model --only SEED` runs that one alone. The same from here,
// for a debugger: RELAY_MODEL_SEED=n for one dialogue, RELAY_MODEL_STEPS=n for n steps.

import Foundation
import RelayTesting
import Testing

@Suite("The hub and the model")
struct HubModelTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test("random dialogues: every frame to whom it belongs, and nothing is left behind")
    func dialogues() async {
        await onOwnThread { Self.runDialogues() }
    }

    private static func runDialogues() {
        let only = number("RELAY_MODEL_SEED")
        let usual = Effort.rounds(40_000, orQuickly: 15_000)
        let steps = number("RELAY_MODEL_STEPS").map { Int(clamping: $0) } ?? usual
        var series = HubSeries(seed: only ?? 1)
        repeat {
            guard let finding = series.runNext(), series.isFirstOfItsKind(finding) else { continue }
            Issue.record("\(HubScript(seed: finding.seed).report(finding.violation))")
        } while only == nil && series.steps < steps
        if series.steps >= 10_000 { #expect(series.holds > 100) }
        if number("RELAY_MODEL_STEPS") != nil || !series.findings.isEmpty {
            print(series.summary)
        }
    }
}
