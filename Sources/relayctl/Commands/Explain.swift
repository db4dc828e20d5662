package import ArgumentParser
import DidYouMean
import SDLProtocol

/// `relayctl explain`: the pages behind the codes of relayd's advice.
package struct ExplainCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain a code of relayd's advice, or list all codes.",
        discussion: """
            relayd does not have to run for this.

            EXAMPLES
              relayctl explain
              relayctl explain request-in-none
            """)

    @Argument(help: "The code, as it stands behind relayd's advice.")
    package var code: String?

    package init() {}

    package func validate() throws {
        guard let code, AdviceCode(rawValue: code.lowercased()) == nil else { return }
        let hint =
            Spelling.nearest(code.lowercased(), in: AdviceCode.allCases.map(\.rawValue))
            .map { "; did you mean '\($0)'?" } ?? "; 'relayctl explain' lists all codes"
        throw ValidationError("there is no code '\(SafeText.clean(code))'\(hint)")
    }

    package func run() throws {
        let output = Output.current
        let text = AdviceText(width: output.size().columns, style: output.style(.auto))
        output.write(
            code.flatMap { AdviceCode(rawValue: $0.lowercased()) }.map(text.page) ?? text.list())
    }
}
