import ArgumentParser
import ControlAPI
import Glibc

/// `relayctl wireshark`: install what Wireshark needs for SDL into the user's folders.
struct WiresharkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wireshark",
        abstract:
            "Install SDL support for Wireshark, and list running relayds among its interfaces.",
        discussion: """
            Two files make this user's Wireshark and tshark show SDL: a dissector, and a script \
            that lists running relayds among the interfaces. Without an option, this shows which \
            of them are installed. If tshark is installed, it is asked for the folders.

            EXIT CODES
              0   shown, installed or removed
              1   a file cannot be read or written, or is somebody else's
              64  the command line was not understood
            """)

    @Flag(help: "Install both files, in place of those of another version.")
    var install = false

    @Flag(help: "Remove both files.")
    var uninstall = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if install && uninstall {
            throw ValidationError("--install and --uninstall exclude each other")
        }
    }

    /// The answer with --json.
    private struct Report: Encodable {
        struct File: Encodable {
            var file: WiresharkFile.Kind
            /// The state after the command.
            var state: WiresharkFile.State
            var path: String
        }
        /// Version of the JSON layout: 1.
        var schema = 1
        var files: [File]
    }

    func run() async throws {
        let files: [WiresharkFile]
        do throws(WiresharkFolders.Problem) {
            files = WiresharkFile.all(in: try WiresharkFolders(), program: Self.program)
        } catch {
            throw Self.failure(error.description)
        }
        var problems: [String] = []
        var report = Report(files: [])
        for file in files {
            do throws(WiresharkFile.Problem) {
                if install { try file.install() }
                if uninstall { _ = try file.uninstall() }
            } catch {
                problems.append(error.description)
            }
            do throws(WiresharkFile.Problem) {
                report.files.append(
                    .init(file: file.kind, state: try file.state(), path: SafeText.clean(file.path))
                )
            } catch {
                if !problems.contains(error.description) { problems.append(error.description) }
            }
        }
        try output.show(String(decoding: APICoding.encode(report), as: UTF8.self)) { text(report) }
        for problem in problems.dropLast() {
            Output.current.write("relayctl: \(SafeText.clean(problem))\n", to: .error)
        }
        if let last = problems.last { throw Self.failure(last) }
    }

    private func text(_ report: Report) -> String {
        let table = Table([
            .init("File", report.files.map(\.file.rawValue)),
            .init("State", report.files.map { Self.word($0.state) }),
            .init("Path", report.files.map(\.path)),
        ])
        let lines = table.lines(Output.current.style(output.color))
        var text = lines.map { $0 + "\n" }.joined()
        let isInstalled = report.files.contains { $0.state == .installed }
        if install, isInstalled {
            text += "→ start Wireshark again, and it shows SDL\n"
        } else if !uninstall,
            report.files.contains(where: { $0.state == .absent || $0.state == .differs })
        {
            text += "→ install what is missing with: relayctl wireshark --install"
            text += "\n"
        }
        return text
    }

    private static func word(_ state: WiresharkFile.State) -> String {
        switch state {
        case .installed: "installed"
        case .differs: "another version"
        case .absent: "not installed"
        case .foreign: "somebody else's"
        }
    }

    private static func failure(_ text: String) -> ExitCode {
        Output.current.write("relayctl: \(SafeText.clean(text))\n", to: .error)
        return ExitCode.failure
    }

    /// This program's own path.
    private static var program: String {
        guard let found = realpath("/proc/self/exe", nil) else { return "relayctl" }
        defer { free(found) }
        return String(cString: found)
    }
}
