import ControlAPI

/// Recordings in words.
enum RecordText {
    static func state(_ report: RecordReport) -> String {
        var lines: [String] = []
        if let recording = report.recording {
            lines += [
                "Recording     since \(recording.startedAt)",
                "File          \(SafeText.line(recording.file))",
                "So far        \(amount(recording.frames, recording.bytes, recording.files))",
            ]
            lines += gap(recording.missedFrames)
        } else {
            lines.append("Recording     no; 'relayctl record start' begins one")
        }
        if let latest = report.latest {
            lines += ["Last          \(SafeText.line(latest.file))"]
            lines.append("              \(amount(latest.frames, latest.bytes, latest.files))")
            lines += gap(latest.missedFrames)
            if let problem = latest.problem {
                lines.append("              it ended early: \(SafeText.clean(problem))")
            }
        }
        lines.append(
            "Directory     \(report.directory.map { SafeText.line($0) } ?? "none: set record.directory in relayd.yaml")"
        )
        if report.streams == "headers" { lines.append("Audio, video  headers only") }
        if !report.masked.isEmpty {
            lines.append("Overwritten   \(SafeText.line(report.masked.joined(separator: ", ")))")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    static func started(_ report: RecordReport) -> String {
        "recording into \(SafeText.line(report.recording?.file ?? "a file that has ended already"))\n"
            + "'relayctl record stop' ends it\n"
    }

    static func stopped(_ report: RecordReport) -> String {
        guard let latest = report.latest else { return "the recording has ended\n" }
        var text =
            "\(SafeText.line(latest.file))\n"
            + "\(amount(latest.frames, latest.bytes, latest.files))\n"
        if latest.missedFrames > 0 {
            text += "\(latest.missedFrames) frames are missing: the disk was too slow\n"
        }
        if let problem = latest.problem {
            text += "it had ended early: \(SafeText.clean(problem))\n"
        }
        return text
    }

    private static func amount(_ frames: Int, _ bytes: Int, _ files: Int) -> String {
        let unit = frames == 1 ? "frame" : "frames"
        return "\(frames) \(unit), \(Units.bytes(bytes))" + (files > 1 ? " in \(files) files" : "")
    }

    private static func gap(_ frames: Int) -> [String] {
        frames > 0 ? ["Missing       \(frames) frames: the disk was too slow"] : []
    }
}
