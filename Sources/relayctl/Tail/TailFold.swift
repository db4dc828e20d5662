import ControlAPI

/// Folds repeated notifications, and the seconds of a stream, into one line that is updated. Remembers
/// only the previous line.
struct TailFold: Sendable {
    /// Number of repetitions in a row.
    struct Repeats: Sendable, Equatable {
        /// "×30 (1/s)", "for 12 s".
        let text: String
    }

    private struct Key: Equatable {
        let app: Int?
        let kind: TailMessage.Kind
        let name: String
        let isFromApp: Bool?
    }

    private struct Run {
        let key: Key
        let start: Timestamp
        var latest: Timestamp
        var count = 1
        var bytes: Int
    }
    private var run: Run?

    /// Each of these tells what became of the app, or what somebody did, so none may hide behind the
    /// next.
    private static let single: Set = [
        "OnHMIStatus", "OnAppInterfaceUnregistered", "OnButtonEvent", "OnButtonPress", "OnCommand",
        "OnDriverDistraction", "OnLanguageChange", "OnPermissionsChange", "OnSystemRequest",
    ]
    /// Longer pauses, in milliseconds, start a new line: that is no longer a rate. relayd reports a
    /// stream every second.
    private static let longestPause: Int64 = 60_000
    private static let longestStreamPause: Int64 = 3000

    /// The message to show, and whether its line replaces the previous one.
    mutating func add(_ message: TailMessage) -> (message: TailMessage, replaces: Bool) {
        guard let key = Self.key(message), let time = message.time else {
            run = nil
            return (message, false)
        }
        let pause = message.kind == .stream ? Self.longestStreamPause : Self.longestPause
        guard var run, run.key == key, Self.milliseconds(run.latest, time) <= pause else {
            self.run = Run(key: key, start: time, latest: time, bytes: message.bytes ?? 0)
            return (message, false)
        }
        run.latest = time
        run.count += 1
        run.bytes = Units.sum([run.bytes, message.bytes ?? 0])
        self.run = run
        var shown = message
        shown.bytes = message.bytes == nil ? nil : run.bytes
        shown.repeats = Repeats(text: Self.text(run))
        return (shown, true)
    }

    /// Something else was printed in between.
    mutating func end() {
        run = nil
    }

    private static func key(_ message: TailMessage) -> Key? {
        switch message.kind {
        case .notification where !message.isBad && !single.contains(message.name): break
        case .stream: break
        default: return nil
        }
        return Key(
            app: message.app, kind: message.kind, name: message.name, isFromApp: message.isFromApp)
    }

    /// Both are times of day, and the clock may have been set back.
    private static func milliseconds(_ start: Timestamp, _ end: Timestamp) -> Int64 {
        let (difference, overflow) = end.millisecondsSince1970.subtractingReportingOverflow(
            start.millisecondsSince1970)
        return overflow || difference < 0 ? .max : difference
    }

    private static func text(_ run: Run) -> String {
        let milliseconds = milliseconds(run.start, run.latest)
        if run.key.kind == .stream, milliseconds >= 1000 {
            return "for \(Units.duration(seconds: Int(clamping: milliseconds / 1000)))"
        }
        return "×\(run.count)" + (rate(run.count, milliseconds).map { " (\($0))" } ?? "")
    }

    /// "1/s", "2.5/s", "40/s", "12/min"; nil when all came at the same time.
    private static func rate(_ count: Int, _ milliseconds: Int64) -> String? {
        guard milliseconds > 0 else { return nil }
        let perSecond = Double(count - 1) * 1000 / Double(milliseconds)
        if perSecond >= 9.95 { return "\(Int(perSecond.rounded()))/s" }
        guard perSecond >= 0.95 else { return "\(max(1, Int((perSecond * 60).rounded())))/min" }
        let tenths = Int((perSecond * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)/s" : "\(tenths / 10).\(tenths % 10)/s"
    }
}
