import ArgumentParser
import ControlAPI

/// `relayctl` without a command: the state of the chain, and what to type next. `RelayCtl.execute` shows
/// it.
struct Overview: ParsableArguments {
    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    /// Short enough for a terminal of 60 columns.
    private static let commands = [
        ("relayctl top", "all of it live, on one screen"),
        ("relayctl tail", "the traffic as it comes"),
        ("relayctl doctor", "what is broken, and how to fix it"),
        ("relayctl app APP", "all about one app"),
        ("relayctl dashboard -o", "the same in a browser"),
        ("relayctl sample-app", "try the way to the head unit"),
    ]

    /// The same with a vehicle interface, which has no apps and no RPCs.
    private static let vehicleCommands = [
        ("relayctl vi watch", "the latest values, live"),
        ("relayctl vi tail", "the messages as they come"),
        ("relayctl vi clients", "who hears them, and misses some"),
        ("relayctl doctor", "what is broken, and how to fix it"),
        ("relayctl dashboard -o", "the same in a browser"),
    ]

    /// The list of commands, with a line end after each.
    static func text(_ spoken: AccessoryProtocol = .sdl) -> String {
        let rows = (spoken == .openxc ? vehicleCommands : commands).map {
            "  " + $0.0.padded(to: 24) + $0.1
        }
        let all = "relayctl --help has all commands"
        return (rows + [all]).map { $0 + "\n" }.joined()
    }

    /// - Returns: The exit code: that of `relayctl status`.
    static func show(_ arguments: [String], output: Output) async -> ExitStatus {
        do {
            let overview = try parse(arguments)
            let screen = StatusScreen(
                output: output, isJSON: overview.output.json,
                style: output.style(overview.output.color))
            let status = try await overview.socket.client().status()
            output.write(screen.text(status))
            if !overview.output.json { output.write("\n" + text(status.value.accessory.spoken)) }
            return ExitStatus(status.value.health)
        } catch let error as ControlClientError {
            output.write("relayctl: \(error)\n\n\(text())", to: .error)
            return error.exitStatus
        } catch {
            let words = (error as? ValidationError)?.message ?? message(for: error)
            output.write(
                "Error: \(SafeText.clean(words))\nSee 'relayctl --help'.\n", to: .error)
            return .usage
        }
    }
}
