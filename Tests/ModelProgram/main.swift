// Runs the hub against the model for a long time; `Scripts/model` builds and starts the program.

import Foundation

/// Prints at once, even if the output is a file.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// The options on the command line.
struct Options {
    var seed: UInt64 = 1
    var stride: UInt64 = 1
    var steps = 1_000_000
    /// Runs only the dialogue of this seed and prints it.
    var only: UInt64?

    init?(_ words: [String]) {
        var words = words[...]
        while let name = words.popFirst() {
            guard let number = words.popFirst().flatMap({ UInt64($0) }) else { return nil }
            switch name {
            case "--seed": seed = number
            case "--stride": stride = number
            case "--steps": steps = Int(clamping: number)
            case "--only": only = number
            default: return nil
            }
        }
    }
}

guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
    say("RelayModel: expected [--seed N] [--stride N] [--steps N] or --only SEED")
    exit(64)
}
var series = HubSeries(seed: options.only ?? options.seed, stride: options.stride)
let begin = Date()
var reported = begin
repeat {
    if let finding = series.runNext() {
        let script = HubScript(seed: finding.seed)
        say(
            series.isFirstOfItsKind(finding)
                ? script.report(finding.violation)
                : "\(finding.violation.kind.rawValue) again: seed \(finding.seed)")
    }
    if Date().timeIntervalSince(reported) >= 60 {
        reported = Date()
        say("so far \(series.summary), next seed \(series.seed)")
    }
} while options.only == nil && series.steps < options.steps
let seconds = Int(Date().timeIntervalSince(begin))
say("\(series.summary); seeds \(options.only ?? options.seed)…\(series.seed - 1), \(seconds) s")
exit(series.findings.isEmpty ? 0 : 1)
