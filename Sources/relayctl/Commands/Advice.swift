package import ArgumentParser
import ControlAPI

/// `relayctl advice`: what is probably wrong, with apps that left and with the head unit as well.
package struct AdviceCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "advice",
        abstract: "Show what relayd thinks is wrong, newest last.",
        discussion: """
            relayd watches the traffic for known mistakes of apps and head units. Each is listed \
            once, with the time it was seen last; (5×) counts how often. What says "info" breaks \
            nothing. relayctl explain CODE says more.

            EXIT CODES
              0   shown, or there is none
              2   relayd is not running, or cannot be asked
              3   relayd refused
              64  the command line was not understood
            """)

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func run() async throws {
        let answer = try await socket.client().ask(AdviceList.self, Routes.advice)
        guard !output.json else {
            Output.current.write(JSONText.safe(answer.json))
            return
        }
        let text = AdviceText(
            width: Output.current.size().columns, style: Output.current.style(output.color))
        Output.current.write(text.advice(answer.value.advice.reversed()))
    }
}
