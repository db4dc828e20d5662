import ArgumentParser
import ControlAPI
import MessageFilters
import RelayCore

/// `relayctl fault`: rules by which relayd disturbs the traffic.
struct FaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault",
        abstract: "Delay, drop, answer or change what passes, to see what an app makes of it.",
        discussion: """
            A rule is a filter, as of relayctl tail, and what happens to the messages it takes. Rules last until \
            they are removed or relayd stops. relayd follows them only if drive.enabled is true, and logs \
            who adds and removes them. With --json 'relayctl fault list' prints the rules and what they hold. \
            Documentation/faults.md describes all of it.

            EXAMPLES
              relayctl fault add 'app:radio rpc:PutFile' delay 2s jitter 500ms
              relayctl fault add 'rpc:PutFile' answer REJECTED "no space" count 3
              relayctl fault add 'app:radio' rate 20KB/s
              relayctl fault add link freeze 5s
              relayctl fault list
              relayctl fault remove 1

            \(exitCodes)
            """,
        subcommands: [
            ListCommand.self, AddCommand.self, RemoveCommand.self, ClearCommand.self,
            LoadCommand.self,
        ],
        defaultSubcommand: ListCommand.self)

    static let exitCodes = ExitStatus.codes(
        ok: "done",
        refused:
            "there is no such rule, drive.enabled is off, the rule may hurt other apps, or you may not"
    )

    // MARK: - Showing

    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Show the rules, and how many messages each has taken.",
            discussion: FaultCommand.exitCodes)

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            let answer = try await socket.client().ask(FaultList.self, Routes.faults)
            output.show(answer.json) { FaultText(output).list(answer.value) }
        }
    }

    // MARK: - Adding

    struct AddCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a rule, or a fault of the whole link.",
            discussion: """
                What a rule does is one of: delay 2s [jitter 500ms], drop, answer CODE ["words"], \
                nak ["words"], corrupt, duplicate, reorder, truncate, disconnect, hold [5s], rate 20KB/s. Behind \
                it may stand: probability 30%, count 5, from 10s, until 1m.

                With 'link' in place of a filter: unplug, freeze 5s, slow 20KB/s, half-open.

                EXAMPLES
                  relayctl fault add 'app:radio rpc:Show' drop probability 30%
                  relayctl fault add 'from:unit rpc:OnHMIStatus' hold 10s count 1
                  relayctl fault add 'app:radio service:video' nak "no video today"
                  relayctl fault add link slow 20KB/s until 1m

                \(FaultCommand.exitCodes)
                """)

        @Argument(
            help: "What the rule takes, in single quotes; or the word link.",
            completion: Completions.filter)
        var filter: String

        @Argument(help: "What it does, and its options.", completion: .list(FaultWords.actions))
        var action: [String]

        @Flag(help: "Allow towards a real head unit what may hurt its other apps.")
        var mayHarmOthers = false

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func validate() throws {
            guard filter != "link" else {
                do throws(FaultRuleError) {
                    _ = try FaultRule.link(FaultWords.text(action))
                } catch {
                    throw ValidationError(
                        FaultWords.pointing(at: error, filter: "", action: FaultWords.text(action)))
                }
                return
            }
            try FilterArgument.check([filter])
        }

        func run() async throws {
            var request = FaultRequest(mayHarmOthers: mayHarmOthers ? true : nil)
            let words = FaultWords.text(action)
            if filter == "link" {
                request.link = words
            } else {
                request.rules = [try FaultWords.rule(filter, words)]
            }
            try await FaultCommand.post(request, socket, output)
        }
    }

    struct LoadCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "load", abstract: "Add the rules of a file: all of them, or none.",
            discussion: """
                Each line is FILTER -> ACTION, such as

                  app:radio rpc:PutFile -> delay 2s jitter 500ms

                Empty lines and lines that begin with # are skipped.

                \(FaultCommand.exitCodes)
                """)

        @Argument(help: "The file.", completion: .file())
        var file: String

        @Flag(help: "Allow towards a real head unit what may hurt its other apps.")
        var mayHarmOthers = false

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            let rules = try FaultFile.rules(at: file)
            try await FaultCommand.post(
                FaultRequest(rules: rules, mayHarmOthers: mayHarmOthers ? true : nil), socket,
                output)
        }
    }

    fileprivate static func post(
        _ request: FaultRequest, _ socket: SocketOptions, _ output: OutputOptions
    ) async throws {
        let answer = try await socket.client().change(
            FaultList.self, "POST", Routes.faults, request)
        output.show(answer.json) { FaultText(output).added(answer.value) }
    }

    // MARK: - Removing

    struct RemoveCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a rule; what it holds passes.",
            discussion: FaultCommand.exitCodes)

        @Argument(help: "The rule's number, which relayctl fault list shows.")
        var rule: UInt32

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            try await socket.client().changeAndTell(
                output, "DELETE", Routes.path(Routes.fault, "\(rule)"))
        }
    }

    struct ClearCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear", abstract: "Remove all rules; what they hold passes.",
            discussion: FaultCommand.exitCodes)

        @OptionGroup var output: OutputOptions
        @OptionGroup var socket: SocketOptions

        func run() async throws {
            try await socket.client().changeAndTell(output, "DELETE", Routes.faults)
        }
    }
}
