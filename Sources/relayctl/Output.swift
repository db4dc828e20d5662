import ArgumentParser
import ControlAPI
import Dispatch
import Glibc

/// Where a command writes, and what it may assume about the reader.
///
/// Commands get it through `Output.current`; tests set a recording one.
struct Output: Sendable {
    enum Stream: Int32, Sendable {
        case standard = 1
        case error = 2
    }

    /// Whether a person is looking at standard output right now.
    let isTerminal: Bool
    /// Columns and rows of the terminal at the moment of the call.
    let size: @Sendable () -> (columns: Int, rows: Int)
    /// Whether the environment asks for no colours (NO_COLOR, TERM=dumb).
    let prefersNoColor: Bool
    /// Whether the terminal cannot move the cursor (TERM=dumb).
    private let isDumb: Bool
    private let sink: @Sendable (Stream, String) -> Bool
    private let begin: @Sendable () -> Void

    /// When nobody is looking, lines have any length: they end up in files and pipes.
    static let unlimitedColumns = 10_000

    init(
        isTerminal: Bool, prefersNoColor: Bool = false, isDumb: Bool = false,
        size: @escaping @Sendable () -> (columns: Int, rows: Int),
        sink: @escaping @Sendable (Stream, String) -> Bool,
        follow: @escaping @Sendable () -> Void = {}
    ) {
        self.isTerminal = isTerminal
        self.prefersNoColor = prefersNoColor
        self.isDumb = isDumb
        self.size = size
        self.sink = sink
        begin = follow
    }

    /// Whether earlier output can be overwritten.
    var isScreen: Bool { isTerminal && !isDumb }

    @TaskLocal static var current = Output.process

    /// Writes `text` as it is; false when the reader is gone.
    @discardableResult
    func write(_ text: String, to stream: Stream = .standard) -> Bool {
        sink(stream, text)
    }

    /// To be called when the process shows events as they happen, for as long as somebody reads: it
    /// lowers its priority, and ends with its reader, even while there is nothing to write. `| head`
    /// would otherwise wait for the next line to notice that the reader is gone.
    func follow() { begin() }

    func style(_ choice: ColorChoice) -> Style {
        switch choice {
        case .always: .coloured
        case .never: .plain
        case .auto: Style(isOn: isTerminal && !prefersNoColor)
        }
    }
}

/// When to use colours; `auto` means on a terminal, unless NO_COLOR is set or TERM is "dumb".
enum ColorChoice: String, CaseIterable, ExpressibleByArgument, Sendable {
    case auto, always, never
}

/// The options of every command that shows something.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON with all details. Fields may be added, but never change.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Colours: auto (on a terminal, unless NO_COLOR is set), always or never.",
            valueName: "when"))
    var color = ColorChoice.auto

    /// Shows the result in the form the user asked for: its JSON, or the text for people.
    func show(_ json: @autoclosure () throws -> String, as text: () throws -> String) rethrows {
        Output.current.write(self.json ? JSONText.safe(try json()) : try text())
    }

    init() {}
}

// MARK: - The process's own

extension Output {
    static let process = Output(
        isTerminal: isatty(Stream.standard.rawValue) == 1,
        prefersNoColor: !variable("NO_COLOR").isEmpty || variable("TERM") == "dumb",
        isDumb: variable("TERM") == "dumb",
        size: { terminalSize() },
        sink: { stream, text in writeAll(text, to: stream.rawValue) },
        follow: {
            LowPriority.begin()
            DispatchQueue.global().async { exitWithReader() }
        })

    private static func variable(_ name: String) -> String {
        getenv(name).map { String(cString: $0) } ?? ""
    }

    private static func terminalSize() -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(Stream.standard.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return isatty(Stream.standard.rawValue) == 1 ? (80, 24) : (unlimitedColumns, .max)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// With no events requested, `poll` returns when the other end of a pipe, socket or terminal is
    /// closed.
    private static func exitWithReader() {
        var reader = pollfd(fd: Stream.standard.rawValue, events: 0, revents: 0)
        while true {
            let count = poll(&reader, 1, -1)
            if count > 0 { exit(0) }
            if count < 0, errno != EINTR { return }
        }
    }

    /// A failed write, such as to a full disk, must not look like success: a script would go on with half
    /// of the output.
    static func fail(_ code: Int32, on descriptor: Int32) -> Never {
        if descriptor == Stream.standard.rawValue {
            let reason = String(cString: strerror(code))
            _ = writeAll(
                "relayctl: the output cannot be written: \(reason)\n", to: Stream.error.rawValue)
        }
        exit(ExitStatus.outputFailed.rawValue)
    }

    private static func writeAll(_ text: String, to descriptor: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                return false
            } else if errno == EAGAIN {
                // Another process that shares this terminal has made it non-blocking.
                var writer = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&writer, 1, -1)
            } else if errno != EINTR {
                fail(errno, on: descriptor)
            }
        }
        return true
    }
}
