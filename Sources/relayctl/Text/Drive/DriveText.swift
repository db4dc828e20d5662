import ControlAPI
import NIOCore
import SDLProtocol

/// The result of a sent or injected message, for people.
struct DriveText {
    private let style: Style

    init(_ options: OutputOptions) {
        style = Output.current.style(options.color)
    }

    func answer(_ report: DriveReport) -> String {
        var lines: [String] = []
        if let success = report.success {
            let code = report.resultCode.map { SafeText.clean($0) } ?? ""
            var line = style(success ? .green : .red, code.isEmpty ? "no result code" : code)
            line += "  after \(report.milliseconds) ms"
            if let info = report.info { line += "  \(SafeText.clean(info))" }
            lines.append(line)
        } else {
            lines.append(SafeText.clean(report.summary))
        }
        for remark in report.remarks { lines.append("note: \(SafeText.clean(remark))") }
        if case .object(var members)? = report.response {
            for known in ["success", "resultCode", "info"] { members[known] = nil }
            if !members.isEmpty, let json = try? APICoding.encode(AnyJSON.object(members)) {
                lines.append(JSONText.safe(String(decoding: json, as: UTF8.self)).trimmed)
            }
        }
        if let bytes = report.bulkBytes { lines.append("and \(bytes) bytes of bulk data") }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension String {
    /// The text without its final line end.
    fileprivate var trimmed: String { hasSuffix("\n") ? String(dropLast()) : self }
}
