import NIOCore
import Testing
import relayctl

@Suite("How long relayctl waits for relayd")
struct AnswerTimeoutTests {
    @Test(
        "whole seconds, an hour at most; five when nothing is said",
        arguments: [(nil, 5), ("", 5), ("1", 1), ("120", 120), ("3600", 3600)] as [(String?, Int64)]
    )
    func seconds(text: String?, expected: Int64) {
        let timeout = AnswerTimeout(text)
        #expect(timeout.time == .seconds(expected) && timeout.problem == nil)
    }

    @Test(
        "anything else is told with what is expected",
        arguments: ["0", "-1", "3601", "1.5", "5s", "99999999999999999999", "\u{1B}[31m"])
    func problems(text: String) throws {
        let problem = try #require(AnswerTimeout(text).problem)
        #expect(problem.hasPrefix("RELAYD_TIMEOUT is \""))
        #expect(problem.hasSuffix("expected whole seconds from 1 to 3600"))
        #expect(!problem.contains("\u{1B}"))
    }
}
