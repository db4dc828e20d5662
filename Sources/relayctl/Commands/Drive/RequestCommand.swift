import ArgumentParser
import ControlAPI
import Glibc
import NIOCore
import SDLProtocol

/// `relayctl request`: saved requests, and those that were sent.
struct RequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Save requests of send under a name; show those that were sent.",
        discussion: """
            A saved request is sent with @ in front of its name. What is in braces in the value of a \
            parameter is filled in then: {text}, or {text=Hello} with a default; {{ is a brace. Quote \
            it, since some shells have a use of their own for braces. Other parameters may be added \
            or replaced when it is sent.

            Requests are stored in $XDG_CONFIG_HOME/relayd/requests.json (default: ~/.config/relayd/requests.json), \
            which export and import have as well. The last \(RequestHistory.maximumCount) requests that were sent \
            are in $XDG_STATE_HOME/relayd/requests (default: ~/.local/state/relayd/requests), without those of \
            more than \(RequestHistory.maximumEntryBytes) bytes. relayd does not have to run. With --json \
            'relayctl request list' and 'relayctl request history' print an object.

            EXAMPLES
              relayctl request save greeting --app radio Show 'mainField1={text}'
              relayctl send @greeting text=Hello
              relayctl request list
              relayctl request history
              relayctl request save again @-1
              relayctl request export -o requests.json
              relayctl request import requests.json
              relayctl request rm greeting

            EXIT CODES
              0   listed, saved, removed, exported or imported
              1   there is no request of that name, or the file cannot be read or written
              3   the file of export exists, or cannot be written
              64  the command line was not understood
            """,
        subcommands: [
            ListCommand.self, SaveCommand.self, RemoveCommand.self, HistoryCommand.self,
            ExportCommand.self, ImportCommand.self,
        ],
        defaultSubcommand: ListCommand.self)

    // MARK: - For all of them

    /// The request that is saved under a name, or was sent earlier: `@greeting`, `@-1`.
    static func kept(_ word: String) throws -> SavedRequest {
        let name = word.dropFirst()
        if name.hasPrefix("-") {
            guard let back = Int(name.dropFirst()), back > 0 else {
                throw ValidationError(
                    "\"\(SafeText.clean(word))\" is no request; expected @NAME, or @-1 for the last one"
                )
            }
            let entry = try told { () throws(KeptFile.Problem) in
                try RequestHistory().entry(back)
            }
            guard let entry else {
                throw failure(
                    "fewer than \(back) requests are in the history; 'relayctl request history' lists them"
                )
            }
            return entry.request
        }
        try check(String(name))
        let request = try told { () throws(KeptFile.Problem) in
            try SavedRequests().request(String(name))
        }
        guard let request else { throw unknown(String(name)) }
        return request
    }

    fileprivate static func told<Value>(
        _ body: () throws(KeptFile.Problem) -> Value
    ) throws -> Value {
        do throws(KeptFile.Problem) {
            return try body()
        } catch {
            throw failure(error.description)
        }
    }

    fileprivate static func failure(_ text: String) -> ExitCode {
        Output.current.write("relayctl: \(SafeText.line(text))\n", to: .error)
        return ExitCode.failure
    }

    fileprivate static func unknown(_ name: String) -> ExitCode {
        failure(
            "no request is saved as \"\(SafeText.clean(name))\"; 'relayctl request list' lists them"
        )
    }

    fileprivate static func check(_ name: String) throws {
        guard !SavedRequest.isName(name) else { return }
        throw ValidationError(
            "\"\(SafeText.clean(name))\" cannot be a name; expected letters, digits, - and _")
    }

    // MARK: - Kept under a name

    struct ListCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the saved requests.")

        @OptionGroup var output: OutputOptions

        func run() throws {
            let requests = try RequestCommand.told { () throws(KeptFile.Problem) in
                try SavedRequests().all()
            }
            let output = Output.current
            guard !self.output.json else {
                output.write(String(decoding: try SavedRequests.text(requests), as: UTF8.self))
                return
            }
            guard !requests.isEmpty else {
                output.write(
                    "No request is saved; 'relayctl request save NAME RPC' saves one.\n")
                return
            }
            let width = requests.map(\.name.columns).max() ?? 0
            for request in requests {
                output.write(
                    "\(request.name.padded(to: width))  \(SafeText.line(request.words))\n")
            }
        }
    }

    struct SaveCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "save",
            abstract: "Save a request under a name, replacing one of that name.")

        @Argument(
            help: "Letters, digits, - and _; at most 40.", completion: Completions.savedRequests)
        var name: String

        @Argument(
            help: "The RPC, such as Show, or @NAME or @-1 for a saved or sent one.",
            completion: Completions.requests)
        var rpc: String

        @Argument(help: "Its parameters: NAME=VALUE, or NAME:=JSON; {NAME} is filled in.")
        var parameters: [String] = []

        @Option(help: DriveTarget.appHelp, completion: Completions.apps)
        var app: String?

        @OptionGroup var options: RequestOptions

        @Flag(help: "Compare nothing with the RPC specification.")
        var unchecked = false

        func validate() throws {
            try RequestCommand.check(name)
            if let app { try Names.check([app], "--app", example: "a name, an app ID or a number") }
            try Names.check([rpc], "<rpc>", example: "the name of an RPC such as Show")
            try DriveArguments.check(parameters)
        }

        func run() async throws {
            var request = try options.request(rpc, app: app, unchecked: unchecked) { saved in
                RequestTemplate.replaced(saved, by: parameters)
            }
            request.name = name
            let saved = request
            let before = try RequestCommand.told { () throws(KeptFile.Problem) in
                try SavedRequests().save(saved)
            }
            let blanks = RequestTemplate(saved.set ?? []).blanks.map { " \($0.name)=VALUE" }
                .joined()
            let note =
                before.map { $0 == saved ? "" : "; it was: \(SafeText.line($0.words))" } ?? ""
            Output.current.write("saved; it is sent as @\(name)\(blanks)\(note)\n")
        }
    }

    struct RemoveCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rm", abstract: "Remove a saved request.")

        @Argument(help: "The request's name.", completion: Completions.savedRequests)
        var name: String

        func validate() throws {
            try RequestCommand.check(name)
        }

        func run() throws {
            let before = try RequestCommand.told { () throws(KeptFile.Problem) in
                try SavedRequests().remove(name)
            }
            guard let before else { throw RequestCommand.unknown(name) }
            Output.current.write("removed; it was: \(SafeText.line(before.words))\n")
        }
    }

    // MARK: - What was sent

    struct HistoryCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "history",
            abstract: "List the requests that were sent, the latest last.",
            discussion: "The number in front is what send takes: @-1 is the latest.")

        @Flag(help: "Forget all of them.")
        var clear = false

        @OptionGroup var output: OutputOptions

        func run() throws {
            let output = Output.current
            guard !clear else {
                let count = try RequestCommand.told { () throws(KeptFile.Problem) in
                    try RequestHistory().clear()
                }
                output.write("\(Units.count(count, "request")) forgotten\n")
                return
            }
            let entries = try RequestCommand.told { () throws(KeptFile.Problem) in
                try RequestHistory().all()
            }
            guard !self.output.json else {
                let list = try APICoding.encode(List(requests: entries))
                output.write(String(decoding: list, as: UTF8.self))
                return
            }
            guard !entries.isEmpty else {
                output.write("No request was sent.\n")
                return
            }
            for (index, entry) in entries.enumerated() {
                let number = "@-\(entries.count - index)"
                output.write(
                    "\(number.padded(to: 5)) \(SafeText.clean(entry.time))  "
                        + "\(SafeText.line(entry.request.words))  -> \(SafeText.clean(entry.outcome))\n"
                )
            }
        }

        /// The output with --json.
        private struct List: Encodable {
            /// Version of the JSON layout: 1.
            let schema = 1
            let requests: [RequestHistory.Entry]
        }
    }

    // MARK: - From and to others

    struct ExportCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Print saved requests as JSON for 'import'.")

        @Argument(help: "Their names. Default: all.", completion: Completions.savedRequests)
        var names: [String] = []

        @Option(
            name: [.customShort("o"), .customLong("output")],
            help: ArgumentHelp("A new file to write instead.", valueName: "file"),
            completion: .file())
        var file: String?

        func validate() throws {
            for name in names { try RequestCommand.check(name) }
        }

        func run() throws {
            let all = try RequestCommand.told { () throws(KeptFile.Problem) in
                try SavedRequests().all()
            }
            for name in names where !all.contains(where: { $0.name == name }) {
                throw RequestCommand.unknown(name)
            }
            let chosen = all.filter { names.isEmpty || names.contains($0.name) }
            let text = try SavedRequests.text(chosen)
            guard let file else {
                Output.current.write(String(decoding: text, as: UTF8.self))
                return
            }
            try TraceFailure.told {
                var new = try NewFile(file)
                try new.write(ByteBuffer(bytes: text))
                try new.keep()
            }
            Output.current.write(
                "\(Units.count(chosen.count, "request")) written to \(SafeText.line(file))\n")
        }
    }

    struct ImportCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Add the requests of a file that 'export' has written.",
            discussion: "All of them are added or none.")

        @Argument(help: "The file; - reads standard input.", completion: .file())
        var file: String

        @Flag(help: "Replace saved requests of the same names.")
        var replace = false

        func run() throws {
            let bytes = try DriveFile.bytes(file, limit: KeptFile.maximumBytes)
            let name = file == "-" ? "standard input" : file
            let (added, count) = try RequestCommand.told { () throws(KeptFile.Problem) in
                let added = try SavedRequests.requests(in: bytes, from: name)
                return (added, try SavedRequests().add(added, replaces: replace))
            }
            let rest = added.count - count
            let note = rest > 0 ? "; \(rest) were there already" : ""
            Output.current.write("\(Units.count(count, "request")) imported\(note)\n")
        }
    }
}
