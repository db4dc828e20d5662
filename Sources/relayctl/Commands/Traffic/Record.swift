import ArgumentParser
import CFiles
import ControlAPI
import Glibc
import NIOCore

/// `relayctl record`: record all frames, in files that Wireshark opens.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record all frames into a file, or show them to Wireshark.",
        discussion: """
            relayd writes recordings to the directory in record.directory of relayd.yaml: each \
            frame as it passed, what became of it, and what happened around it. They are pcapng \
            files. They hold everything that apps and head unit send, including pictures and \
            positions; record.mask in relayd.yaml names parameters to overwrite.

            Without a command, it shows the state. With --json, status, start, mark, stop, list \
            and save print an object.

            EXAMPLES
              relayctl record start --name alert-missing
              relayctl record mark "the screen froze"
              relayctl record stop
              relayctl record list
              relayctl record save --name alert-missing
              relayctl record --stdout | wireshark -k -i -
              relayctl record --stdout >session.pcapng
              relayctl record --format openxc >drive.json

            \(ExitStatus.codes(
                ok: "done, or shown",
                refused: "nothing to stop, one is already running, or you may not"))
            """,
        subcommands: [
            StateCommand.self, StartCommand.self, MarkCommand.self, StopCommand.self,
            ListCommand.self, SaveCommand.self, FormatCommand.self,
        ],
        defaultSubcommand: StateCommand.self)

    /// `relayctl record status`, and `relayctl record --stdout`.
    struct StateCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show what is being recorded.")

        @Flag(help: "Write what passes from now on to standard output, until ^C.")
        var stdout = false

        @Option(
            help: ArgumentHelp(
                "What to write to standard output: pcapng, or openxc for what a vehicle interface says, in "
                    + "the form of the OpenXC tools; openxc-ms has times in milliseconds, as the iOS "
                    + "framework reads them. Implies --stdout.", valueName: "format"))
        var format: RecordingFormat?

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func validate() throws {
            if stdout || format != nil, output.json {
                let option = stdout ? "--stdout" : "--format"
                throw ValidationError("\(option) writes a trace, not JSON; leave --json out")
            }
            if stdout || format != nil, format?.timeUnit == nil, isatty(STDOUT_FILENO) == 1 {
                throw ValidationError(
                    "a trace is binary and cannot be shown on a terminal; expected a file or a pipe, "
                        + "such as 'relayctl record --stdout >session.pcapng'")
            }
        }

        func run() async throws {
            let client = try socket.client()
            if let unit = format?.timeUnit {
                return try await VehicleTraceRecording.follow(client, times: unit)
            }
            guard !stdout, format == nil else {
                return try await RawOutput.copy(Routes.recordLive, of: client)
            }
            let answer = try await client.ask(RecordReport.self, Routes.record)
            output.show(answer.json, as: { RecordText.state(answer.value) })
        }
    }

    /// The formats `relayctl record` writes to standard output.
    enum RecordingFormat: String, ExpressibleByArgument, CaseIterable {
        case pcapng, openxc
        case openxcMilliseconds = "openxc-ms"

        /// The unit of times in a trace of a vehicle interface.
        var timeUnit: VehicleTraceRecording.TimeUnit? {
            switch self {
            case .pcapng: nil
            case .openxc: .seconds
            case .openxcMilliseconds: .milliseconds
            }
        }
    }

    /// `relayctl record start`.
    struct StartCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "start", abstract: "Begin a recording.")

        @Option(
            help: ArgumentHelp(
                "What to call it, beside its time: letters, digits, - and _.", valueName: "name"))
        var name: String?

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            let answer = try await socket.client().change(
                RecordReport.self, "POST", Routes.recordStart, RecordRequest(name: name))
            output.show(answer.json, as: { RecordText.started(answer.value, asked: name) })
        }
    }

    /// `relayctl record mark TEXT`.
    struct MarkCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "mark",
            abstract: "Put a mark into the current recording, to find that moment again.",
            discussion: """
                'relayctl trace show' shows it between the messages, at its time.

                EXAMPLES
                  relayctl record mark "the screen froze"

                \(ExitStatus.codes(
                    ok: "the mark is in the recording",
                    refused: "nothing is being recorded, the text is too long, or you may not"))
                """)

        @Argument(
            help: ArgumentHelp(
                "What to find again: one line, at most \(MarkRequest.maximumScalars) characters."))
        var text: String

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            let answer = try await socket.client().change(
                ActionReport.self, "POST", Routes.recordMark, MarkRequest(text: text))
            output.show(answer.json, as: { SafeText.clean(answer.value.summary) + "\n" })
        }
    }

    /// `relayctl record stop`.
    struct StopCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stop", abstract: "End the recording.")

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            let answer = try await socket.client().change(
                RecordReport.self, "POST", Routes.recordStop, EmptyRequest())
            output.show(answer.json, as: { RecordText.stopped(answer.value) })
        }
    }

    /// `relayctl record save`.
    struct SaveCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "save",
            abstract: "Write what the flight recorder holds to a file.",
            discussion: """
                With record.last in relayd.yaml, relayd keeps the latest traffic in memory. This \
                writes it to a new file, an ordinary trace, and prints its path. The flight \
                recorder continues. With record.save_on relayd does this by itself when an app \
                crashes, the link is lost, or advice is given.

                EXAMPLES
                  relayctl record save --name alert-missing

                \(ExitStatus.codes(
                    ok: "the file is written",
                    refused: "there is no flight recorder, the file cannot be written, or you may not"))
                """)

        @Option(
            help: ArgumentHelp(
                "What to call it, beside its time: letters, digits, - and _.", valueName: "name"))
        var name: String?

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            let answer = try await socket.client().change(
                SaveReport.self, "POST", Routes.recordSave, RecordRequest(name: name))
            output.show(answer.json, as: { RecordText.saved(answer.value.saved, asked: name) })
        }
    }

    /// `relayctl record list`.
    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the recordings, newest first.")

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            let answer = try await socket.client().ask(RecordingList.self, Routes.recordings)
            output.show(
                answer.json,
                as: { RecordListText(output).render(answer.value) })
        }
    }

    /// `relayctl record format`.
    struct FormatCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "format",
            abstract: "Print the description of the trace format; relayd does not have to run.")

        func run() throws {
            let page = relay_trace_format()
            let text = UnsafeRawBufferPointer(start: page.bytes, count: page.count)
            Output.current.write(String(decoding: text, as: UTF8.self))
        }
    }
}

/// Copies bytes that are not text to standard output.
private enum RawOutput {
    /// Copies until relayd or the reader ends, or ^C.
    static func copy(_ path: String, of client: ControlClient) async throws {
        Output.current.follow()
        let end = try await client.bytes(of: path) { piece, _ in write(piece) }
        if case .brokenOff(let socket) = end { throw ControlClientError.brokenOff(socket) }
    }

    /// Returns false when the reader is gone.
    private static func write(_ bytes: ByteBuffer) -> Bool {
        bytes.withUnsafeReadableBytes { all in
            var rest = all[...]
            while !rest.isEmpty {
                let piece = UnsafeRawBufferPointer(rebasing: rest)
                let count = Glibc.write(STDOUT_FILENO, piece.baseAddress, piece.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EPIPE {
                    return false
                } else if errno == EAGAIN {
                    var writer = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&writer, 1, -1)
                } else if errno != EINTR {
                    Output.fail(errno, on: STDOUT_FILENO)
                }
            }
            return true
        }
    }
}
