import ArgumentParser
import ControlAPI
import Glibc

/// `relayctl vi can`: show CAN frames.
struct VehicleCANCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "can",
        abstract: "Show CAN frames: the latest of each identifier, or all as they come.",
        discussion: """
            A vehicle interface passes CAN frames on only if it is built or told to. --passthrough tells it \
            to, for the bus of --bus and for as long as this command runs. --unfiltered also lifts \
            its acceptance filters.

            EXAMPLES
              relayctl vi can
              relayctl vi can --bus 1 --id 0x7e8
              relayctl vi can --follow --id 0x700-0x7ff
              relayctl vi can --bus 1 --passthrough

            \(VehicleCommand.exitCodes)
            """)

    @OptionGroup var place: VehiclePlaceOptions

    @Flag(help: "Show frames as they come, until ^C.")
    var follow = false

    @Flag(help: "Have all frames of --bus passed on meanwhile; shows them as they come.")
    var passthrough = false

    @Flag(help: "With --passthrough: lift the acceptance filters of the bus as well.")
    var unfiltered = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        if passthrough, place.bus.isEmpty {
            throw ValidationError("--passthrough needs a bus, e.g. --bus 1")
        }
        if unfiltered, !passthrough {
            throw ValidationError("--unfiltered needs --passthrough")
        }
    }

    func run() async throws {
        let (bus, id) = (place.bus, place.id)
        let client = try socket.client()
        guard follow || passthrough else {
            let answer = try await client.ask(VehicleReport.self, Routes.vehicle)
            let ids = id.compactMap(VehicleIdentifiers.init)
            let frames = answer.value.can.filter { frame in
                (bus.isEmpty || frame.bus.map(bus.contains) == true)
                    && (ids.isEmpty || ids.contains { $0.contains(frame.id) })
            }
            try output.show(String(decoding: APICoding.encode(Frames(can: frames)), as: UTF8.self))
            {
                VehicleTables(output).can(frames)
            }
            return
        }
        var query = ["kind=can", "kind=link", "kind=missed"]
        if !bus.isEmpty || !id.isEmpty { query = ["kind=can", "kind=missed"] }
        query += place.query
        let wanted = VehicleStreamBody(
            passthrough: bus, acceptanceFilterBypass: unfiltered ? bus : nil)
        try await VehicleLines.show(client, query, passthrough ? wanted : nil, output)
    }

    /// The part of the report that is printed with --json.
    private struct Frames: Encodable {
        var schema = 1
        let can: [VehicleCANMessage]
    }
}

/// An identifier or a range of them: `0x7e8`, `2024`, `0x700-0x7ff`. relayd accepts identifiers of 32
/// bits.
struct VehicleIdentifiers {
    private let range: ClosedRange<Int>

    init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
            .map { WrittenNumber(argument: String($0))?.value }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
            first <= last, last <= Int(UInt32.max)
        else { return nil }
        range = first...last
    }

    /// The form that relayd reads, however it was typed.
    var canonical: String { "\(range.lowerBound)-\(range.upperBound)" }

    func contains(_ id: Int) -> Bool { range.contains(id) }
}

/// `relayctl vi write`: write to the vehicle.
struct VehicleWriteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Write a signal or a CAN frame to the vehicle, if openxc.writes allows it.",
        discussion: """
            This may move a car. relayd refuses it unless openxc.writes allows it to 127.0.0.1, and logs \
            each write. A vehicle interface never says what became of one. On a terminal, relayctl asks \
            first; elsewhere it wants --yes.

            EXAMPLES
              relayctl vi write horn=true --yes
              relayctl vi write door_status=driver --event true
              relayctl vi write --bus 1 --id 0x7e0 --data 02010d

            \(ExitStatus.codes(
                ok: "sent to the vehicle interface", failed: "you said no",
                refused: "not allowed, no vehicle interface, or you may not"))
            """)

    @Argument(
        help: "A signal and its value: NAME=VALUE. true, false and numbers are read as such.")
    var signal: String?

    @Option(help: ArgumentHelp("What happened to the value of an event.", valueName: "value"))
    var event: String?

    @Option(help: "The bus of a CAN frame. Default: the vehicle interface's first.")
    var bus: Int?

    @Option(help: "The identifier of a CAN frame, such as 0x7e0.")
    var id: WrittenNumber?

    @Option(help: ArgumentHelp("Its bytes, up to 8, such as 02010d.", valueName: "hex"))
    var data: String?

    @Option(
        help: ArgumentHelp("standard or extended. Default: by the identifier.", valueName: "format")
    )
    var frameFormat: String?

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        // Without any argument the error is reported when the command runs.
        guard signal != nil || id != nil || data != nil else { return }
        _ = try wanted()
    }

    private func wanted() throws -> VehicleWriteRequest {
        switch (signal, id, data) {
        case (let signal?, nil, nil) where bus == nil && frameFormat == nil:
            guard let sign = signal.firstIndex(of: "="), sign > signal.startIndex,
                // Empty, for example, when a script has not set a variable.
                signal.index(after: sign) < signal.endIndex
            else {
                throw ValidationError(
                    "\"\(SafeText.clean(signal))\" has no value; expected NAME=VALUE, e.g. horn=true"
                )
            }
            return VehicleWriteRequest(
                name: String(signal[..<sign]),
                value: Self.scalar(String(signal[signal.index(after: sign)...])),
                event: event.map(Self.scalar))
        case (nil, let id?, let data?) where event == nil:
            try VehicleArguments.check(
                id.value, "--id", VehicleLimits.identifiers, example: "--id 0x7e0")
            try VehicleArguments.checkBus(bus)
            try VehicleArguments.checkBytes(data, "--data")
            try VehicleArguments.checkFormat(frameFormat)
            return VehicleWriteRequest(
                bus: bus, id: id.value, data: data, frameFormat: frameFormat)
        default:
            throw ValidationError(
                "expected a signal, e.g. horn=true, or a CAN frame, e.g. --id 0x7e0 --data 02010d")
        }
    }

    static func scalar(_ text: String) -> VehicleScalar {
        switch text {
        case "true": return .flag(true)
        case "false": return .flag(false)
        default:
            guard let number = Double(text), number.isFinite else { return .text(text) }
            return .number(number)
        }
    }

    func run() async throws {
        let wanted = try wanted()
        if !yes {
            guard isatty(STDIN_FILENO) == 1, isatty(Output.Stream.error.rawValue) == 1 else {
                throw ValidationError(
                    "a write may move a car, and there is no terminal to ask at; give --yes to write anyway"
                )
            }
            Output.current.write(
                "This will be written to the vehicle. Continue? [y/N] ", to: .error)
            let answer = readLine()
            guard let answer, ["y", "yes"].contains(answer.lowercased()) else {
                // If the input ended without an answer, the line of the question is still open.
                let end = answer == nil ? "\n" : ""
                Output.current.write("\(end)nothing was written\n", to: .error)
                throw VehicleCommand.failed
            }
        }
        try await socket.client().changeAndTell(output, "POST", Routes.vehicleWrite, wanted)
    }
}
