package import NIOCore
package import OpenXCProtocol

/// Plays a trace as the vehicle interface that it was recorded from would send it. A value on manual time;
/// the caller reads the file and sends the messages.
package struct TracePlayer: Sendable {
    /// How fast to play the trace.
    package enum Pace: Hashable, Sendable {
        /// 1 is as recorded, 2 twice as fast.
        case factor(Double)
        /// The same time before each message, whatever the times of the trace.
        case fixed(TimeAmount)
        /// As fast as the messages are taken.
        case maximum
    }

    package struct Options: Hashable, Sendable {
        package var pace = Pace.factor(1)
        package var loops = false
        /// In seconds of the trace; longer silences are shortened to it.
        package var maximumGap = 10.0

        package init() {}
    }

    /// An event to report to people.
    package enum Note: Hashable, Sendable {
        case badLine(MessageProblem, number: Int)
        /// - Parameter seconds: The gap as recorded.
        case gap(seconds: Double, number: Int)
        case ended(messages: Int, badLines: Int)
        /// Nothing in the trace can be played, so it is not repeated either.
        case nothing(badLines: Int)
    }

    package struct Output: Sendable {
        package var messages: [VehicleMessage] = []
        package var notes: [Note] = []
    }

    /// The pause between the last message and the first of the next round, as in openxc-android.
    package static let loopPause = TimeAmount.seconds(1)
    /// Times may step back by this much and still be of the same clock, in seconds: messages are recorded
    /// from several threads.
    static let disorder = 1.0
    /// Lines read ahead.
    static let linesAhead = 1024

    private let options: Options
    private var lines: [TraceLineReader.Line] = []
    private var head = 0
    private var hasAll = false
    /// The time of the trace in seconds; nil before the first message.
    private var traceTime: Double?
    /// When the previous message was due.
    private var clock: NIODeadline?
    /// When the next line is due, once that is known.
    private var due: NIODeadline?
    private var messages = 0
    private var badLines = 0
    private var hasEnded = false
    private var restartDue: NIODeadline?
    package private(set) var wantsRestart = false

    package init(_ options: Options = Options()) {
        self.options = options
    }

    // MARK: - The file

    /// Whether more lines should be read and fed.
    package var wantsMore: Bool { !hasAll && lines.count - head < Self.linesAhead / 2 }

    package mutating func feed(_ more: [TraceLineReader.Line], isLast: Bool) {
        lines.removeSubrange(..<head)
        head = 0
        lines.append(contentsOf: more)
        if isLast { hasAll = true }
    }

    /// Starts over: the file is read from its beginning again.
    package mutating func restart() {
        (lines, head, hasAll) = ([], 0, false)
        (traceTime, clock, due) = (nil, nil, nil)
        (messages, badLines) = (0, 0)
        (hasEnded, wantsRestart, restartDue) = (false, false, nil)
    }

    // MARK: - Time

    /// Nil while nothing is due: the file is being read, or everything has been played.
    package var nextDeadline: NIODeadline? { due ?? restartDue }

    /// - Parameter most: Maximum messages at once.
    package mutating func advance(to now: NIODeadline, atMost most: Int = .max) -> Output {
        var output = Output()
        if let restart = restartDue, restart <= now {
            restartDue = nil
            wantsRestart = true
        }
        while head < lines.count, output.messages.count < most {
            switch lines[head] {
            case .bad(let problem, let number):
                badLines += 1
                output.notes.append(.badLine(problem, number: number))
            case .header: break
            case .message(var message, let time, let number):
                let due = due ?? dueTime(of: time, number, now, &output)
                self.due = due
                guard due <= now else { return output }
                self.due = nil
                clock = due
                messages += 1
                // Whole milliseconds, as firmware has them on a link; clients read an integer.
                message.timestamp = time.map { ($0 * 1000).rounded() }
                output.messages.append(message)
            }
            head += 1
        }
        if head == lines.count, hasAll, !hasEnded { end(now, &output) }
        return output
    }

    private mutating func dueTime(
        of time: Double?, _ number: Int, _ now: NIODeadline, _ output: inout Output
    ) -> NIODeadline {
        // The first message is due at once.
        guard let clock else {
            traceTime = time
            return now
        }
        switch options.pace {
        case .maximum: return now
        case .fixed(let interval): return clock + interval
        case .factor(let factor):
            let wait = wait(until: time, number, &output)
            return clock + .nanoseconds(Int64(wait / factor * 1e9))
        }
    }

    /// The wait in seconds of the trace, 0 to `maximumGap`. A line without a time comes at once, and so does
    /// one whose time steps back.
    private mutating func wait(
        until time: Double?, _ number: Int, _ output: inout Output
    ) -> Double {
        guard let time else { return 0 }
        guard let before = traceTime else {
            traceTime = time
            return 0
        }
        let step = time - before
        // A time slightly out of order does not set the clock back: the following lines would be late.
        if step < 0, step > -Self.disorder { return 0 }
        traceTime = time
        guard step > options.maximumGap else { return max(0, step) }
        output.notes.append(.gap(seconds: step, number: number))
        return options.maximumGap
    }

    private mutating func end(_ now: NIODeadline, _ output: inout Output) {
        hasEnded = true
        guard messages > 0 else {
            output.notes.append(.nothing(badLines: badLines))
            return
        }
        output.notes.append(.ended(messages: messages, badLines: badLines))
        if options.loops { restartDue = now + Self.loopPause }
    }
}
