import ArgumentParser
import ControlAPI
import Traces

/// The file that a command creates, and how it is reported.
struct NewTraceOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The file to make. It must not exist.", valueName: "path"),
        completion: .file(extensions: ["pcapng"]))
    var path: String

    @OptionGroup var output: OutputOptions

    func validate() throws {
        try Names.check([path], "--output", example: "the path of a new file")
    }

    /// The report on the file, printed with --json.
    private struct Report: Encodable {
        var schema = 1
        var file: String
        var frames: Int
        /// On the wire, including headers.
        var bytes: Int
        var maskedFrames: Int?
        /// Frames that could not be masked.
        var encryptedFrames: Int?

        enum CodingKeys: String, CodingKey {
            case schema, file, frames, bytes
            case maskedFrames = "masked_frames"
            case encryptedFrames = "encrypted_frames"
        }
    }

    func tell(
        _ sum: TraceEnd, masked: Int? = nil, encrypted: Int? = nil, _ more: String = "\n"
    ) throws {
        let report = Report(
            file: path, frames: sum.frames, bytes: sum.bytes, maskedFrames: masked,
            encryptedFrames: encrypted)
        try output.show(
            String(decoding: try APICoding.encode(report), as: UTF8.self),
            as: {
                "\(SafeText.line(path)): \(Units.count(sum.frames, "frame")), "
                    + "\(Units.bytes(sum.bytes))\(more)"
            })
    }
}
