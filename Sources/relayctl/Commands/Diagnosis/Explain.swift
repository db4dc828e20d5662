import ArgumentParser
import ControlAPI
import DidYouMean
import SDLAdvice

/// `relayctl explain`: the pages behind the codes of relayd's advice.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain a code of relayd's advice, or list all codes.",
        discussion: """
            This works without a running relayd.

            EXAMPLES
              relayctl explain
              relayctl explain request_in_none

            EXIT CODES
              0   shown
              64  there is no such code, or the command line was not understood
            """)

    @Argument(help: "The code at the end of relayd's advice.", completion: Completions.codes)
    var code: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard let code, AdviceCode(typed: code) == nil else { return }
        let hint =
            Spelling.nearest(
                AdviceCode.normalised(code), in: AdviceCode.allCases.map(\.rawValue)
            )
            .map { "; did you mean '\($0)'?" } ?? "; 'relayctl explain' lists all codes"
        throw ValidationError("there is no code '\(SafeText.clean(code))'\(hint)")
    }

    func run() throws {
        let code = code.flatMap { AdviceCode(typed: $0) }
        let output = Output.current
        guard !self.output.json else {
            let pages = Pages(codes: (code.map { [$0] } ?? AdviceCode.allCases).map(Page.init))
            output.write(String(decoding: try APICoding.encode(pages), as: UTF8.self))
            return
        }
        let text = AdviceText(self.output)
        output.write(code.map(text.page) ?? text.list())
    }

    /// What --json prints.
    private struct Pages: Encodable {
        /// Version of the JSON layout: 1.
        let schema = 1
        let codes: [Page]
    }

    private struct Page: Encodable {
        let code, title, cause, remedy, details: String

        init(_ code: AdviceCode) {
            self.code = code.rawValue
            (title, cause) = (code.page.title, code.page.cause)
            (remedy, details) = (code.page.remedy, code.page.details)
        }
    }
}
