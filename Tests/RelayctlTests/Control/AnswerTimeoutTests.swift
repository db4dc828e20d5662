import ControlAPI
import NIOCore
import RelayCore
import Testing

@testable import relayctl

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

    @Test("relayd answers within the time that it may take, whatever a name server does")
    func nameServers() {
        for path in [Routes.reload, Routes.server] {
            #expect(AnswerTime.extra(for: path) >= AnswerTime.hostLookup)
        }
        let slow = Routes.all.filter { AnswerTime.extra(for: $0.path) != .zero }.map(\.path)
        let vehicle = [Routes.vehicleCommand, Routes.vehicleDiagnostic, Routes.vehicleStream]
        for path in vehicle {
            #expect(AnswerTime.extra(for: path + "?bus=1") == AnswerTime.vehicle)
        }
        #expect(Set(slow) == Set([Routes.reload, Routes.server] + vehicle))
        #expect(HostLookup.patience <= TimeAmount(AnswerTime.hostLookup))
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
