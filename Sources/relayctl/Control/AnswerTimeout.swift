import Glibc
import NIOCore
import SDLProtocol

/// How long relayctl waits for relayd. relayd answers within milliseconds; who has waited for seconds
/// wants to know that it does not. What may wait for a name server has more (`AnswerTime`). A machine that has much else to do is given more by the
/// environment.
struct AnswerTimeout: Sendable, Equatable {
    static let environmentVariable = "RELAYD_TIMEOUT"
    private static let usual = 5
    private static let longest = 3600

    let time: TimeAmount
    /// What is wrong with the value, which is then the usual one.
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
