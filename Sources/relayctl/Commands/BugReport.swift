package import ArgumentParser
import ControlAPI
import Glibc

/// `relayctl bugreport`: one file with everything somebody needs who was not there.
package struct BugReportCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "bugreport",
        abstract: "Write one file with what somebody needs who helps you.",
        discussion: """
            Versions, configuration, status, advice, events, counts, the latest messages and, where
            you may read it, the journal. VIN, positions, hash IDs, tokens, phone numbers and names
            of devices are taken out; names of apps and texts they show are not. The file is yours
            alone (mode 0600): look through it before you send it.

            EXAMPLES
              relayctl bugreport
              relayctl bugreport --file /tmp/relayd.tar.gz

            EXIT CODES
              0   written
              2   relayd is not running, or cannot be asked; versions and journal are written
              3   the file cannot be written
              64  the command line was not understood
            """)

    @Option(
        help: ArgumentHelp(
            "Where to write; must not exist. Default: relayd-bugreport-TIME.tar.gz here.",
            valueName: "path"), completion: .file())
    package var file: String?

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    private struct Report: Codable {
        var file: String
        var contents: [String]
        var redacted: Int
    }

    /// What is asked of relayd, and what the file is called.
    private static let pages = [
        ("status.json", Routes.status), ("config.json", Routes.config),
        ("advice.json", Routes.advice), ("stats.json", Routes.stats), ("log.json", Routes.log),
        ("events.json", Routes.events + "?limit=1000"),
        ("messages.json", Routes.messages + "?limit=1000&format=both"),
    ]

    package func run() async throws {
        let now = Timestamp.now
        let stamp = "\(now)".prefix(19).replacing(":", with: "").replacing("-", with: "")
        let path = file ?? "relayd-bugreport-\(stamp).tar.gz"
        guard let archive = Archive(path) else {
            throw Self.failed("\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
        var redactor = Redactor()
        var tar = TarFile()
        var contents: [String] = []
        func add(_ name: String, _ text: String) {
            tar.add(
                "relayd-bugreport/" + name, text, time: Int(now.millisecondsSince1970 / 1000))
            contents.append(name)
        }
        var exit = ExitStatus.ok
        add("versions.txt", Self.versions)
        let client = try socket.client()
        for (name, route) in Self.pages {
            do throws(ControlClientError) {
                let body = try await client.get(route).answer.body
                add(name, redactor.json(String(decoding: body, as: UTF8.self)))
            } catch .refused(_, _, _, _, let message) {
                add(name, redactor.text(message + "\n"))
            } catch {
                add("relayd.txt", "\(error)\n")
                exit = .notRunning
                break
            }
        }
        add("journal.txt", redactor.text(Archive.journal))
        guard archive.write(tar.bytes) else { throw Self.failed("gzip could not write \(path)") }
        tell(Report(file: path, contents: contents, redacted: redactor.count))
        if exit != .ok { throw ExitCode(exit.rawValue) }
    }

    private func tell(_ report: Report) {
        guard !output.json else {
            let json = (try? APICoding.encode(report)) ?? []
            Output.current.write(JSONText.safe(String(decoding: json, as: UTF8.self)))
            return
        }
        Output.current.write(
            """
            \(SafeText.line(report.file)): \(report.contents.joined(separator: ", "))
            \(Units.count(report.redacted, "value")) taken out (VIN, positions, hash IDs, tokens, \
            phones). Look through it before you send it: tar -xzf FILE

            """)
    }

    private static func failed(_ problem: String) -> ExitCode {
        Output.current.write("relayctl: \(SafeText.line(problem))\n", to: .error)
        return ExitCode(ExitStatus.refused.rawValue)
    }

    private static var versions: String {
        var system = utsname()
        uname(&system)
        func text(_ bytes: some Any) -> String {
            withUnsafeBytes(of: bytes) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return """
            relayctl \(Version.current)
            \(text(system.sysname)) \(text(system.release)) \(text(system.machine))

            """
    }
}

/// The file on disk: made new, for nobody else's eyes, compressed by gzip(1).
private struct Archive {
    /// How the path gets into the shell's line: as a variable, so that no character in it means
    /// anything.
    private static let variable = "RELAYCTL_BUGREPORT"

    /// Nil with `errno` set when the file is there already or cannot be made.
    init?(_ path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        close(descriptor)
        setenv(Self.variable, path, 1)
    }

    func write(_ bytes: [UInt8]) -> Bool {
        guard let gzip = popen("exec gzip -n >\"$\(Self.variable)\"", "w") else { return false }
        let written = fwrite(bytes, 1, bytes.count, gzip)
        return pclose(gzip) == 0 && written == bytes.count
    }

    /// The latest lines of relayd's unit, or why there are none.
    static var journal: String {
        let command = "journalctl -u relayd -n 2000 --no-pager -o short-iso 2>&1"
        guard let pipe = popen(command, "r") else { return "journalctl cannot be run\n" }
        defer { pclose(pipe) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        // 2000 lines are far below; a bound all the same.
        while bytes.count < 16 << 20 {
            let count = fread(&buffer, 1, buffer.count, pipe)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
