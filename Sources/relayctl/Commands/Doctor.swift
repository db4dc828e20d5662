package import ArgumentParser
import ControlAPI

/// `relayctl doctor`: check the chain from head unit to app; name the first thing that is broken.
package struct DoctorCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the chain from head unit to app; name the first thing that is broken.",
        discussion: """
            From the daemon and its configuration over the head unit and the port to the apps, link by
            link, with the remedy for the first one that is broken. What comes after it is not looked at: it
            may work by itself then.

            EXAMPLES
              relayctl doctor
              relayctl doctor --config ./relayd.yaml

            EXIT CODES
              0   nothing is broken
              1   something in the chain is broken
              2   relayd is not running, or cannot be asked
              3   relayd refused
              64  the command line was not understood
            """)

    @Option(
        help: ArgumentHelp(
            "Configuration file to check. Default: the one relayd runs with, or would start with.",
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    package var config: String?

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func validate() throws {
        try Names.check([config].compactMap(\.self), "--config", example: "the path of a file")
    }

    package func run() async throws {
        let (diagnosis, exit) = await Self.examine(try socket.client(), config: config)
        if output.json {
            let json = String(decoding: try APICoding.encode(diagnosis), as: UTF8.self)
            Output.current.write(JSONText.safe(json))
        } else {
            let style = Output.current.style(output.color)
            Output.current.write(
                diagnosis.text(width: Output.current.size().columns, style: style))
        }
        if exit != .ok { throw ExitCode(exit.rawValue) }
    }

    /// Looks at the whole chain; `relayctl bugreport` asks as well.
    ///
    /// - Parameter config: The file to check instead of relayd's own.
    static func examine(
        _ client: ControlClient, config: String?
    ) async -> (diagnosis: Diagnosis, exit: ExitStatus) {
        do throws(ControlClientError) {
            let (found, _) = try await client.get(Routes.index)
            let status = try await client.status().snapshot
            let advice = try await client.ask(AdviceList.self, Routes.advice).value
            let running = try await client.ask(ConfigReport.self, Routes.config).value
            let diagnosis = Diagnosis(
                status, advice: advice.advice, socket: found.path,
                configuration: (config ?? running.file).flatMap(ConfigurationCheck.run),
                specification: running.specification,
                firewall: Firewall.active(), unit: UnitReport.running(status))
            return (diagnosis, diagnosis.broken == nil ? .ok : .notConnected)
        } catch {
            let configuration = ConfigurationCheck.run(file: config)
            let diagnosis = Diagnosis(
                unreachable: error, configuration: configuration,
                unit: UnitReport.ask(UnitReport.name(ofSocket: client.sockets.first?.path)))
            return (diagnosis, error.exitStatus)
        }
    }
}
