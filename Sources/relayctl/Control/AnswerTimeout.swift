import Glibc
import NIOCore
import SDLProtocol

/// How long relayctl waits for relayd. relayd answers within milliseconds; a user who has waited for
/// seconds wants to know that it does not. Requests that may wait for a name server get more time
/// (`AnswerTime`). The environment can allow more time on a busy machine.
struct AnswerTimeout: Sendable, Equatable {
    static let environmentVariable = "RELAYD_TIMEOUT"
    private static let usual = 5
    private static let longest = 3600

    let time: TimeAmount
    /// What is wrong with the environment's value; the usual time applies then.
    let problem: String?

    static let ofEnvironment = AnswerTimeout(
        getenv(environmentVariable).map { String(cString: $0) })

    /// - Parameter text: Whole seconds, 1 to 3600; nil or empty for the usual 5.
    init(_ text: String?) {
        guard let text, !text.isEmpty else {
            (time, problem) = (.seconds(Int64(Self.usual)), nil)
            return
        }
        guard let seconds = Int(text), (1...Self.longest).contains(seconds) else {
            time = .seconds(Int64(Self.usual))
            problem = """
                \(Self.environmentVariable) is "\(PrintableText.string(text, limit: 40))"; expected \
                whole seconds from 1 to \(Self.longest)
                """
            return
        }
        (time, problem) = (.seconds(Int64(seconds)), nil)
    }
}
