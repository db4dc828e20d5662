import ControlAPI
import Replays

/// The output of `relayctl replay` with --json.
struct ReplayReport: Encodable, Sendable {
    /// Version of the JSON layout: 1.
    var schema = 1
    var file: String
    var app: String
    var to: String
    /// "done" or "failed".
    var outcome: String
    var reason: String?
    /// With --check: whether the answers were the recorded ones.
    var same: Bool?
    var requests: Int
    var answers: Int
    var divergences: [Entry]

    struct Entry: Encodable, Sendable {
        var kind: String
        var text: String
        var lines: [String]
    }

    init(
        file: String, app: String, to place: String, checks: Bool,
        _ result: RecordedAppHandler.Result
    ) {
        self.file = file
        self.app = app
        to = place
        outcome = "done"
        if case .failed(let reason) = result.outcome {
            outcome = "failed"
            self.reason = reason
        }
        requests = result.counts.requests
        answers = result.counts.answers
        divergences = result.divergences.map {
            Entry(kind: $0.kind.rawValue, text: $0.text, lines: $0.lines)
        }
        if checks { same = outcome == "done" && divergences.isEmpty }
    }

    /// An app that got no answers has compared nothing: there was no head unit, or the link was lost at
    /// once.
    var exitStatus: ExitStatus {
        if outcome != "done" { return answers == 0 ? .notRunning : .notConnected }
        return same == false ? .notConnected : .ok
    }

    var text: String {
        var lines = [
            "\(SafeText.line(app)): \(Units.count(requests, "request")) sent, "
                + "\(Units.count(answers, "answer")) came"
        ]
        for divergence in divergences {
            lines.append("@ \(SafeText.line(divergence.text))")
            lines += divergence.lines.map { "  " + SafeText.line($0) }
        }
        if let reason { lines.append("failed: \(SafeText.line(reason))") }
        switch same {
        case true?: lines.append("the answers are the recorded ones")
        case false? where exitStatus == .notRunning: lines.append("nothing was compared")
        case false?: lines.append("the answers are not the recorded ones")
        case nil: break
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
