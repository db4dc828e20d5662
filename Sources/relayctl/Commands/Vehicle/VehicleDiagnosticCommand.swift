import ArgumentParser
import ControlAPI

/// `relayctl vi diag`: ask modules of the vehicle, once or repeatedly.
struct VehicleDiagnosticCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diag",
        abstract: "Ask modules of the vehicle (diagnostic requests), once or repeatedly.",
        discussion: """
            Without arguments, it shows the latest answer to each request, and what is repeated for whom. \
            Numbers are written as 0x7e0 or 2016. 0x7df asks all modules; the answers are collected for \
            --wait. Answers to parameters of OBD-II mode 1 are decoded.

            With --frequency, the vehicle interface repeats the request, and answers are shown until ^C. \
            Clients that want the same share one request; it ends with the last of them. Programs \
            that own a request show what they own under relayctl vi clients.

            EXAMPLES
              relayctl vi diag
              relayctl vi diag 0x7e0 1 0x0c
              relayctl vi diag 0x7df 1 0x0d --bus 1
              relayctl vi diag 0x7e0 0x22 0xde00 --payload 0102
              relayctl vi diag 0x7e0 1 0x0c --frequency 2

            A request that nobody answers, or that is refused, ends with 1.

            \(VehicleCommand.exitCodes)
            """)

    @Argument(help: "Identifier of the module, such as 0x7e0; 0x7df for all.")
    var id: WrittenNumber?

    @Argument(help: "Mode (service), 1 to 255.")
    var mode: WrittenNumber?

    @Argument(help: "PID, if the mode has any.")
    var pid: WrittenNumber?

    @Option(help: "The bus. Default: the vehicle interface's first.")
    var bus: Int?

    @Option(help: ArgumentHelp("Up to 8 bytes after the PID, such as 0102.", valueName: "hex"))
    var payload: String?

    @Option(help: ArgumentHelp("Repeat it this often per second, up to 10.", valueName: "hertz"))
    var frequency: Double?

    @Option(
        help: ArgumentHelp("How long to wait for answers, 0.01 to 10 (1).", valueName: "seconds"))
    var wait: Double?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        if id != nil, mode == nil {
            throw ValidationError(
                "a request needs a mode; expected 'relayctl vi diag ID MODE [PID]', e.g. 0x7e0 1 0x0c"
            )
        }
        if id == nil, bus != nil || payload != nil || frequency != nil || wait != nil {
            throw ValidationError("expected what to ask as well: ID MODE [PID], e.g. 0x7e0 1 0x0c")
        }
        if let id {
            try VehicleArguments.check(
                id.value, "<id>", VehicleLimits.identifiers, example: "0x7e0")
        }
        if let mode {
            try VehicleArguments.check(mode.value, "<mode>", VehicleLimits.modes, example: "1")
        }
        if let pid {
            try VehicleArguments.check(pid.value, "<pid>", VehicleLimits.pids, example: "0x0c")
        }
        try VehicleArguments.checkBus(bus)
        try VehicleArguments.checkBytes(payload, "--payload")
        if let frequency, !(frequency > 0 && frequency <= VehicleRepeatedRequest.maximumFrequency) {
            throw ValidationError(
                "--frequency is \(frequency); expected more than 0 and at most 10, e.g. --frequency 2"
            )
        }
        if frequency != nil, wait != nil {
            throw ValidationError(
                "--wait is for a request that is made once; leave --frequency out")
        }
        if let wait, !(0.01...10).contains(wait) {
            throw ValidationError("--wait is \(wait); expected seconds from 0.01 to 10")
        }
    }

    func run() async throws {
        let client = try socket.client()
        guard let id, let mode else {
            let answer = try await client.ask(VehicleReport.self, Routes.vehicle)
            output.show(answer.json) { VehicleTables(output).diagnostics(answer.value) }
            return
        }
        if let frequency {
            let wanted = VehicleStreamBody(diagnostics: [
                VehicleRepeatedRequest(
                    bus: bus, id: id.value, mode: mode.value, pid: pid?.value, payload: payload,
                    frequency: frequency)
            ])
            return try await VehicleLines.show(
                client, ["kind=diagnostic", "kind=link", "kind=missed"], wanted, output)
        }
        let answer = try await client.change(
            VehicleDiagnosticReport.self, "POST", Routes.vehicleDiagnostic,
            VehicleDiagnosticRequest(
                bus: bus, id: id.value, mode: mode.value, pid: pid?.value, payload: payload,
                waitMilliseconds: wait.map { Int($0 * 1000) }))
        let report = answer.value
        output.show(answer.json) { VehicleTables(output).answers(report) }
        if !report.answers.contains(where: \.success) {
            throw VehicleCommand.failed
        }
    }
}
