import ArgumentParser
import ControlAPI

/// `relayctl permissions`: whether an app may send an RPC now, or which RPCs it may send.
struct PermissionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "permissions",
        abstract: "Tell whether an app may use an RPC now, and if not, why.",
        discussion: """
            This depends on what the head unit said in OnPermissionsChange and on the app's HMI \
            level. Without an RPC, all RPCs that the head unit named are listed.

            EXAMPLES
              relayctl permissions "My App" Show
              relayctl permissions "My App"
              until relayctl permissions 1 Alert >/dev/null; do sleep 1; done

            \(ExitStatus.codes(
                ok: "yes; without an RPC: they are listed",
                failed: "no, or the head unit has not said yet",
                refused: "there is no such app or RPC"))
            """)

    @Argument(
        help: "Name or part of it, app ID, or the number that relayctl status shows.",
        completion: Completions.apps)
    var app: String

    @Argument(
        help: "Name of the RPC as in the RPC specification, e.g. Show. Default: all of them.",
        completion: Completions.functions)
    var rpc: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try Names.check(app: app)
        if let rpc {
            try Names.check([rpc], "<rpc>", example: "the name of a function such as Show")
        }
    }

    func run() async throws {
        guard let rpc else { return try await list() }
        let answer = try await socket.client().ask(
            PermissionAnswer.self, Routes.path(Routes.permission, app, rpc))
        output.show(answer.json) { PermissionText(output).render(answer.value) }
        if answer.value.answer != .yes { throw ExitCode.failure }
    }

    /// Lists all RPCs that the head unit has named; as JSON, the same list as in `relayctl app`.
    private func list() async throws {
        let report = try await socket.client().ask(AppReport.self, Routes.path(Routes.app, app))
            .value
        try output.show(String(decoding: APICoding.encode(report.permissions), as: UTF8.self)) {
            PermissionText(output).render(report)
        }
        if report.permissions.isEmpty { throw ExitCode.failure }
    }
}
