import ArgumentParser
import ControlAPI

/// `relayctl vi`: work with an OpenXC vehicle interface, from its latest values to writes to the vehicle.
struct VehicleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vi",
        abstract: "Show an OpenXC vehicle interface, and ask it.",
        discussion: """
            For a relayd whose accessory is an OpenXC vehicle interface (openxc+tcp:, openxc+serial: and so \
            on). With a head unit, these commands end with 3. Without a command, the latest values are \
            shown. Each of the commands takes --help and --json.

            EXAMPLES
              relayctl vi
              relayctl vi latest vehicle_speed
              relayctl vi watch
              relayctl vi tail
              relayctl vi version
              relayctl vi diag 0x7e0 1 0x0c
              relayctl vi can --bus 1 --follow
              relayctl vi clients

            \(exitCodes)
            """,
        subcommands: [
            VehicleLatestCommand.self, VehicleWatchCommand.self, VehicleTailCommand.self,
            VehicleVersionCommand.self, VehicleDeviceIDCommand.self, VehiclePlatformCommand.self,
            VehicleVINCommand.self,
            VehicleDiagnosticCommand.self, VehicleCANCommand.self, VehicleWriteCommand.self,
            VehicleClientsCommand.self,
        ],
        defaultSubcommand: VehicleLatestCommand.self)

    static let exitCodes = ExitStatus.codes(
        ok: "done, or shown",
        failed: "the vehicle interface or the vehicle refused, or there is no such value",
        refused: "the accessory is not a vehicle interface, it does not answer, or you may not")

    static let failed = ExitCode(1)
}

/// A number such as an identifier, typed as `0x7e0` or `2016`.
struct WrittenNumber: ExpressibleByArgument {
    let value: Int

    init?(argument: String) {
        let isHex = argument.hasPrefix("0x") || argument.hasPrefix("0X")
        let digits = isHex ? argument.dropFirst(2) : argument[...]
        guard let first = digits.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-"),
            let value = Int(digits, radix: isHex ? 16 : 10)
        else { return nil }
        self.value = value
    }
}

/// Sends a vehicle interface a command without arguments and shows the answer.
enum VehicleQuestion {
    static func ask(_ command: String, _ output: OutputOptions, _ socket: SocketOptions)
        async throws
    {
        let answer = try await socket.client().change(
            VehicleCommandReport.self, "POST", Routes.vehicleCommand,
            VehicleCommandRequest(command: command))
        let report = answer.value
        output.show(answer.json) {
            let message = SafeText.clean(report.message)
            guard !report.status else { return message + "\n" }
            return "refused\(message.isEmpty ? "" : ": \(message)")\n"
        }
        if !report.status { throw VehicleCommand.failed }
    }
}

/// `relayctl vi version`.
struct VehicleVersionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version", abstract: "Ask the vehicle interface for its firmware.",
        discussion: VehicleCommand.exitCodes)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws { try await VehicleQuestion.ask("version", output, socket) }
}

/// `relayctl vi device-id`.
struct VehicleDeviceIDCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-id",
        abstract: "Ask the vehicle interface for its device ID, mostly its Bluetooth address.",
        discussion: VehicleCommand.exitCodes)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws { try await VehicleQuestion.ask("device_id", output, socket) }
}

/// `relayctl vi platform`.
struct VehiclePlatformCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "platform",
        abstract: "Ask the vehicle interface for its hardware (firmware 7.3 and later).",
        discussion: VehicleCommand.exitCodes)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws { try await VehicleQuestion.ask("platform", output, socket) }
}

/// `relayctl vi vin`.
struct VehicleVINCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vin",
        abstract: "Ask for the vehicle's identification number (firmware 8.2 and later).",
        discussion: """
            The vehicle interface may have to ask the vehicle first, so this can take up to 10 seconds.

            \(VehicleCommand.exitCodes)
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws { try await VehicleQuestion.ask("get_vin", output, socket) }
}
