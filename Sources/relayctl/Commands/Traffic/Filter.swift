import ArgumentParser
import ControlAPI

/// `relayctl filter`: manage saved filters.
struct FilterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "filter",
        abstract: "Save filters of tail and log under a name.",
        discussion: """
            Use a saved filter with @ in front, alone or together with other terms. Filters are \
            stored in $XDG_CONFIG_HOME/relayd/filters (default: ~/.config/relayd/filters), one \
            line 'name = filter' each, and you may edit that file. relayd does not have to run. \
            With --json 'relayctl filter list' prints an object.

            EXAMPLES
              relayctl filter save slow 'ms>200 !rpc:Alert'
              relayctl tail '@slow app:radio'
              relayctl filter list
              relayctl filter rm slow

            EXIT CODES
              0   listed, saved or removed
              1   there is no filter of that name, or the file cannot be read or written
              64  the command line or the filter was not understood
            """,
        subcommands: [ListCommand.self, SaveCommand.self, RemoveCommand.self],
        defaultSubcommand: ListCommand.self)

    fileprivate static func saved<Value>(
        _ body: (SavedFilters) throws(SavedFilters.Problem) -> Value
    ) throws -> Value {
        do throws(SavedFilters.Problem) {
            return try body(try SavedFilters())
        } catch {
            throw failure(error.description)
        }
    }

    fileprivate static func failure(_ text: String) -> ExitCode {
        Output.current.write("relayctl: \(SafeText.clean(text))\n", to: .error)
        return ExitCode.failure
    }

    fileprivate static func check(_ name: String) throws {
        guard !SavedFilters.isName(name) else { return }
        throw ValidationError(
            "\"\(SafeText.clean(name))\" cannot be a name; expected letters, digits, - and _")
    }

    struct ListCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the saved filters.")

        @OptionGroup var output: OutputOptions

        func run() throws {
            let filters = try FilterCommand.saved { saved throws(SavedFilters.Problem) in
                try saved.all()
            }
            let output = Output.current
            guard !self.output.json else {
                let list = List(
                    filters: filters.map { List.Filter(name: $0.name, filter: $0.text) })
                output.write(String(decoding: try APICoding.encode(list), as: UTF8.self))
                return
            }
            guard !filters.isEmpty else {
                output.write("No filter is saved; 'relayctl filter save NAME FILTER' saves one.\n")
                return
            }
            let width = filters.map(\.name.columns).max() ?? 0
            for filter in filters {
                output.write(
                    "\(filter.name.padded(to: width))  \(SafeText.line(filter.text))\n")
            }
        }

        /// The output with --json.
        private struct List: Encodable {
            struct Filter: Encodable {
                let name: String
                let filter: String
            }

            /// Version of the JSON layout: 1.
            let schema = 1
            let filters: [Filter]
        }
    }

    struct SaveCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "save",
            abstract: "Save a filter under a name, replacing one of that name.")

        @Argument(
            help: "Letters, digits, - and _; at most 40.", completion: Completions.savedFilters)
        var name: String

        @Argument(help: "The filter, in single quotes.", completion: Completions.filter)
        var filter: [String]

        func validate() throws {
            try FilterCommand.check(name)
            _ = try FilterArgument.toBeSaved(filter)
        }

        func run() async throws {
            let text = try FilterArgument.toBeSaved(filter)
            let before = try FilterCommand.saved { saved throws(SavedFilters.Problem) in
                try saved.save(SavedFilters.Filter(name: name, text: text))
            }
            let note = before.map { $0 == text ? "" : "; it was: \(SafeText.line($0))" } ?? ""
            Output.current.write("saved; 'relayctl tail @\(name)' uses it\(note)\n")
        }
    }

    struct RemoveCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rm", abstract: "Remove a saved filter.")

        @Argument(help: "The filter's name.", completion: Completions.savedFilters)
        var name: String

        func validate() throws {
            try FilterCommand.check(name)
        }

        func run() throws {
            let before = try FilterCommand.saved { saved throws(SavedFilters.Problem) in
                try saved.remove(name)
            }
            guard let before else {
                throw FilterCommand.failure(
                    "no filter is saved as \"\(name)\"; 'relayctl filter list' lists them")
            }
            Output.current.write("removed; it was: \(SafeText.line(before))\n")
        }
    }
}
