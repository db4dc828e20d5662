import ControlAPI
import DecodedTraces
import NIOCore
import SDLProtocol
import SDLTraffic
import Traces

/// Shows the messages of a trace as `relayctl tail` shows those of a running relayd.
struct TraceLines {
    private let form: TailFollower.Form
    private let hasAdvice: Bool
    private let output: Output
    private var formatter: MessageFormatter
    private var text: TailText
    private var page = ""
    private var line = ByteBuffer()
    private var pending = 0

    /// Messages per write.
    private static let pageMessages = 200

    init(
        form: TailFollower.Form, hasAdvice: Bool, isFolding: Bool, style: Style, output: Output,
        localTime: LocalTime = .system
    ) {
        self.form = form
        self.hasAdvice = hasAdvice
        self.output = output
        let content: MessageFormatter.Content =
            switch form {
            case .json: .json
            case .text, .pairs: .summary
            case .verbose: .both
            }
        formatter = MessageFormatter(content, hasColours: form != .json && style.isOn)
        text = TailText(
            style: style, localTime: localTime, hasDetails: form == .verbose,
            isFolding: isFolding && output.isScreen, isPairing: form == .pairs)
        if output.isTerminal { text.fit(columns: output.size().columns) }
    }

    /// Returns false when the reader is gone.
    mutating func show(_ events: [TraceMessages.Event]) -> Bool {
        for event in events {
            switch event {
            case .message(let entry): add(entry)
            case .note(let note) where note.isAdvice && !hasAdvice: break
            case .note(let note): add(note)
            }
            pending += 1
        }
        return pending < Self.pageMessages ? true : write()
    }

    /// Shows held-back messages, and the last page.
    mutating func finish() {
        text.finish()
        _ = write()
    }

    private mutating func write() -> Bool {
        pending = 0
        defer { page = "" }
        return output.write(page + text.takePage())
    }

    private mutating func add(_ entry: TrafficEntry) {
        line.clear()
        formatter.append(entry, to: &line)
        if form == .json {
            page += JSONText.safe(String(buffer: line)) + "\n"
        } else if let message = try? JSONObject(ByteBuffer(bytes: line.readableBytesView)) {
            text.add(message)
        }
    }

    private mutating func add(_ note: TraceNote) {
        if form == .json {
            page += JSONText.safe(note.json) + "\n"
            return
        }
        if note.isAdvice {
            text.add(TailAdvice(note))
        } else {
            text.add(note)
        }
    }
}
