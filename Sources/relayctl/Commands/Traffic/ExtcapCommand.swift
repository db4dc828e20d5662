import ArgumentParser
import ControlAPI

/// `relayctl extcap`: answers Wireshark.
struct ExtcapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extcap",
        abstract:
            "Answer Wireshark, which lists running relayds as interfaces and captures from them.",
        discussion: """
            Wireshark calls it through the script that 'relayctl wireshark --install' writes.

            EXIT CODES
              0  answered
              1  there is no such relayd, or the trace cannot be written
              2  relayd is not running, or cannot be asked
              3  relayd refused
            """,
        shouldDisplay: false)

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("As Wireshark gives them.", valueName: "options"))
    var options: [String] = []

    func run() async throws {
        if options.contains("--help") || options.contains("-h") {
            throw CleanExit.helpRequest(self)
        }
        switch Extcap.Question(options) {
        case .interfaces: Output.current.write(await Extcap().interfaces())
        case .linkTypes: Output.current.write(Extcap.linkTypes)
        case .options, .unknown: break
        case .filter(let filter):
            // Wireshark takes any output as the error in the filter.
            if !filter.isEmpty { Output.current.write(Extcap.filterAnswer) }
        case .capture(let interface, let pipe):
            do {
                try await Extcap().capture(from: interface, into: pipe)
            } catch let problem as Extcap.Problem {
                Output.current.write("relayctl: \(problem)\n", to: .error)
                throw ExitCode.failure
            }
        }
    }
}
