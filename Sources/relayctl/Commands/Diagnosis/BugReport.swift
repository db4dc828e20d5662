import AccessoryLinks
import ArgumentParser
import ControlAPI
import Glibc

/// `relayctl bugreport`: one file with everything that is needed to help from elsewhere.
struct BugReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bugreport",
        abstract: "Write a file with everything that somebody needs to help you.",
        discussion: """
            It has versions, configuration, status, the output of doctor and usb, advice, events, counts,
            everything known about each app, the latest messages and, if you may read it, the journal.
            Parameters of messages are left out unless you ask for them. VIN, positions, hash IDs, tokens,
            phone numbers, device names, serial numbers and raw bytes are removed from the rest. Names of
            apps, their IP addresses, and texts in the journal are not removed. Only you can read the file
            (mode 0600): look through it before you send it.

            EXAMPLES
              relayctl bugreport
              relayctl bugreport --with-payloads
              relayctl bugreport --file /tmp/relayd.tar.gz

            EXIT CODES
              0   written
              2   relayd is not running, or cannot be asked; the rest is written
              3   the file cannot be written, or relayd refused
              64  the command line was not understood
            """)

    @Option(
        help: ArgumentHelp(
            "Where to write; must not exist. Default: relayd-bugreport-TIME.tar.gz here.",
            valueName: "path"), completion: .file())
    var file: String?

    @Flag(
        help:
            "Include the parameters of messages: what apps show and send, except secrets.")
    var withPayloads = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try Names.check([file].compactMap(\.self), "--file", example: "the path of a new file")
    }

    private struct Report: Codable {
        var file: String
        var contents: [String]
        var redacted: Int
    }

    /// File names in the archive, and the routes whose answers they hold.
    private static let pages = [
        ("status.json", Routes.status), ("config.json", Routes.config),
        ("advice.json", Routes.advice), ("stats.json", Routes.stats), ("log.json", Routes.log),
        ("events.json", Routes.events + "?limit=1000"),
    ]
    /// Without payloads, JSON only: the lines of the log show parameters, too.
    private var messages: String {
        Routes.messages + "?limit=1000&format=\(withPayloads ? "both" : "json")"
    }
    /// Number of apps that are described in full: more than a bench has.
    private static let maximumApps = 32
    /// Environment variable that passes the unit's name to the shell, so that no character in it has a
    /// special meaning.
    private static let unitVariable = "RELAYCTL_UNIT"
    /// Command that prints lines of the journal, without the name of this machine.
    private static let journal =
        "journalctl -u \"$\(unitVariable)\" -n 2000 --no-pager --no-hostname -o short-iso 2>&1"

    func run() async throws {
        let now = Timestamp.now
        let stamp = "\(now)".prefix(19).replacing(":", with: "").replacing("-", with: "")
        let path = file ?? "relayd-bugreport-\(stamp).tar.gz"
        guard let archive = Archive(path) else {
            throw Self.failed("\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
        var pages = Pages(
            time: Int(now.millisecondsSince1970 / 1000),
            redactor: Redactor(leavesOutParameters: !withPayloads))
        let client = try socket.client()
        var problem: ControlClientError?
        var relayd = ""
        var unit = UnitReport.name(ofSocket: client.sockets.first?.path)
        do throws(ControlClientError) {
            let status = try await client.status().value
            relayd = "\(status.relayd.version) runs (pid \(status.relayd.pid))"
            unit = status.relayd.unit ?? unit
            for (name, route) in Self.pages + [("messages.json", messages)] {
                try await pages.ask(client, name, route)
            }
            for app in status.apps.prefix(Self.maximumApps) {
                let route = Routes.path(Routes.app, "\(app.id)")
                try await pages.ask(client, "app-\(app.id).json", route)
            }
        } catch {
            problem = error
            relayd = "not asked, see relayd.txt"
            pages.add("relayd.txt", text: "\(error)\n")
        }
        pages.add("versions.txt", text: Versions.text(relayd: relayd))
        let diagnosis = await DoctorCommand.examine(client, config: nil).diagnosis
        pages.add("doctor.txt", text: diagnosis.text(width: 100, style: .plain))
        do throws(LinkProblem) {
            let survey = try USBSurvey.now()
            let json = (try? APICoding.encode(survey.document)) ?? []
            pages.add("usb.json", json: String(decoding: json, as: UTF8.self))
        } catch {
            pages.add("usb.json", text: "\(error)\n")
        }
        setenv(Self.unitVariable, unit, 1)
        let journal = CommandOutput.of(Self.journal) ?? "journalctl cannot be run\n"
        pages.add("journal.txt", text: journal)
        guard archive.write(pages.tar.bytes) else {
            throw Self.failed("gzip could not write \(path)")
        }
        tell(Report(file: path, contents: pages.names, redacted: pages.redactor.count))
        if let problem { throw problem }
    }

    /// The redacted contents of the archive.
    private struct Pages {
        let time: Int
        var tar = TarFile()
        var redactor: Redactor
        var names: [String] = []

        mutating func add(_ name: String, text: String) {
            put(name, redactor.text(text))
        }

        mutating func add(_ name: String, json: String) {
            put(name, redactor.json(json))
        }

        private mutating func put(_ name: String, _ text: String) {
            tar.add("relayd-bugreport/" + name, text, time: time)
            names.append(name)
        }

        /// Adds the answer, or the refusal, which is worth a page as well: an app may leave meanwhile.
        mutating func ask(
            _ client: ControlClient, _ name: String, _ route: String
        ) async throws(ControlClientError) {
            do throws(ControlClientError) {
                let body = try await client.get(route).answer.body
                add(name, json: String(decoding: body, as: UTF8.self))
            } catch .refused(_, _, _, _, _, let message) {
                add(name, text: message + "\n")
            }
        }
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
            phones\(withPayloads ? "" : ", parameters of messages")). It keeps the names of apps and \
            the IP addresses they came from. Look through it before you send it: tar -xzf FILE

            """)
    }

    private static func failed(_ problem: String) -> ExitCode {
        Output.current.write("relayctl: \(SafeText.line(problem))\n", to: .error)
        return ExitCode(ExitStatus.refused.rawValue)
    }
}
