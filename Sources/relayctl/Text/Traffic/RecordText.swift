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
            if let stall = report.diskStall { lines.append("Disk          \(self.stall(stall))") }
        } else if let problem = report.problem {
            lines.append("Recording     no, although record.always is true; relayd tries again")
            lines.append("              \(SafeText.clean(problem))")
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
        if let flight = report.flight {
            let since = flight.since.map { ", since \($0)" } ?? ""
            lines.append(
                "In memory     \(Units.bytes(flight.keptBytes)) of \(Units.bytes(flight.limit))\(since)"
            )
            lines += gap(flight.missedFrames)
            if !flight.saveOn.isEmpty {
                lines.append(
                    "Saved on      \(SafeText.line(flight.saveOn.joined(separator: ", ")))")
            }
            for saved in flight.saved {
                lines.append("Saved         \(SafeText.line(saved.file))")
                lines.append("              \(SafeText.line(saved.reason))")
            }
        } else {
            lines.append(
                "In memory     nothing; record.last in relayd.yaml keeps the latest traffic")
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

    /// - Parameter name: The name the user asked for.
    static func started(_ report: RecordReport, asked name: String? = nil) -> String {
        "recording into \(SafeText.line(report.recording?.file ?? "a file that has ended already"))\n"
            + renamed(name, report.recording?.file) + "'relayctl record stop' ends it\n"
    }

    /// A note that relayd changed the name, because it keeps only what is safe in file names everywhere.
    /// Empty when it kept the whole name.
    private static func renamed(_ name: String?, _ file: String?) -> String {
        guard let name, !name.isEmpty, let file = file?.split(separator: "/").last else {
            return ""
        }
        // When two recordings have the same name, the second gets a number after it.
        if file.contains("-\(name).") || file.contains("-\(name)-") { return "" }
        return "\"\(SafeText.line(name))\" was changed to fit: a name has the letters A to Z, "
            + "digits, -, _ and . and at most 80 characters\n"
    }

    static func stopped(_ report: RecordReport) -> String {
        guard let latest = report.latest else { return "the recording has ended\n" }
        // First, because the file it names may no longer exist.
        var text = latest.problem.map { "it ended early: \(SafeText.clean($0))\n" } ?? ""
        text +=
            "\(SafeText.line(latest.file))\n"
            + "\(amount(latest.frames, latest.bytes, latest.files))\n"
        if latest.missedFrames > 0 {
            text += "\(latest.missedFrames) frames are missing: the disk was too slow\n"
        }
        return text
    }

    static func saved(_ saved: RecordReport.Saved, asked name: String? = nil) -> String {
        let gap =
            saved.missedFrames > 0
            ? "\(saved.missedFrames) frames are missing: they came too fast\n" : ""
        return "\(SafeText.line(saved.file))\n\(renamed(name, saved.file))"
            + "\(amount(saved.frames, saved.bytes, 1)) since \(saved.beganAt)\n\(gap)"
    }

    static func stall(_ stall: DiskStall) -> String {
        "has accepted no data since \(stall.since)"
            + (stall.trafficWaits ? "; the traffic waits for it" : "")
    }

    private static func amount(_ frames: Int, _ bytes: Int, _ files: Int) -> String {
        let unit = frames == 1 ? "frame" : "frames"
        return "\(frames) \(unit), \(Units.bytes(bytes))" + (files > 1 ? " in \(files) files" : "")
    }

    private static func gap(_ frames: Int) -> [String] {
        frames > 0 ? ["Missing       \(frames) frames: the disk was too slow"] : []
    }
}

/// The existing recordings, for people. `relayctl record list` prints it.
struct RecordListText: TextPage {
    let layout: TextLayout

    func render(_ list: RecordingList) -> String {
        guard let directory = list.directory else {
            return "no directory for recordings: set record.directory in relayd.yaml\n"
        }
        guard !list.recordings.isEmpty else {
            return
                "no recordings in \(SafeText.line(directory)); 'relayctl record start' makes one\n"
        }
        let files = list.recordings
        let table = Table([
            .init("Recording", files.map { SafeText.line($0.name) }),
            .init("Size", files.map { Units.bytes($0.bytes) }, alignRight: true),
            .init("Began", files.map { $0.startedAt.map(localTime.full) ?? "–" }),
            .init(
                "Written",
                files.map { $0.isRecording ? "now" : localTime.full($0.modifiedAt) }),
        ])
        var lines = table.fitted(to: width, [.drop("Began"), .drop("Written")]).lines(style)
        if list.more > 0 { lines.append("  and \(list.more) older ones") }
        lines.append("  in \(SafeText.line(directory))")
        return lines.map { $0 + "\n" }.joined()
    }
}
