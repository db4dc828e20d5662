import ArgumentParser
import ControlAPI
import DidYouMean

/// `relayctl vi latest`: show the latest value of each signal.
struct VehicleLatestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latest",
        abstract: "Show the latest value of each signal, with its age.",
        discussion: """
            An event, such as door_status, has a row for each of its states. "Per second" is the rate over \
            the last 10 seconds. Values are kept while the vehicle interface is unplugged; \
            their age says how old they are.

            EXAMPLES
              relayctl vi latest
              relayctl vi latest vehicle_speed
              relayctl vi latest vehicle_speed --json | jq '.measurements[0].value'

            With a name, it ends with 1 if that signal has not come.

            \(VehicleCommand.exitCodes)
            """)

    @Argument(help: "Only this signal.", completion: Completions.signals)
    var name: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        let answer = try await socket.client().ask(VehicleReport.self, Routes.vehicle)
        guard let name else {
            output.show(answer.json) { VehicleTables(output).latest(answer.value) }
            return
        }
        let found = answer.value.measurements.filter { $0.name == name }
        guard !found.isEmpty else {
            let known = Set(answer.value.measurements.map(\.name)).sorted()
            let hint = Spelling.nearest(name, in: known).map {
                "; did you mean \"\(SafeText.clean($0))\"?"
            }
            Output.current.write(
                "relayctl: no \"\(SafeText.clean(name))\" has come\(hint ?? "; 'relayctl vi latest' lists what has")\n",
                to: .error)
            throw VehicleCommand.failed
        }
        try output.show(
            String(decoding: APICoding.encode(Latest(measurements: found)), as: UTF8.self)
        ) {
            VehicleTables(output).measurements(found)
        }
    }

    /// The part of the report that is printed with --json.
    private struct Latest: Encodable {
        var schema = 1
        let measurements: [VehicleMeasurement]
    }
}

/// `relayctl vi clients`: list the clients that share the vehicle interface.
struct VehicleClientsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clients",
        abstract: "Show the clients: formats, queues, losses, and what is repeated for whom.",
        discussion: """
            "Lost" counts messages that a client missed because it did not read, "Refused" messages that \
            were not carried out, such as writes that openxc.writes does not allow.

            \(VehicleCommand.exitCodes)
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        let answer = try await socket.client().ask(VehicleReport.self, Routes.vehicle)
        output.show(answer.json) { VehicleTables(output).clients(answer.value) }
    }
}
