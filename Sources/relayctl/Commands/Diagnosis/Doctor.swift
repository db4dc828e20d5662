import AccessoryLinks
import ArgumentParser
import ControlAPI

/// `relayctl doctor`: check the chain from head unit to app; name the first thing that is broken.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the chain from head unit to app, and name the first thing that is broken.",
        discussion: """
            Checks one thing after the other: relayd and its configuration, the head unit, the port, the apps.
            It stops at the first one that is broken and prints the remedy, because what comes \
            after it may work once that is fixed. A bench without an app is in order: it is marked \
            with –, and the exit code is 0.

            Where the head unit is to be reached by Bluetooth, what that needs of this machine is checked as \
            well, also while relayd does not run: bluetoothd, the adapter, pairing. Nothing is changed.

            EXAMPLES
              relayctl doctor
              relayctl doctor --config ./relayd.yaml
              relayctl doctor --accessory bluetooth:listen

            \(ExitStatus.codes(ok: "nothing is broken; there may be no app yet", failed: "something in the chain is broken"))
            """)

    @Option(
        help: ArgumentHelp(
            "Configuration file to check. Default: the one relayd runs with, or would start with.",
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Address to check while relayd does not run. Default: the one in the configuration file.",
            valueName: "address"))
    var accessory: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try Names.check([config].compactMap(\.self), "--config", example: "the path of a file")
        guard let accessory else { return }
        do throws(AddressError) {
            _ = try TransportCatalog.transport(for: AccessoryAddress(accessory))
        } catch {
            throw ValidationError(SafeText.clean(error.message))
        }
    }

    func run() async throws {
        let (diagnosis, exit) = await Self.examine(
            try socket.client(), config: config, accessory: accessory)
        try output.show(String(decoding: APICoding.encode(diagnosis), as: UTF8.self)) {
            let screen = Output.current
            return diagnosis.text(
                width: screen.size().columns, style: screen.style(output.color))
        }
        if exit != .ok { throw ExitCode(exit.rawValue) }
    }

    /// Checks the whole chain; also used by `relayctl bugreport`.
    ///
    /// - Parameters:
    ///   - config: The file to check instead of relayd's own.
    ///   - accessory: The address to check where no relayd runs, instead of the file's.
    static func examine(
        _ client: ControlClient, config: String?, accessory: String? = nil
    ) async -> (diagnosis: Diagnosis, exit: ExitStatus) {
        do throws(ControlClientError) {
            let (found, _) = try await client.get(Routes.index)
            let status = try await client.status().value
            let advice = try await client.ask(AdviceList.self, Routes.advice).value
            let running = try await client.ask(ConfigReport.self, Routes.config).value
            let diagnosis = Diagnosis(
                status, advice: advice.advice, socket: found.path,
                configuration: (config ?? running.file).flatMap(ConfigurationCheck.run),
                specification: running.specification,
                firewall: Firewall.active(), unit: UnitReport.running(status),
                bluetooth: bluetooth(of: status.accessory))
            return (diagnosis, diagnosis.broken == nil ? .ok : .notConnected)
        } catch {
            let configuration = ConfigurationCheck.run(file: config)
            let diagnosis = Diagnosis(
                unreachable: error, configuration: configuration,
                unit: UnitReport.ask(UnitReport.name(ofSocket: client.sockets.first?.path)),
                bluetooth: (accessory ?? configuration?.accessory).flatMap {
                    BluetoothSurvey.look(at: $0, registrar: .others)
                })
            return (diagnosis, error.exitStatus)
        }
    }

    /// The Bluetooth checklist; nil for an open link, which lacks nothing.
    private static func bluetooth(of accessory: AccessoryStatus) -> BluetoothChecklist? {
        guard accessory.state != .open else { return nil }
        return BluetoothSurvey.look(
            at: accessory.address,
            registrar: accessory.state == .listening ? .relayd : .unknown)
    }
}
