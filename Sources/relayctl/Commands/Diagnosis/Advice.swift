import ArgumentParser
import ControlAPI

/// `relayctl advice`: what is probably wrong, including apps that left and the head unit.
struct AdviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advice",
        abstract: "Show what relayd thinks is wrong, newest last.",
        discussion: """
            relayd watches the traffic for known mistakes of apps and head units. Each mistake is \
            listed once, with the time it was last seen; (5×) means five times. Advice marked "info" \
            is about something that breaks nothing. relayctl explain CODE says more.

            \(ExitStatus.codes(ok: "shown, or there is none"))
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        let answer = try await socket.client().ask(AdviceList.self, Routes.advice)
        output.show(answer.json) { AdviceText(output).advice(answer.value.advice.reversed()) }
    }
}
