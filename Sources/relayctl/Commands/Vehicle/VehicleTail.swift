import ArgumentParser
import ControlAPI

/// `relayctl vi tail`: show everything that passes between vehicle interface, relayd and clients.
struct VehicleTailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Show what passes between the vehicle interface and its clients.",
        discussion: """
            A line for each message, with the time at which relayd got it: the latest ones, then what comes, \
            until ^C, also across a restart of relayd. Commands of clients and refused writes are among them, \
            with who said them to whom: "#2" is a client as relayctl vi clients numbers them. \
            --raw adds what the vehicle interface said as it came, and the time by its own clock where it \
            says one: JSON is text; protobuf, with its length, and what is no UTF-8 are in hex. Of messages \
            longer than 512 bytes it is left out.

            EXAMPLES
              relayctl vi tail
              relayctl vi tail vehicle_speed engine_speed
              relayctl vi tail --kind command --kind response
              relayctl vi tail -n 100 --once --raw
              relayctl vi tail --json | jq -r .text

            \(VehicleCommand.exitCodes)
            """)

    @Argument(help: "Only these signals.")
    var names: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Only this kind; may be repeated: "
                + VehicleMessageKind.all.map(\.rawValue).joined(separator: ", ") + ".",
            valueName: "kind"),
        completion: .list(VehicleMessageKind.all.map(\.rawValue)))
    var kind: [String] = []

    @OptionGroup var place: VehiclePlaceOptions

    @Option(
        name: [.customShort("n"), .customLong("last")],
        help: ArgumentHelp("Begin with this many past messages, 0 to 4096.", valueName: "number"))
    var last = 10

    @Flag(help: "End with the newest message.")
    var once = false

    @Flag(help: "Show what the vehicle interface said as it came, too.")
    var raw = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        for word in kind where !VehicleMessageKind.all.contains(.init(rawValue: word)) {
            throw ValidationError(
                "--kind is \(SafeText.clean(word)); expected one of "
                    + VehicleMessageKind.all.map(\.rawValue).joined(separator: ", "))
        }
        try VehicleArguments.check(last, "-n", 0...VehicleLimits.pastMessages, example: "-n 100")
    }

    func run() async throws {
        var query = ["last=\(last)"]
        if raw { query.append("raw=1") }
        query += names.map { "name=\($0.percentEncoded())" } + kind.map { "kind=\($0)" }
        query += place.query
        try await VehicleLines.show(
            try socket.client(), query, isFollowing: !once, output)
    }
}
