import ControlAPI

/// `relayctl status --watch`: asks repeatedly, and shows what changed.
///
/// Ends when `pause` throws (^C ends the process before that) or the reader is gone. Waits for a relayd
/// that goes away.
struct StatusWatch {
    typealias Outcome = Result<ControlClient.Answer<StatusSnapshot>, ControlClientError>

    private let screen: StatusScreen
    private let ask: () async throws(ControlClientError) -> ControlClient.Answer<StatusSnapshot>
    private let pause: () async throws -> Void
    private var last: Shown?

    /// What was shown last, without the parts that change by themselves.
    private enum Shown: Equatable {
        case status(StatusSnapshot)
        case error(ControlClientError)
    }

    init(
        screen: StatusScreen,
        ask: @escaping () async throws(ControlClientError) -> ControlClient.Answer<StatusSnapshot>,
        pause: @escaping () async throws -> Void
    ) {
        self.screen = screen
        self.ask = ask
        self.pause = pause
    }

    mutating func run() async throws {
        let isInPlace = screen.output.isScreen && !screen.isJSON
        if isInPlace { screen.output.write("\u{1B}[H\u{1B}[2J") }
        while true {
            let outcome: Outcome
            do throws(ControlClientError) {
                outcome = .success(try await ask())
            } catch {
                outcome = .failure(error)
            }
            let isNew = remember(outcome)
            if isInPlace {
                guard screen.output.write(inPlace(text(outcome))) else { return }
            } else if isNew {
                guard screen.output.write(block(outcome)) else { return }
            }
            try await pause()
        }
    }

    /// Whether the outcome differs from what was shown last.
    private mutating func remember(_ outcome: Outcome) -> Bool {
        let shown: Shown
        switch outcome {
        case .success(let status):
            var snapshot = status.value
            snapshot.relayd.uptimeSeconds = 0
            shown = .status(snapshot)
        case .failure(let error):
            shown = .error(error)
        }
        defer { last = shown }
        return shown != last
    }

    private func text(_ outcome: Outcome) -> String {
        switch outcome {
        case .success(let status): screen.text(status)
        case .failure(let error): "relayctl: \(error)\n"
        }
    }

    /// Moves the cursor home, clears each line to its end, then everything below: repaints without
    /// clearing first, which would flicker. Lines that do not fit are left out, because the screen would
    /// scroll.
    private func inPlace(_ text: String) -> String {
        let rows = max(1, screen.output.size().rows - 1)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return "\u{1B}[H" + lines.prefix(rows).map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
    }

    /// One line of JSON, or the text below a line with the time.
    private func block(_ outcome: Outcome) -> String {
        guard screen.isJSON else {
            let time = LocalTime.system.timeOfDay(.now)
            return screen.style(.dim, "── \(time)") + "\n" + text(outcome) + "\n"
        }
        switch outcome {
        case .success: return JSONText.compact(text(outcome)) + "\n"
        case .failure(let error):
            let body = try? APICoding.encode(
                APIError(APIError.Code(rawValue: "not_running"), "\(error)"))
            return JSONText.compact(
                JSONText.safe(String(decoding: body ?? [], as: UTF8.self))) + "\n"
        }
    }
}
