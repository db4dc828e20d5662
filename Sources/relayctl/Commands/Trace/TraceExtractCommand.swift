import ArgumentParser
import ControlAPI
import DecodedTraces
import Media
import SDLTraffic
import Traces

/// `relayctl trace extract`: extract the pictures, sound and files of a trace.
struct TraceExtractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extract",
        abstract: "Write video, sound and uploaded files of a trace into a folder.",
        discussion: """
            Video becomes an H.264 stream (.h264) that ffplay, mpv and VLC play; it starts with \
            the first picture that a decoder can start with, and RTP is unpacked. Audio services \
            and recordings of the head unit's microphone (OnAudioPassThru) become WAV files. Files \
            that apps sent with PutFile are put together from their pieces, and their checksums \
            are compared.

            The folder is created if necessary. A file's name is made from the app's name and the \
            name the app gave it, and cannot lead out of the folder; if a name is taken, a number \
            is added, and nothing is overwritten. Everything incomplete, damaged or left out is \
            reported. Only you can read the files (mode 0600).

            Encrypted services cannot be read, and a recording made with streams: headers has no \
            pictures and no sound.

            EXAMPLES
              relayctl trace extract bench.pcapng -o media
              relayctl trace extract bench.pcapng -o media --video --app navigation
              relayctl trace extract bench.pcapng -o media --json | jq '.files[] | select(.crc == "wrong")'
              ffplay media/Navigation-video.h264

            \(TraceCommand.exitCodes)
            """)

    @Argument(
        help: ArgumentHelp(
            "The trace, or several files of one recording, the oldest first.", valueName: "file"),
        completion: .file(extensions: ["pcapng"]))
    var files: [String]

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "The folder to write to. It is made if it is not there.", valueName: "folder"),
        completion: .directory)
    var folder: String

    @Flag(help: "Only video, unless another kind is asked for, too.")
    var video = false

    @Flag(name: .customLong("audio"), help: "Only sound, of apps and of the microphone.")
    var audio = false

    @Flag(name: .customLong("files"), help: "Only files that apps sent.")
    var uploads = false

    @Option(
        help: ArgumentHelp(
            "Only this app: its name or a part of it, in any case. Repeatable.", valueName: "app"))
    var app: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws {
        for file in files { try TraceArguments.check(file) }
        try Names.check([folder], "--output", example: "the path of a folder")
        try Names.check(app, "--app", example: "a name or a part of it")
    }

    private var kinds: Set<MediaKind> {
        var kinds: Set<MediaKind> = []
        if video { kinds.insert(.video) }
        if audio { kinds.formUnion([.audio, .speech]) }
        if uploads { kinds.insert(.file) }
        return kinds.isEmpty ? Set(MediaKind.allCases) : kinds
    }

    func run() throws {
        let wanted = app
        let collector = MediaCollector(kinds) { name in
            wanted.isEmpty || wanted.contains { Names.isPart($0, of: name ?? "") }
        }
        try TraceFailure.told {
            // Checked first, so that a file that cannot be opened leaves no folder behind.
            for file in files where file != "-" { _ = try TraceFile(file) }
            var extraction = try TraceExtraction(to: folder, collector)
            var files = TraceFiles(files, onEnd: TraceFailure.tellUnfinished)
            var failure: TraceFileError?
            // Keeps what was read before a damaged place.
            while failure == nil {
                var next: TraceEntry?
                do throws(TraceFileError) {
                    next = try files.nextEntry()
                } catch {
                    failure = error
                }
                guard let next else { break }
                try extraction.receive(next)
            }
            try extraction.finish()
            try show(extraction.report)
            if let failure { throw failure }
        }
    }

    private func show(_ report: ExtractionReport) throws {
        let json = String(decoding: try APICoding.encode(report), as: UTF8.self)
        let screen = Output.current
        output.show(
            json,
            as: {
                ExtractionText(width: screen.size().columns, style: screen.style(output.color))
                    .render(report)
            })
    }
}
